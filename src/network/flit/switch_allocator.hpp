// Switch allocation and traversal: outputs grant one of those who request them, inputs accept one of their
// grants (iSLIP), and flits move. Who comes first in rank does not depend on the order in which they come.
#pragma once

#include <vector>

#include "network/flit/channel_allocator.hpp"
#include "network/flit/ejection.hpp"
#include "network/flit/link_layer.hpp"
#include "network/flit/route_computation.hpp"

namespace weft::network::flit {

template <class V>
class SwitchAllocator {
 public:
  using At = Records<V::kVoq>;

  SwitchAllocator(Fabric& fabric, Sources& sources, RouteComputation<V>& routes, Ejection<V>& ejection,
                  LinkLayer* links, Worker& worker, const At& at)
      : fabric_(fabric),
        classes_(fabric.classes),
        sources_(sources),
        routes_(routes),
        ejection_(ejection),
        links_(links),
        ends_(worker.ends ? &*worker.ends : nullptr),
        worker_(worker),
        b_(at),
        route_cycles_(fabric.settings.route_cycles),
        only_turns_(fabric.settings.allocator != Allocator::Age && fabric.settings.local_yield.empty()),
        moves_turns_(fabric.settings.allocator == Allocator::RoundRobin),
        matched_(fabric.settings.iterations > 1 ? fabric.state.ports.size() : 0, 0) {}

  /// Serves the requests of this cycle: who wins sends a flit, who loses requests the switch again.
  void allocate(Tile& tile);

  /// Adds what was sent since the last call.
  void add_to(CycleCounters& counters) {
    counters.flit_hops += std::exchange(flit_hops_, 0);
    counters.flits_delivered += std::exchange(flits_delivered_, 0);
  }

 private:
  static constexpr std::uint8_t kMatchedInput = 1, kMatchedOutput = 2;
  static constexpr std::uint32_t kFew = 4;

  bool send_unhindered(Tile& tile, Bag<QueueNumber>* ready, std::uint32_t count);
  bool may_send(const At& b, const Queue& queue, const Port& out);
  void request(const At& b, QueueNumber q, PortNumber*& outputs);
  bool request_without_partner(const std::uint32_t (&first_loser)[Tile::kBounds]);
  WEFT_HOT void set_last_input(PortNumber out, QueueNumber q) {
    const auto in = static_cast<std::uint16_t>(b_.port_of(q));
    if constexpr (V::kWeighted)
      classes_.turns(out, class_of(q)).last_input = in;
    else
      b_.ports[out].last_input = in;
  }
  unsigned class_of(QueueNumber q) const { return classes_.of_channel(b_.channel_of(q)); }
  WEFT_HOT static unsigned bound_of(const Port& out) { return out.flags & Port::kEndpoint; }
  WEFT_HOT void request_again(QueueNumber q, const Port& out) { again_[bound_of(out)].push(q); }
  void request_later(const At& b, QueueNumber q, const Port& out);
  template <bool OneRound>
  void match(Tile& tile, bool first_round);
  void contest_output(Port& out, QueueNumber q);
  void contest_input(Port& in, PortNumber out);
  bool is_first_for_output(QueueNumber q, QueueNumber other, PortNumber out) const;
  bool is_first_for_input(PortNumber in, PortNumber out, PortNumber other) const;
  void count_share(PortNumber in, PortNumber out, QueueNumber q, bool turns);
  bool send(const At& b, Tile& tile, const Port& from, Port& port, QueueNumber q);
  void send_specially(const At& b, Port& port, const Queue& queue, bool head, bool tail);
  void count_hop(Entry entry, PortNumber out);
  void next_packet(const At& b, Tile& tile, QueueNumber q, Queue& queue);

