#include "network/flit/link_traffic.hpp"

namespace weft::network::flit {

/// Beside what comes straight from other routers.
void LinkTraffic::take(Cycle now) {
  AwakeEnds& ends = *worker_.ends;
  for (unsigned t = 0; t < fabric_.own_threads(); ++t) {
    const std::size_t i =
        fabric_.inbox_index(now, fabric_.links_tile(worker_.index), fabric_.first_thread + t);
    for (EndNumber end : fabric_.state.inboxes[i].due) ends.wake(end);
    fabric_.state.inboxes[i].due.clear();
    fabric_.state.awake[i] = Mark::kNo;
  }
  ends.timers.fire(now, [&](EndNumber end) { ends.wake(end); });
  link::Arrival arrival;
  for (EndNumber end : ends.awake) {
    const PortNumber p = links_.ports()[end];
    links_.receive(end, now, arrival);
    if (!arrival.has_flit && arrival.credits == 0) continue;
    std::size_t at = fabric_.inbox_index(now, fabric_.tile_of(fabric_.graph.port_router(p)), worker_.index);
    Inbox& inbox = fabric_.state.inboxes[at];
    fabric_.state.awake[at] = Mark::kYes;
    const ChannelNumber own = p << fabric_.state.channel_bits;
    for (unsigned i = 0; i < arrival.credits; ++i) inbox.credits.push(own + arrival.credit_channel);
    if (!arrival.has_flit) continue;
    ChannelNumber to = own + arrival.flit.channel;
    std::uint64_t entry = arrival.flit.entry;
    const bool border = links_.is_border(end);
    if (border && arrival.flit.head) {  // the packet gets a number of this rank
      const PacketId id = worker_.take_packet(sources_.packets);
      const PacketRecord& record = sources_.packets[id] = links_.take_expected(end, arrival.flit.channel, id);
      entry = Entry(id, record.destination, record.flits, record.message_class).bits();
    }
    if (arrival.damaged)
      sources_
          .packets[border ? links_.number_here(end, arrival.flit.channel)
                          : links_.arrived(end, arrival.flit.channel).id()]
          .damaged = true;
    if (arrival.flit.head)
      inbox.heads.push({to, entry});
    else
      inbox.bodies.push(to);
  }
}

/// Ends with a credit to return wake up like those with a flit to send; then all that are awake send what
/// they have and say when they have something to do again.
void LinkTraffic::give(Cycle now) {
  AwakeEnds& ends = *worker_.ends;
  const std::size_t own = fabric_.inbox_index(now, fabric_.links_tile(worker_.index), worker_.index);
  Inbox& inbox = fabric_.state.inboxes[own];
  for (ChannelNumber channel : inbox.credits) {
    EndNumber end = links_.end_at(fabric_.graph.peer(channel >> fabric_.state.channel_bits));
    links_.credit(end, channel & ((1u << fabric_.state.channel_bits) - 1));
    ends.wake(end);
  }
  inbox.credits.clear();
  fabric_.state.awake[own] = Mark::kNo;
  for (EndNumber end : ends.awake) {
    Cycle arrives = links_.transmit(end, now, fabric_.occupancy(links_.ports()[end]));
    if (arrives != kNever) {
      EndNumber other = LinkLayer::other_end(end);
      const std::size_t at = fabric_.inbox_index(arrives, fabric_.link_inbox[other], worker_.index);
      fabric_.state.inboxes[at].due.push(other);
      fabric_.state.awake[at] = Mark::kYes;
    }
    ends.timers.set(end, links_.wakes_at(end, now));
  }
  ends.sleep_all();
}

}  // namespace weft::network::flit
