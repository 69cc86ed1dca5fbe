// Copies of packets for many: a packet stays in its input until it has gone on by every branch of its tree.
//
// Each branch requests a channel of its output, and room for the whole packet behind it, by itself; then it
// sends at its own pace what has arrived of the packet. No branch waits for another, and what a branch has
// been granted it can always use: so a packet waits only for what is behind its branches, as the proof has it
// (routing/multicast.hpp). A flit's place in the buffer is free when all branches have sent it.
//
// Where contributions of a reduction meet, a packet waits until the last flit of it is there. If others of
// its round are still to come it leaves for the memory that was reserved for it; the last one carries on,
// with what all of them make together, as any other packet by the branches of its hop.
//
// An output takes turns between copies and packets for one, where both want it. Copies come first in a cycle;
// the port is then busy for the switch, as one with a narrow cable is between two flits.
#pragma once

#include <algorithm>
#include <vector>

#include "network/flit/ejection.hpp"
#include "network/flit/link_layer.hpp"
#include "network/flit/records.hpp"

namespace weft::network::flit {

template <class V>
class Multicast {
 public:
  using At = Records<V::kVoq>;

  Multicast(Fabric& fabric, const Routes& routes, Sources& sources, Ejection<V>& ejection, LinkLayer* links,
            Worker& worker, const At& at)
      : fabric_(fabric),
        state_(fabric.multicast),
        routes_(routes),
        sources_(sources),
        ejection_(ejection),
        links_(links),
        worker_(worker),
        b_(at),
        class_(fabric.settings.message_classes),
        channels_of_copies_(((1u << state_.channels) - 1) << state_.first_channel),
        requests_(state_.there_is() ? fabric.state.ports.size() : 0) {}

  bool is_copied(Entry entry) const { return entry.message_class() == class_; }
  /// The first packet of a queue has come, or become it.
  void begin(std::uint32_t tile, QueueNumber q, Entry entry) {
    start(q, entry, b_.now + fabric_.settings.route_cycles);
    state_.active[tile].push_back(q);
  }
  /// One cycle of a tile.
  void serve(std::uint32_t tile);
  bool at_rest(std::uint32_t tile) const { return state_.active[tile].empty(); }

  /// Adds what was sent since the last call; `copied`: flits that are in the network more than were injected.
  void add_to(CycleCounters& counters, std::uint64_t& copied) {
    counters.flit_hops += std::exchange(flit_hops_, 0);
    counters.flits_delivered += std::exchange(flits_delivered_, 0);
    copied += std::exchange(copied_, 0);
  }

 private:
  /// The first in rank of the branches that want an output in this cycle.
  struct Request {
    QueueNumber queue = kEnd;
    std::uint32_t branch = 0;
    Rank rank = {};
  };

  void start(QueueNumber q, Entry entry, Cycle from);
  void meet(std::vector<QueueNumber>& active);
  Meeting& meeting_of(QueueNumber q) {
    const Entry entry(b_.queues[q].entry);
    return state_.meetings[hop_of(q).meetings + state_.rounds[sources_.packets[entry.id()].next_port].slot];
  }
  bool waits_to_meet(QueueNumber q) const {
    return state_.from[state_.index(q)] == kNever &&
           arrived(b_.queues[q]) == Entry(b_.queues[q].entry).flits();
  }
  void carry_on(QueueNumber q, Meeting& meeting);
  void grant_channels(const std::vector<QueueNumber>& active);
  void send_flits(const std::vector<QueueNumber>& active);
  void request(PortNumber out, QueueNumber q, std::uint32_t branch, QueueNumber last);
  void give_channel(PortNumber out, const Request& request);
  bool may_send(PortNumber out) const;
  void send(PortNumber out, const Request& request);
  void pass_on(PortNumber out, const BranchState& branch);
  bool free_sent(QueueNumber q);
  void give_back(QueueNumber q, unsigned sent);
  bool follow(QueueNumber q, bool ends_here);