  const Fabric& fabric_;
  TrafficClasses& classes_;
  Sources& sources_;
  RouteComputation<V>& routes_;
  Ejection<V>& ejection_;
  LinkLayer* const links_;
  AwakeEnds* const ends_;
  const Worker& worker_;
  const At& b_;
  const unsigned route_cycles_;
  const bool only_turns_, moves_turns_;
  std::uint64_t flit_hops_ = 0, flits_delivered_ = 0;
  std::uint32_t tile_ = 0;
  Bag<QueueNumber>* again_ = nullptr;  // by bound: queues that request the switch in the next cycle
  Bag<PortNumber> outputs_, inputs_;   // with a request, with a grant
  std::vector<std::uint8_t> matched_;  // by port: sides that have a partner in this cycle,
  Bag<PortNumber> matched_ports_;      // and the ports that have one; only where a round follows
  bool refused_ = false;               // an input has refused an output in this round: it may take another
};

/// May the first flit of this queue be sent now?
template <class V>
WEFT_HOT bool SwitchAllocator<V>::may_send(const At& b, const Queue& queue, const Port& out) {
  if (V::kVoq && queue.offered) [[unlikely]]
    if (ChannelAllocator<V>::channels_with_room(b, queue) == 0) return false;
  if (out.flags & (Port::kNarrow | Port::kEndpoint)) [[unlikely]] {
    if (out.flags & Port::kLinkLayer) {
      if (!links_->ready(queue.out, b.now)) return false;
    } else if ((out.flags & Port::kNarrow) && b.rests[queue.out].next_send > b.now << 8) {
      return false;
    }
    if (out.flags & Port::kEndpoint) {
      if (queue.left() == 1)
        __builtin_prefetch(&sources_.packets[Entry(queue.entry).id()]);  // for the delivery
      return true;
    }
  }
  return V::kCutThrough || (V::kVoq && queue.offered) || has_room(b.outs[queue.channels], out, 1);
}

template <class V>
void SwitchAllocator<V>::allocate(Tile& tile) {
  Bag<QueueNumber>* ready = &tile.switch_requests_in(b_.now, 0);
  const std::uint32_t count = ready[Tile::kOnward].size() + ready[Tile::kOut].size();
  again_ = &tile.switch_requests_in(b_.now + 1, 0);
  tile_ = static_cast<std::uint32_t>(&tile - fabric_.state.tiles.data());
  if constexpr (!V::kWeighted && !V::kMulticast)
    if (count <= kFew && send_unhindered(tile, ready, count)) return;
  const At b = b_;
  std::uint32_t first_loser[Tile::kBounds];
  outputs_.clear();
  outputs_.reserve(count);
  PortNumber* outputs = outputs_.end();
  for (unsigned bound = 0; bound < Tile::kBounds; ++bound) {
    again_[bound].reserve(count);
    first_loser[bound] = again_[bound].size();
    const QueueNumber* const end = ready[bound].end();
    for (const QueueNumber* at = ready[bound].begin(); at != end; ++at) request(b, *at, outputs);
    ready[bound].clear();
  }
  outputs_.set_end(outputs);
  if (fabric_.settings.iterations == 1) {
    match<true>(tile, true);
  } else {
    match<false>(tile, true);
    // Outputs that were not refused are taken, and so are the inputs that requested them.
    for (unsigned round = 1; refused_ && round < fabric_.settings.iterations; ++round) {
      if (!request_without_partner(first_loser)) break;
      match<false>(tile, false);
    }
    for (PortNumber port : matched_ports_) matched_[port] = 0;
    matched_ports_.clear();
  }
}

/// Where little is under way: a few queues, no two of which request one output or are of one input, need no
/// matching. Returns false, with nothing done, where there are two.
template <class V>
bool SwitchAllocator<V>::send_unhindered(Tile& tile, Bag<QueueNumber>* ready, std::uint32_t count) {
  QueueNumber few[kFew];
  PortNumber inputs[kFew], outputs[kFew];
  std::uint32_t known = 0;
  for (unsigned bound = 0; bound < Tile::kBounds; ++bound)
    for (QueueNumber q : ready[bound]) {
      const PortNumber in = b_.port_of(q), out = b_.queues[q].out;
      for (std::uint32_t i = 0; i < known; ++i)
        if (inputs[i] == in || outputs[i] == out) return false;
      few[known] = q;
      inputs[known] = in;
      outputs[known++] = out;
    }
  for (unsigned bound = 0; bound < Tile::kBounds; ++bound) ready[bound].clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    Queue& queue = b_.queues[few[i]];
    Port &port = b_.ports[outputs[i]], &from = b_.ports[inputs[i]];
    if (!may_send(b_, queue, port)) {
      request_later(b_, few[i], port);
      continue;
    }
    port.last_input = static_cast<std::uint16_t>(inputs[i]);
    from.last_output = static_cast<std::uint16_t>(outputs[i]);
    from.last_channel = static_cast<std::uint8_t>(b_.channel_of(few[i]));
    if (send(b_, tile, from, port, few[i])) continue;
    if (queue.flits > 0)
      request_again(few[i], port);
    else
      queue.word &= ~Queue::kReady;
  }
  return true;
}

