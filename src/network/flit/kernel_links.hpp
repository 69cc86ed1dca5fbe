// The kernel's side of links that can fail: what arrives on them, and what they send.
#pragma once

#include "network/flit/kernel.hpp"

namespace weft::network::flit {

/// Puts what arrives on guarded cables into the inboxes of this cycle, beside what comes straight.
template <class Route, bool CutThrough, bool Voq>
[[gnu::noinline]] void Kernel<Route, CutThrough, Voq>::take_from_links(Cycle now) {
  link::Arrival arrival;
  for (PortNumber p : w_.guarded) {
    b_.guard->receive(p, now, arrival);
    if (!arrival.has_flit && arrival.credits == 0) continue;
    std::size_t at = e_.inbox_index(now, e_.router_tile_[port_info_[p].router]) + w_.index;
    Inbox& inbox = b_.inboxes[at];
    b_.awake[at] = Mark::kYes;
    const ChannelNumber own = p << b_.channel_bits;
    for (unsigned i = 0; i < arrival.credits; ++i) inbox.credits.push(own + arrival.credit_channel);
    if (!arrival.has_flit) continue;
    ChannelNumber to = own + arrival.flit.channel;
    if (arrival.damaged) e_.packets_[b_.guard->arrived(p, arrival.flit.channel).id()].damaged = true;
    if (arrival.flit.head)
      inbox.heads.push({to, arrival.flit.entry});
    else
      inbox.bodies.push(to);
  }
}

/// Credits of guarded cables lie in an inbox of this thread's own; then every link sends what it has.
template <class Route, bool CutThrough, bool Voq>
[[gnu::noinline]] void Kernel<Route, CutThrough, Voq>::give_to_links(Cycle now) {
  const std::size_t own = e_.inbox_index(now, static_cast<std::uint32_t>(e_.state_.tiles.size())) + w_.index;
  Inbox& inbox = b_.inboxes[own];
  for (ChannelNumber channel : inbox.credits)
    b_.guard->credit(e_.graph_.peer(channel >> b_.channel_bits), channel & b_.channel_mask);
  inbox.credits.clear();
  b_.awake[own] = Mark::kNo;
  for (PortNumber p : w_.guarded) b_.guard->transmit(p, now, e_.standing(p));
}

/// No way is left to its destination, and that is known.
template <class Route, bool CutThrough, bool Voq>
[[gnu::noinline]] void Kernel<Route, CutThrough, Voq>::lose(PacketId id, Cycle now) {
  const PacketRecord& record = e_.packets_[id];
  ++w_.counters.packets_lost;
  observer_.lost({record.source, record.destination, record.flits, record.message_class, 0, record.created, 0,
                  now, record.tag});
  w_.free.push_back(id);
}

}  // namespace weft::network::flit