  const Branch& branch_of(QueueNumber q, std::uint32_t branch) const {
    return routes_.trees->branch(hop_of(q).first + branch);
  }
  const TreeHop& hop_of(QueueNumber q) const {
    return routes_.trees->hop(Entry(b_.queues[q].entry).destination());
  }
  /// Flits of a queue's first packet that have come.
  static unsigned arrived(const Queue& queue) {
    return Entry(queue.entry).flits() - queue.left() + std::min<unsigned>(queue.left(), queue.flits);
  }

  Fabric& fabric_;
  MulticastState& state_;
  const Routes& routes_;
  Sources& sources_;
  Ejection<V>& ejection_;
  LinkLayer* const links_;
  Worker& worker_;
  const At& b_;
  const unsigned class_;
  const std::uint32_t channels_of_copies_;
  std::vector<Request> requests_;   // by port
  std::vector<PortNumber> wanted_;  // ports with a request
  std::uint64_t flit_hops_ = 0, flits_delivered_ = 0, copied_ = 0;
};

template <class V>
void Multicast<V>::start(QueueNumber q, Entry entry, Cycle from) {
  const TreeHop& hop = routes_.trees->hop(entry.destination());
  state_.from[state_.index(q)] = hop.inputs > 0 ? kNever : from;
  BranchState* branches = state_.branches_of(q);
  for (std::uint32_t i = 0; i < hop.count; ++i) branches[i] = {};
}

/// Contributions whose last flit has come. Of several in one cycle it does not matter which is looked at
/// first.
template <class V>
void Multicast<V>::meet(std::vector<QueueNumber>& active) {
  bool any = false;
  for (QueueNumber q : active) {
    if (!waits_to_meet(q)) continue;
    any = true;
    Meeting& meeting = meeting_of(q);
    const PacketRecord& record = sources_.packets[Entry(b_.queues[q].entry).id()];
    const std::int64_t here = static_cast<std::int64_t>(b_.now) * kCycleParts + record.remainder +
                              std::int64_t{record.hops} * fabric_.hop_remainder;
    meeting.latest = meeting.arrived == 0 ? here : std::max(meeting.latest, here);
    meeting.damaged |= record.damaged;
    if (++meeting.arrived == hop_of(q).inputs) meeting.last = kEnd - 1;
  }
  if (!any) return;
  for (QueueNumber q : active)
    if (waits_to_meet(q))
      if (Meeting& meeting = meeting_of(q); meeting.last != kEnd) meeting.last = std::min(meeting.last, q);
  for (std::size_t i = 0; i < active.size();) {
    const QueueNumber q = active[i];
    bool stays = true;
    if (waits_to_meet(q)) {
      Meeting& meeting = meeting_of(q);
      if (meeting.last == q) {
        carry_on(q, meeting);
      } else {
        give_back(q, Entry(b_.queues[q].entry).flits());
        stays = follow(q, true);
      }
    }
    if (stays) {
      ++i;
    } else {
      active[i] = active.back();
      active.pop_back();
    }
  }
}

/// The last contribution is there. It goes on with the value of all, and as late as the latest of them.
template <class V>
void Multicast<V>::carry_on(QueueNumber q, Meeting& meeting) {
  const Settings& settings = fabric_.settings;
  PacketRecord& record = sources_.packets[Entry(b_.queues[q].entry).id()];
  state_.from[state_.index(q)] = b_.now + settings.reduction_cycles + settings.route_cycles;
  record.remainder = static_cast<Remainder>(meeting.latest - static_cast<std::int64_t>(b_.now) * kCycleParts -
                                            std::int64_t{record.hops} * fabric_.hop_remainder +
                                            settings.reduction_remainder);
  record.damaged = meeting.damaged;
  if (hop_of(q).count > 1) record.tag = kResultTag | record.next_port;  // from here on it is for all
  meeting = {};
}

template <class V>
void Multicast<V>::serve(std::uint32_t tile) {
  auto& active = state_.active[tile];
  if (active.empty()) return;
  if (!state_.meetings.empty()) meet(active);
  grant_channels(active);
  send_flits(active);
  for (std::size_t i = 0; i < active.size();) {
    if (free_sent(active[i])) {
      ++i;
    } else {
      active[i] = active.back();
      active.pop_back();
    }
  }
}

/// Of those that want an output the first in rank has it, whatever the order they come in.
template <class V>
void Multicast<V>::request(PortNumber out, QueueNumber q, std::uint32_t branch, QueueNumber last) {
  Request& best = requests_[out];
  const Rank rank = b_.rank_of(q, q - last - 1);
  if (best.queue == kEnd)
    wanted_.push_back(out);
  else if (!(rank < best.rank))
    return;
  best = {q, branch, rank};
}

template <class V>
void Multicast<V>::grant_channels(const std::vector<QueueNumber>& active) {
  for (QueueNumber q : active) {
    if (b_.now < state_.from[state_.index(q)]) continue;
    const BranchState* branches = state_.branches_of(q);
    const unsigned flits = Entry(b_.queues[q].entry).flits();
    for (std::uint32_t i = 0; i < hop_of(q).count; ++i) {
      if (branches[i].has_channel()) continue;
      const PortNumber out = branch_of(q, i).out;
      if (open_channels<V>(b_, out, channels_of_copies_, flits))
        request(out, q, i, state_.turns[out].granted);
    }
  }
  for (PortNumber out : wanted_) give_channel(out, std::exchange(requests_[out], {}));
  wanted_.clear();
}

/// The copy is a packet of its own from here on, unless it is the only one.
template <class V>
void Multicast<V>::give_channel(PortNumber out, const Request& request) {
  const Entry entry(b_.queues[request.queue].entry);
  const Branch& way = branch_of(request.queue, request.branch);
  PacketId id = entry.id();
  if (hop_of(request.queue).count > 1) {
    id = worker_.take_packet(sources_.packets);
    sources_.packets[id] = sources_.packets[entry.id()];
    sources_.packets[id].departed = true;
  }
  PacketRecord& record = sources_.packets[id];
  const bool last = way.next == kNoHop;
  record.destination = last ? fabric_.graph.port_endpoint(out) : way.next;
  record.turned_at = last ? out : topology::kNone;
  BranchState& branch = state_.branches_of(request.queue)[request.branch];
  Port& port = b_.ports[out];
  const std::uint32_t open = open_channels<V>(b_, out, channels_of_copies_, entry.flits());
  branch.channel = static_cast<std::uint8_t>(std::countr_zero(open));
  branch.entry = Entry(id, last ? 0 : way.next, entry.flits(), class_).bits();
  branch.from = b_.now + fabric_.settings.allocate_cycles;
  port.free_channels ^= 1u << branch.channel;
  if (!(port.flags & Port::kEndpoint)) take_room(b_.out_channel(out, branch.channel), port, entry.flits());
  state_.turns[out].granted = request.queue;
}

template <class V>
bool Multicast<V>::may_send(PortNumber out) const {
  if (b_.ports[out].flags & Port::kLinkLayer) return links_->ready(out, b_.now);
  return b_.rests[out].next_send <= b_.now << 8;
}

template <class V>
void Multicast<V>::send_flits(const std::vector<QueueNumber>& active) {
  for (QueueNumber q : active) {
    const BranchState* branches = state_.branches_of(q);
    const unsigned here = arrived(b_.queues[q]);
    for (std::uint32_t i = 0; i < hop_of(q).count; ++i) {
      const BranchState& branch = branches[i];
      if (!branch.has_channel() || branch.sent >= here || b_.now < branch.from) continue;
      const PortNumber out = branch_of(q, i).out;
      if (may_send(out)) request(out, q, i, state_.turns[out].sent);
    }
  }
  const std::uint32_t others = fabric_.every_channel() & ~channels_of_copies_;
  for (PortNumber out : wanted_) {
    const Request request = std::exchange(requests_[out], {});
    MulticastState::Turns& turns = state_.turns[out];
    const bool others_wait = (b_.ports[out].free_channels & others) != others;
    if (turns.had_last && others_wait)
      turns.had_last = false;  // a packet for one may have this turn
    else
      send(out, request);
  }
  wanted_.clear();
}

template <class V>
void Multicast<V>::send(PortNumber out, const Request& request) {
  BranchState& branch = state_.branches_of(request.queue)[request.branch];
  const Entry entry(branch.entry);
  const Entry first(b_.queues[request.queue].entry);
  Port& port = b_.ports[out];
  state_.turns[out].sent = request.queue;
  state_.turns[out].had_last = true;
  const bool tail = branch.sent + 1u == entry.flits();
  if (tail && sources_.packets[first.id()].damaged) sources_.packets[entry.id()].damaged = true;
  if (!(port.flags & Port::kLinkLayer)) b_.rests[out].sent_at(b_.now);
  pass_on(out, branch);
  ++b_.sent[out];
  ++copied_;
  ++branch.sent;
  if (tail) port.free_channels ^= 1u << branch.channel;
}

/// One flit of a copy goes through the switch.
template <class V>
void Multicast<V>::pass_on(PortNumber out, const BranchState& branch) {
  const Entry entry(branch.entry);
  const Port& port = b_.ports[out];
  const bool head = branch.sent == 0, tail = branch.sent + 1u == entry.flits();
  if (port.flags & Port::kEndpoint) {
    ++flits_delivered_;
    if (tail) ejection_.deliver(entry);
    return;
  }
  ++flit_hops_;
  if (head) {
    PacketRecord& record = sources_.packets[entry.id()];
    ++record.hops;
    if (!fabric_.port_remainder.empty()) record.remainder += fabric_.port_remainder[out];
  }
  if (port.flags & Port::kLinkLayer) {
    const EndNumber end = links_->end_at(out);
    links_->offer(end, branch.channel, entry, branch.sent);
    worker_.ends->wake(end);
    return;
  }
  Inbox& inbox = b_.inbox_at(port.inbox, port.flight);
  const ChannelNumber to = port.peer + branch.channel;
  if (head)
    inbox.heads.push({to, entry.bits()});
  else
    inbox.bodies.push(to);
}

/// What all branches have sent leaves the buffer. Returns whether the queue has a packet still.
template <class V>
bool Multicast<V>::free_sent(QueueNumber q) {
  Queue& queue = b_.queues[q];
  const Entry entry(queue.entry);
  const TreeHop& hop = hop_of(q);
  const BranchState* branches = state_.branches_of(q);
  unsigned least = entry.flits();
  for (std::uint32_t i = 0; i < hop.count; ++i) least = std::min<unsigned>(least, branches[i].sent);
  give_back(q, least);
  return !queue.empty() || follow(q, hop.count > 1);
}

/// So many flits of the first packet are not needed here any more.
template <class V>
void Multicast<V>::give_back(QueueNumber q, unsigned sent) {
  Queue& queue = b_.queues[q];
  const Entry entry(queue.entry);
  const Port& from = b_.ports[b_.port_of(q)];
  for (; entry.flits() - queue.left() < sent; --copied_) {
    --queue.rest;  // of `left`, which is not 0
    --queue.flits;
    b_.inbox_at(from.inbox, from.flight).credits.push(from.peer + b_.channel_of(q));
  }
}

/// The first packet has left. Returns whether there is another behind it.
template <class V>
bool Multicast<V>::follow(QueueNumber q, bool ends_here) {
  Queue& queue = b_.queues[q];
  const Entry entry(queue.entry);
  const std::uint64_t behind = sources_.packets.behind(entry.id());
  if (ends_here) worker_.free.push_back(entry.id());
  if (queue.flits == 0) return false;
  queue.entry = behind;
  queue.set_left(Entry(behind).flits());
  start(q, Entry(behind), b_.now + fabric_.settings.route_cycles + 1);
  return true;
}

}  // namespace weft::network::flit