/// Of those who request an output the first in rank stands for it; the others request it again in the next
/// cycle.
template <class V>
WEFT_HOT void SwitchAllocator<V>::request(const At& b, QueueNumber q, PortNumber*& outputs) {
  const Queue& queue = b.queues[q];
  Port& out = b.ports[queue.out];
  if (!may_send(b, queue, out)) [[unlikely]] {
    request_later(b, q, out);
  } else if (out.requester == kEnd) [[likely]] {
    out.requester = q;
    *outputs++ = queue.out;
  } else {
    contest_output(out, q);
  }
}

/// A queue that may not send now requests the switch again in the next cycle, or, where it is known, when its
/// output has sent the flit before.
template <class V>
[[gnu::noinline]] void SwitchAllocator<V>::request_later(const At& b, QueueNumber q, const Port& out) {
  if ((out.flags & (Port::kNarrow | Port::kLinkLayer)) != Port::kNarrow) return request_again(q, out);
  const Cycle when = (b.rests[b.queues[q].out].next_send + 255) >> 8;
  if (when <= b.now + 1) return request_again(q, out);
  const Cycle last = b.now + fabric_.state.slots - 1;
  const std::size_t at = fabric_.inbox_index(std::min(when, last), tile_, worker_.index);
  b.awake[at] = Mark::kYes;
  b.inboxes[at].due.push(q);
}

/// The requests of those still without a partner, for another round. Returns whether there are any.
template <class V>
bool SwitchAllocator<V>::request_without_partner(const std::uint32_t (&first_loser)[Tile::kBounds]) {
  outputs_.clear();
  inputs_.clear();
  for (unsigned bound = 0; bound < Tile::kBounds; ++bound) {
    Bag<QueueNumber>& bag = again_[bound];
    for (std::uint32_t i = first_loser[bound]; i < bag.size(); ++i) inputs_.push(bag[i]);
    bag.set_end(bag.begin() + first_loser[bound]);
  }
  outputs_.reserve(inputs_.size());
  PortNumber* outputs = outputs_.end();
  for (QueueNumber q : inputs_) {
    const bool alone =
        !(matched_[b_.port_of(q)] & kMatchedInput) && !(matched_[b_.queues[q].out] & kMatchedOutput);
    if (alone)
      request(b_, q, outputs);
    else
      request_again(q, b_.ports[b_.queues[q].out]);
  }
  outputs_.set_end(outputs);
  return !outputs_.empty();
}

template <class V>
template <bool OneRound>
void SwitchAllocator<V>::match(Tile& tile, bool first_round) {
  const At b = b_;
  inputs_.clear();
  inputs_.reserve(outputs_.size());
  refused_ = false;
  PortNumber* const inputs = inputs_.end();
  PortNumber* touched = inputs;
  if (moves_turns_)  // iSLIP's turns move only when the input accepts
    for (PortNumber out : outputs_) set_last_input(out, b.ports[out].requester);
  for (const PortNumber *at = outputs_.begin(), *end = outputs_.end(); at != end; ++at) {
    Port& port = b.ports[*at];
    PortNumber in = b.port_of(port.requester);
    Port& from = b.ports[in];
    if (from.granted == kEnd) [[likely]] {
      from.granted = *at;
      *touched++ = in;
    } else {
      contest_input(from, *at);
    }
  }
  QueueNumber* again[] = {again_[Tile::kOnward].end(), again_[Tile::kOut].end()};
  for (const PortNumber* at = inputs; at != touched; ++at) {
    PortNumber in = *at;
    Port& from = b.ports[in];
    PortNumber out = from.granted;
    from.granted = kEnd;
    Port& port = b.ports[out];
    QueueNumber q = port.requester;
    port.requester = kEnd;
    if (OneRound || first_round) {
      port.last_input = static_cast<std::uint16_t>(in);
      from.last_output = static_cast<std::uint16_t>(out);
      from.last_channel = static_cast<std::uint8_t>(b.channel_of(q));
    }
    if constexpr (V::kWeighted) count_share(in, out, q, OneRound || first_round);
    if (!OneRound && refused_) {
      matched_[in] |= kMatchedInput;
      matched_[out] |= kMatchedOutput;
      matched_ports_.push(in);
      matched_ports_.push(out);
    }
    if (send(b, tile, from, port, q)) continue;
    // No branches: whether another flit is here already is a guess.
    Queue& queue = b.queues[q];
    const std::uint32_t more = queue.flits > 0;
    queue.word = (queue.word & ~Queue::kReady) | more << Queue::kReadyShift;
    QueueNumber*& end = again[bound_of(port)];
    *end = q;
    end += more;
  }
  for (unsigned bound = 0; bound < Tile::kBounds; ++bound) again_[bound].set_end(again[bound]);
}

