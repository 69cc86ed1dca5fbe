// The kernel's side of links that can fail: what arrives on them, and what they send.
#pragma once

#include "network/flit/kernel.hpp"

namespace weft::network::flit {

/// Puts what arrives on guarded cables into the inboxes of this cycle, beside what comes straight.
template <class Route, bool CutThrough, bool Voq>
[[gnu::noinline]] void Kernel<Route, CutThrough, Voq>::take_from_links(Cycle now) {
  Engine::Links& links = *w_.links;
  const std::size_t here = e_.inbox_index(now, links_tile());
  for (std::size_t i = here; i < here + s_.threads; ++i) {
    for (EndNumber end : b_.inboxes[i].ends) links.wake(end);
    b_.inboxes[i].ends.clear();
    b_.awake[i] = Mark::kNo;
  }
  links.timers.fire(now, [&](EndNumber end) { links.wake(end); });
  link::Arrival arrival;
  for (EndNumber end : links.awake) {
    const PortNumber p = b_.guard->ports()[end];
    b_.guard->receive(end, now, arrival);
    if (!arrival.has_flit && arrival.credits == 0) continue;
    std::size_t at = e_.inbox_index(now, e_.router_tile_[port_info_[p].router]) + w_.index;
    Inbox& inbox = b_.inboxes[at];
    b_.awake[at] = Mark::kYes;
    const ChannelNumber own = p << b_.channel_bits;
    for (unsigned i = 0; i < arrival.credits; ++i) inbox.credits.push(own + arrival.credit_channel);
    if (!arrival.has_flit) continue;
    ChannelNumber to = own + arrival.flit.channel;
    if (arrival.damaged) e_.packets_[b_.guard->arrived(end, arrival.flit.channel).id()].damaged = true;
    if (arrival.flit.head)
      inbox.heads.push({to, arrival.flit.entry});
    else
      inbox.bodies.push(to);
  }
}

/// Ends with a credit to return wake up like those with a flit to send; then all that are awake send what
/// they have and say when they want to be asked again.
template <class Route, bool CutThrough, bool Voq>
[[gnu::noinline]] void Kernel<Route, CutThrough, Voq>::give_to_links(Cycle now) {
  Engine::Links& links = *w_.links;
  const std::size_t own = e_.inbox_index(now, links_tile()) + w_.index;
  Inbox& inbox = b_.inboxes[own];
  for (ChannelNumber channel : inbox.credits) {
    EndNumber end = b_.guard->end_at(e_.graph_.peer(channel >> b_.channel_bits));
    b_.guard->credit(end, channel & b_.channel_mask);
    links.wake(end);
  }
  inbox.credits.clear();
  b_.awake[own] = Mark::kNo;
  const std::uint32_t slot_mask = e_.state_.slots - 1;
  for (EndNumber end : links.awake) {
    Cycle heard = b_.guard->transmit(end, now, e_.standing(b_.guard->ports()[end]));
    if (heard != kNever) {
      EndNumber other = Guard::other_end(end);
      std::size_t at = (heard & slot_mask) * e_.state_.slot_inboxes + e_.link_inbox_[other] + w_.index;
      b_.inboxes[at].ends.push(other);
      b_.awake[at] = Mark::kYes;
    }
    links.timers.set(end, b_.guard->wakes_at(end, now));
  }
  links.sleep_all();
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
