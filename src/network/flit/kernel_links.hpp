// The kernel's side of links that can fail: what arrives on them, and what they send.
#pragma once

#include "network/flit/kernel.hpp"

namespace weft::network::flit {

/// Puts what arrives on guarded cables into the inboxes of this cycle, beside what comes straight.
template <class Route, bool CutThrough>
[[gnu::noinline]] void Kernel<Route, CutThrough>::take_from_links() {
  const std::uint32_t slot = static_cast<std::uint32_t>(now_) & slot_mask_;
  link::Arrival arrival;
  for (PortNumber p : w_.guarded) {
    e_.guard_->receive(p, now_, arrival);
    if (!arrival.has_flit && arrival.credits == 0) continue;
    std::uint32_t tile = e_.router_tile_[port_info_[p].router];
    Inbox& inbox = inboxes_[(std::size_t{tile} * (slot_mask_ + 1) + slot) * threads_ + w_.index];
    const ChannelNumber own = p << channel_bits_;
    for (unsigned i = 0; i < arrival.credits; ++i) inbox.credits.push(own + arrival.credit_channel);
    if (!arrival.has_flit) continue;
    ChannelNumber to = own + arrival.flit.channel;
    if (arrival.damaged) e_.packets_[e_.guard_->arrived(p, arrival.flit.channel).id()].damaged = true;
    if (arrival.flit.head)
      inbox.heads.push({to, arrival.flit.entry});
    else
      inbox.bodies.push(to);
  }
}

template <class Route, bool CutThrough>
[[gnu::noinline]] void Kernel<Route, CutThrough>::give_to_links() {
  for (PortNumber p : w_.guarded) e_.guard_->transmit(p, now_);
}

/// No way is left to its destination, and that is known.
template <class Route, bool CutThrough>
[[gnu::noinline]] void Kernel<Route, CutThrough>::lose(PacketId id) {
  const PacketRecord& record = e_.packets_[id];
  ++w_.counters.packets_lost;
  observer_.lost({record.source, record.destination, record.flits, record.message_class, 0, record.created, 0,
                  now_, record.tag});
  w_.free.push_back(id);
}

}  // namespace weft::network::flit