/// Two want an output: inputs in turn, then the channels of the input in turn.
template <class V>
[[gnu::noinline]] void SwitchAllocator<V>::contest_output(Port& out, QueueNumber q) {
  const QueueNumber other = out.requester;
  if constexpr (V::kWeighted) {
    const bool first = is_first_for_output(q, other, b_.queues[q].out);
    out.requester = first ? q : other;
    return request_again(first ? other : q, out);
  }
  const auto turn = [&](QueueNumber of) {
    PortNumber in = b_.port_of(of);
    std::uint32_t channel_turn = (b_.channel_of(of) - b_.ports[in].last_channel - 1u) & b_.channel_mask;
    return std::uint64_t{Port::turn(in, out.last_input)} << 8 | channel_turn;
  };
  const std::uint64_t mine = turn(q), others = turn(other);
  const bool first = only_turns_ ? mine < others : b_.rank_of(q, mine) < b_.rank_of(other, others);
  out.requester = first ? q : other;
  request_again(first ? other : q, out);
}

/// Two outputs chose an input: in turn, or the oldest packet first.
template <class V>
[[gnu::noinline]] void SwitchAllocator<V>::contest_input(Port& in, PortNumber out) {
  refused_ = true;
  const PortNumber other = in.granted;
  const std::uint32_t mine = Port::turn(out, in.last_output), others = Port::turn(other, in.last_output);
  const bool first = V::kWeighted  ? is_first_for_input(b_.port_of(b_.ports[out].requester), out, other)
                     : only_turns_ ? mine < others
                                   : b_.rank_of(b_.ports[out].requester, mine) <
                                         b_.rank_of(b_.ports[other].requester, others);
  in.granted = first ? out : other;
  Port& loser = b_.ports[first ? other : out];
  request_again(loser.requester, loser);
  loser.requester = kEnd;
}

/// Two want an output, and classes of traffic share it: first the class that is most behind, then inputs and
/// their channels in the turns of that class.
template <class V>
bool SwitchAllocator<V>::is_first_for_output(QueueNumber q, QueueNumber other, PortNumber out) const {
  const unsigned c = class_of(q), d = class_of(other);
  const std::uint64_t mine = classes_.outputs.start(out, c), others = classes_.outputs.start(out, d);
  if (mine != others) return mine < others;
  const auto turn = [&](QueueNumber of, unsigned its) {
    const PortNumber in = b_.port_of(of);
    const unsigned last = classes_.turns(in, its).last_channel;
    return std::uint64_t{Port::turn(in, classes_.turns(out, its).last_input)} << 8 |
           ((b_.channel_of(of) - last - 1u) & b_.channel_mask);
  };
  const Rank one = b_.rank_of(q, turn(q, c)), two = b_.rank_of(other, turn(other, d));
  return one != two ? one < two : q < other;  // the turns of two classes may be the same
}

/// The same of an input that two outputs chose.
template <class V>
bool SwitchAllocator<V>::is_first_for_input(PortNumber in, PortNumber out, PortNumber other) const {
  const QueueNumber q = b_.ports[out].requester, p = b_.ports[other].requester;
  const unsigned c = class_of(q), d = class_of(p);
  const std::uint64_t mine = classes_.inputs.start(in, c), others = classes_.inputs.start(in, d);
  if (mine != others) return mine < others;
  const Rank one = b_.rank_of(q, Port::turn(out, classes_.turns(in, c).last_output));
  const Rank two = b_.rank_of(p, Port::turn(other, classes_.turns(in, d).last_output));
  return one != two ? one < two : out < other;
}

/// A flit of this queue goes.
template <class V>
void SwitchAllocator<V>::count_share(PortNumber in, PortNumber out, QueueNumber q, bool turns) {
  const unsigned c = class_of(q);
  classes_.outputs.charge(out, c, 1);
  classes_.inputs.charge(in, c, 1);
  ++classes_.turns(out, c).sent;
  if (!turns) return;
  classes_.turns(out, c).last_input = static_cast<std::uint16_t>(in);
  classes_.turns(in, c).last_output = static_cast<std::uint16_t>(out);
  classes_.turns(in, c).last_channel = static_cast<std::uint8_t>(b_.channel_of(q));
}

/// Moves one flit from the front of its queue through the switch. Returns whether it was its packet's last.
template <class V>
WEFT_HOT bool SwitchAllocator<V>::send(const At& b, Tile& tile, const Port& from, Port& port, QueueNumber q) {
  Queue& queue = b.queues[q];
  if (V::kVoq && queue.offered) [[unlikely]]
    ChannelAllocator<V>::take_channel(b, queue);
  b.inbox_at(from.inbox, from.flight).credits.push(from.peer + b.channel_of(q));
  Entry entry(queue.entry);
  const bool head = queue.left() == entry.flits();
  const bool tail = queue.left() == 1;
  --queue.rest;  // of `left`, which is not 0
  --queue.flits;
  ++b.sent[queue.out];
  // Cables of a grid mostly take a flit in every cycle; others may have any rate.
  constexpr unsigned kSpecial =
      Port::kEndpoint | (V::kOnGrid ? unsigned{Port::kNarrow} : Port::kInner | Port::kLinkLayer);
  if (!(port.flags & kSpecial)) [[likely]] {
    if (!V::kOnGrid && (port.flags & Port::kNarrow)) b.rests[queue.out].sent_at(b.now);
    Inbox& inbox = b.inbox_at(port.inbox, port.flight);
    ChannelNumber to = port.peer + queue.out_channel();
    if (head) {
      inbox.heads.push({to, entry.bits()});
      if (!V::kOnGrid) count_hop(entry, queue.out);
    } else {
      inbox.bodies.push(to);
    }
    ++flit_hops_;
    if (!V::kCutThrough) take_room(b.outs[queue.channels], port, 1);
  } else {
    send_specially(b, port, queue, head, tail);
  }
  if (tail) {
    port.free_channels ^= 1u << queue.out_channel();
    queue.word &= ~(Queue::kActive | Queue::kReady);
    if (queue.flits)  // of packets behind it
      next_packet(b, tile, q, queue);
  }
  return tail;
}

template <class V>
void SwitchAllocator<V>::count_hop(Entry entry, PortNumber out) {
  PacketRecord& record = sources_.packets[entry.id()];
  ++record.hops;
  if (!fabric_.port_remainder.empty()) record.remainder += fabric_.port_remainder[out];
}

/// To an endpoint, over a narrow cable or one that can fail, inside a router, or with hops to count.
template <class V>
[[gnu::noinline]] void SwitchAllocator<V>::send_specially(const At& b, Port& port, const Queue& queue,
                                                          bool head, bool tail) {
  Entry entry(queue.entry);
  if (port.flags & Port::kLinkLayer) {
    EndNumber end = links_->end_at(queue.out);
    links_->offer(end, queue.out_channel(), entry, entry.flits() - queue.left() - 1);
    ends_->wake(end);
    if (head && !V::kOnGrid) count_hop(entry, queue.out);
    ++flit_hops_;
    if (!V::kCutThrough) take_room(b.outs[queue.channels], port, 1);
    return;
  }
  if (port.flags & Port::kNarrow) b.rests[queue.out].sent_at(b.now);
  if (port.flags & Port::kEndpoint) {
    ++flits_delivered_;
    if (tail) ejection_.deliver(entry);
    return;
  }
  const bool inner = port.flags & Port::kInner;
  Inbox& inbox = b.inbox_at(port.inbox, port.flight);
  ChannelNumber to = port.peer + queue.out_channel();
  if (head) {
    inbox.heads.push({to, entry.bits()});
    if (!V::kOnGrid && !inner) count_hop(entry, queue.out);
  } else {
    inbox.bodies.push(to);
  }
  flit_hops_ += !inner;
  if (!V::kCutThrough) take_room(b.outs[queue.channels], port, 1);
}

/// The packet behind one that has left looks for its route.
template <class V>
[[gnu::noinline]] void SwitchAllocator<V>::next_packet(const At& b, Tile& tile, QueueNumber q, Queue& queue) {
  Entry entry(sources_.packets.behind(Entry(queue.entry).id()));
  queue.entry = entry.bits();
  queue.set_left(entry.flits());
  Tile::Bound bound = routes_.find_route(b, q, queue, entry);
  tile.channel_requests_in(b.now + route_cycles_ + 1, bound).push(q);
}

}  // namespace weft::network::flit
