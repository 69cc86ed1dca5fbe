#include "nic/sender.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/crc.hpp"
#include "nic/check_descriptor.hpp"

namespace weft::nic {

namespace {

Event event_for(const Outgoing& x, EventKind kind) {
  Event event;
  event.kind = kind;
  event.operation = x.d.operation;
  event.status = x.damaged && x.status == Status::Ok ? Status::Damaged : x.status;
  event.node = x.d.node;
  event.port = x.d.port;
  event.tag = x.d.tag;
  event.length = x.d.length;
  event.context = x.d.context;
  event.data = x.old_value;
  event.spare[0] = x.d.compare;
  event.spare[1] = kind == EventKind::Failed ? x.first_started.value != 0 : x.d.spare[0];
  return event;
}

/// Of an operation of which only the answer is left.
Event failure_of(const Context& context, const Header& h) {
  Event event;
  event.kind = EventKind::Failed;
  event.operation = h.operation;
  event.status = h.status;
  event.node = context.nodes[h.from];
  event.port = h.target_port;
  event.tag = h.tag;
  event.length = h.length;
  event.context = h.context;
  event.data = h.value;
  event.spare[0] = h.compare;
  event.spare[1] = 1;
  return event;
}

void record_failure(const Context& context, NicId interface, const Outgoing& x) {
  if (!context.recording() || is_triggered(x.d.operation) || is_of_groups(x.d.operation))
    return;  // records know none of these
  Time now = context.now();
  Record record{x.d.operation, x.status,         interface, x.to, x.port, x.d.port,
                x.d.length,    Time{x.d.posted}, now,       {},   0};
  record.parts.part[Breakdown::HostBus] = now - Time{x.d.posted};
  (*context.on_record)(record);
}

/// The same where only its answer is left.
void record_failure(const Context& context, NicId interface, const Header& h, const Stamps& stamps) {
  if (context.recording()) {
    Record record{h.operation,   h.status,      interface, h.from, h.source_port, h.target_port, h.length,
                  stamps.posted, context.now(), {},        0};
    record.parts.part[Breakdown::HostBus] = context.now() - stamps.posted;
    (*context.on_record)(record);
  }
}

/// A repetition skips what is known to be there. The last packet goes in any case: the answer to it may have
/// been lost.
void skip_arrived(const std::vector<bool>& have, std::uint64_t length, std::uint64_t payload,
                  std::uint64_t& issued) {
  const std::uint64_t last = (length - 1) / payload * payload;
  while (!have.empty() && issued < last && have[issued / payload]) issued += payload;
}

}  // namespace

Sender::Sender(const Parts& parts, NicId interface)
    : context_(parts.context),
      ports_(parts.ports),
      registration_(parts.registration),
      notifier_(parts.notifier),
      submission_(parts.submission),
      egress_(parts.egress),
      reliability_(parts.reliability),
      triggered_(parts.triggered),
      groups_(parts.groups),
      counted_(parts.counted),
      outgoing_(parts.outgoing),
      counters_(parts.counters),
      fences_(parts.context, interface, parts.egress),
      channels_(parts.context, parts.ports, parts.counters),
      reader_(parts.context, parts.registration, parts.bus),
      interface_(interface),
      class_turns_(parts.context.class_weights.size()),
      unit_free_(parts.context.nic.units) {}

void Sender::accept(std::uint32_t index) {
  Outgoing& x = outgoing_[index];
  submission_.reached_chip(x.port);
  x.at_chip = context_.now();
  find_node(context_, x.d);
  Status status = check(x);
  if (status == Status::Ok && is_triggered(x.d.operation)) status = triggered_.accept(x);
  if (status == Status::Ok && is_of_groups(x.d.operation)) status = groups_.accept(x);
  if (x.d.flags & kToGroup) x.group = groups_.group_of(x.port, x.d.tag);
  if (status == Status::Ok && (x.d.flags & kToGroup) && x.group == network::kNoGroup) status = Status::BadKey;
  if (status == Status::Ok && (is_triggered(x.d.operation) || is_of_groups(x.d.operation))) {
    submission_.leave(x);
    x.finished = true;
    return outgoing_.release(index);
  }
  if (status == Status::Ok && (x.d.flags & kCounted)) {
    bool waits = false;
    status = counted_.accept(index, waits);
    if (waits) return submission_.leave_buffer(x);
  }
  begin(index, status);
}

Status Sender::check(Outgoing& x) {
  const NicId to = context_.interface_of(x.d.node);
  x.to = to == kNobody ? interface_ : to;
  if (ports_[x.port].generation != x.port_generation) return Status::Closed;
  return check_descriptor(context_, registration_, ports_[x.port], x.port, x.d);
}

void Sender::fire(std::uint32_t task) {
  for (const Counted::Fired& fired : counted_.fire(task)) {
    Outgoing& x = outgoing_[fired.index];
    x.at_chip = context_.now();
    x.d.posted = x.at_chip.value;    // from here on it takes time; before, it waited for others
    const Status status = check(x);  // packets may have brought anything
    begin(fired.index, fired.status == Status::Ok ? status : fired.status);
  }
}

void Sender::drop_waiting(PortNo port) {
  for (std::uint32_t index : counted_.close(port)) {
    submission_.leave(outgoing_[index]);
    outgoing_[index].finished = true;
    outgoing_.release(index);
  }
}

/// It is sent in its turn, or is refused.
void Sender::begin(std::uint32_t index, Status status) {
  Outgoing& x = outgoing_[index];
  if (status != Status::Ok) {
    submission_.leave(x);
    context_.ledger.begin({interface_, x.port}, x.port_generation);  // as if it had begun: finishing ends it
    if (x.answered()) ++queue(x.port).unfinished;
    return finish(index, status, context_.now());
  }
  if (x.d.flags & kGlobal) x.domain = x.d.port;
  if (x.atomic()) x.d.length = 8;
  switch (x.d.operation) {
    case Operation::Message:
      ++counters_.messages;
      break;
    case Operation::ImmediatePut:
      ++counters_.puts;
      break;
    case Operation::Put:
      ++counters_.puts;
      registration_.find_local(x.port, x.d, x.local);
      break;
    case Operation::Get:
      ++counters_.gets;
      registration_.find_local(x.port, x.d, x.local);
      break;
    default:
      ++counters_.atomics;
  }
  if (x.group != network::kNoGroup && groups_.hold(x, index)) return;
  enqueue(index);
}

void Sender::released(std::uint32_t index, Status status) {
  status == Status::Ok ? enqueue(index) : begin(index, status);
}

void Sender::enqueue(std::uint32_t index) {
  Outgoing& x = outgoing_[index];
  Queue& q = queue(x.port);
  if (q.waiting.empty()) working_.push_back(x.port);
  q.waiting.push_back(index);
  x.queued = true;
  counters_.deepest_queue = std::max<std::uint64_t>(counters_.deepest_queue, q.waiting.size());
  dispatch();
}

/// Round-robin over the ports that have work: one packet each, so that a long put delays nobody else's
/// messages.
void Sender::dispatch() {
  if (dispatching_) return;  // an operation ended while its last packet was made: the loop below goes on
  dispatching_ = true;
  serve();
  dispatching_ = false;
}

void Sender::dispatch_planned() {
  dispatch_at_ = network::kForever;
  dispatch();
}

void Sender::serve() {
  while (!working_.empty()) {
    auto first_free = std::min_element(unit_free_.begin(), unit_free_.end());
    auto unit = static_cast<unsigned>(first_free - unit_free_.begin());
    if (*first_free > context_.now()) {
      if (dispatch_at_ > *first_free) {
        dispatch_at_ = *first_free;
        context_.at(dispatch_at_, What::Dispatch, interface_, 0);
      }
      return;
    }
    if (!class_turns_.there_are() && egress_.full()) {
      ++counters_.window_stalls;
      return;
    }
    if (!find_unblocked()) return;
    if (working_[turn_] == kNobody) {
      serve_response(unit);
    } else {
      serve_operation(working_[turn_], unit);
    }
  }
}

/// Moves the turn to the next queue whose first operation can be sent.
bool Sender::find_unblocked() {
  const auto can_send = [&](PortNo port) {
    if (port == kNobody) return true;
    const std::uint32_t index = queues_[port].waiting.front();
    return outgoing_[index].finished || !blocked(outgoing_[index], index);
  };
  if (class_turns_.there_are()) {
    const auto class_of = [&](PortNo port) {
      return port == kNobody ? responses_[answering_.front()].request.traffic_class
                             : ports_[port].traffic_class;
    };
    return class_turns_.pick(working_, egress_, counters_.window_stalls, turn_, class_of, can_send);
  }
  for (std::size_t tried = 0; tried < working_.size(); ++tried) {
    if (turn_ >= working_.size()) turn_ = 0;
    if (can_send(working_[turn_])) return true;
    ++turn_;
  }
  return false;
}

void Sender::serve_response(unsigned unit) {
  std::uint32_t index = answering_.front();
  Response& r = responses_[index];
  if (!issue_response(r, unit)) {
    ++turn_;
    return;
  }
  answering_.pop_front();
  r.staging = {};
  r.have = {};
  responses_.give(index);
  if (answering_.empty()) {
    working_.erase(working_.begin() + static_cast<std::ptrdiff_t>(turn_));
  } else {
    ++turn_;
  }
}

void Sender::serve_operation(PortNo port, unsigned unit) {
  std::uint32_t index = queues_[port].waiting.front();
  Outgoing& x = outgoing_[index];
  if (x.finished) {
    x.issued = x.d.length;  // refused on the way: the rest stays here
  } else {
    issue(x, index, unit);
  }
  if (x.d.operation == Operation::Put && x.issued < x.d.length) {
    ++turn_;
    return;
  }
  Queue& q = queues_[port];
  q.waiting.pop_front();
  if (q.waiting.empty()) {
    working_.erase(working_.begin() + static_cast<std::ptrdiff_t>(turn_));
  } else {
    ++turn_;
  }
  x.queued = false;
  x.sent = true;
  submission_.leave(x);
  if (x.d.operation == Operation::Put) channels_.leave(x, index);  // a get has it until its data is here
  outgoing_.release(index);
}

bool Sender::blocked(Outgoing& x, std::uint32_t index) {
  bool fresh = x.first_started.value == 0;
  if (fresh && (x.d.flags & kFence) && fenced(x)) return true;
  if (fresh && x.to < peers_.size() && peers_[x.to].paused) {
    // Its rings are full and so is its room for what waits.
    counters_.held_back += !std::exchange(x.held_back, true);
    return true;
  }
  if (x.reliable() && !x.connected) {
    if (!x.connecting && reliability_.take_context(x))
      reliability_.connect(x, index, new_packet(PacketKind::Connect, x, index));
    return true;
  }
  return channels_.taken(x, index);
}

/// Is there earlier work of its port that has not ended?
bool Sender::fenced(const Outgoing& x) {
  bool unanswered = fences_.wait(x.port);
  return queue(x.port).unfinished || unanswered;
}

void Sender::flushed(const Header& h) {
  fences_.flushed(h);
  dispatch();
}

std::uint32_t Sender::new_packet(PacketKind kind, Outgoing& x, std::uint32_t index) {
  std::uint32_t number = context_.new_packet();
  Packet& packet = context_.packets[number];
  Header& h = packet.header;
  const Descriptor& d = x.d;
  h.kind = kind;
  h.operation = d.operation;
  h.flags = d.flags;
  h.traffic_class = ports_[x.port].traffic_class;
  h.from = interface_;
  h.to = x.to;
  h.source_port = x.port;
  h.source_generation = x.port_generation;
  h.target_port = d.port;
  h.domain = x.domain;
  h.group = x.group;
  h.operation_id = index;
  h.generation = x.generation;
  h.tag = d.tag;
  h.context = d.context;
  h.length = d.length;
  h.remote_key = d.remote_key;
  h.remote_offset = d.remote_offset;
  h.operand = d.operand;
  h.compare = d.compare;
  if (d.flags & kCounted) {
    h.value = d.spare[1];
    h.damaged = x.damaged;  // by what it took from other packets
  }
  packet.stamps.posted = Time{d.posted};
  packet.stamps.mark = d.spare[4];
  packet.stamps.at_chip = x.at_chip;
  packet.stamps.first_started = x.first_started;
  ++x.in_network;
  return number;
}

void Sender::occupy(unsigned unit) {
  unit_free_[unit] = context_.now() + context_.nic.occupancy;
  counters_.busy += context_.nic.occupancy;
}

void Sender::issue(Outgoing& x, std::uint32_t index, unsigned unit) {
  Time now = context_.now();
  if (x.first_started.value == 0) {
    x.first_started = now;
    context_.ledger.begin({interface_, x.port}, x.port_generation);
    if (x.answered()) ++queues_[x.port].unfinished;
  }
  occupy(unit);
  bool put = x.d.operation == Operation::Put, get = x.d.operation == Operation::Get;
  if (put) skip_arrived(x.have, x.d.length, context_.payload_to(x.to), x.issued);
  const bool for_many = x.group != network::kNoGroup;
  std::uint32_t number = new_packet(for_many ? PacketKind::GroupData
                                    : put    ? PacketKind::PutData
                                    : get    ? PacketKind::GetRequest
                                             : PacketKind::Whole,
                                    x, index);
  Packet& packet = context_.packets[number];
  Header& h = packet.header;
  packet.stamps.started = now;
  packet.ordered = !for_many;
  Time on_chip = now;
  if (put) {
    h.offset = x.issued;
    h.bytes = static_cast<std::uint32_t>(std::min(context_.payload_to(x.to), x.d.length - x.issued));
    x.issued += h.bytes;
    h.last = x.issued >= x.d.length;
    on_chip = reader_.on_chip(x.staging, x.local, packet, now, false);
    if (packet.data.empty()) {  // the memory is gone
      x.old_value = x.local.address + h.offset;
      context_.packets.give(number);
      --x.in_network;
      x.issued = x.d.length;
      return finish(index, Status::BadMemory, now);
    }
    if (h.offset == 0 && x.first_data.value)
      on_chip = std::max(now, x.first_data);  // fetched while connecting
  } else {
    h.last = true;
    h.bytes = get ? 16 : static_cast<std::uint32_t>(x.d.length);
    if (x.carries_inline()) packet.data.assign(x.d.data, x.d.data + x.d.length);
    if (get && !x.have.empty()) {  // a repetition: what has arrived need not come again
      h.value = put_bits(packet.data, x.have, context_.list_room);
      h.bytes += static_cast<std::uint32_t>(packet.data.size());
    }
  }
  if (x.reliable()) {
    h.crc = crc32(0, packet.data.data(), packet.data.size());
    if (h.last) reliability_.set_alarm(x, index);
  }
  if (h.last && !x.answered() && !for_many) fences_.count(x.port, x.to);
  egress_.launch(number, on_chip + context_.nic.send_latency + context_.adapter(h.kind));
}

/// The next packet of a get's data; true where it was the last.
bool Sender::issue_response(Response& r, unsigned unit) {
  Time now = context_.now();
  occupy(unit);
  const std::uint64_t length = r.request.length;
  skip_arrived(r.have, length, context_.payload_to(r.request.from), r.issued);
  std::uint32_t number = context_.new_answer(PacketKind::GetData, r.request, r.stamps);
  Packet& packet = context_.packets[number];
  Header& h = packet.header;
  packet.stamps.started = now;
  h.offset = r.issued;
  h.bytes = static_cast<std::uint32_t>(std::min(context_.payload_to(r.request.from), length - r.issued));
  r.issued += h.bytes;
  h.last = r.issued >= length;
  Time on_chip = reader_.on_chip(r.staging, r.place, packet, now, h.from != h.to);
  if (packet.data.empty()) {  // the memory is gone
    h.kind = PacketKind::Reply;
    h.status = Status::BadMemory;
    h.value = r.place.address + h.offset;
    h.bytes = 16;
    ++counters_.refused;
    notifier_.keep_error({h.status, h.operation, context_.nodes[h.to], h.source_port, h.remote_key,
                          h.remote_offset, h.length, now});
    egress_.launch(number, now + context_.nic.send_latency);
    return true;
  }
  if (h.reliable()) h.crc = crc32(0, packet.data.data(), packet.data.size());
  bool all = h.last;
  egress_.launch(number, on_chip + context_.nic.send_latency + context_.adapter(h.kind));
  return all;
}

bool Sender::responding(const Header& request) const {
  return std::any_of(answering_.begin(), answering_.end(), [&](std::uint32_t index) {
    const Header& other = responses_[index].request;
    return other.from == request.from && other.operation_id == request.operation_id &&
           other.generation == request.generation;
  });
}

void Sender::respond(Response response) {
  std::uint32_t index = responses_.take();
  responses_[index] = std::move(response);
  if (answering_.empty()) working_.push_back(kNobody);
  answering_.push_back(index);
  dispatch();
}

void Sender::departed(Packet& packet, Time when) {
  const Header& h = packet.header;
  egress_.departed(packet);
  if (h.kind == PacketKind::GetData && h.last && (h.flags & kNotifyRemote) && h.target_port < ports_.size())
    notifier_.notify(h.target_port, ports_[h.target_port].generation,
                     event_at_target(context_, h, EventKind::Responded), when);
  bool data = h.kind == PacketKind::Whole || h.kind == PacketKind::PutData || h.kind == PacketKind::GroupData;
  // A requester of logical addresses tells of the requests it has sent, too.
  data |= h.kind == PacketKind::GetRequest && (h.flags & kLogical);
  if (data && h.last && (h.flags & kNotifyLocal)) {
    const Outgoing* x = outgoing_.find(h);
    // What may have to be read again is not free yet.
    const bool again = x && x->reliable() && h.kind == PacketKind::PutData;
    if (x && x->attempt == 0 && !again)
      notifier_.notify(x->port, x->port_generation, event_for(*x, EventKind::Local), when);
  }
  dispatch();
}

void Sender::out_of_network(const Header& h) {
  Outgoing* x = is_request(h.kind) ? outgoing_.find(h) : nullptr;
  if (!x) return;
  --x->in_network;
  if (h.kind == PacketKind::GroupData && x->sent && !x->finished && x->in_network == 0)
    context_.ledger.end({interface_, x->port}, x->port_generation);  // it has come to all; nobody answers
  outgoing_.release(h.operation_id);
}

void Sender::replied(const Header& h, const Stamps& stamps, Time when) {
  Outgoing* x = outgoing_.find(h);
  if (!x) {
    if (!h.answered() && h.status != Status::Ok) fail(h, stamps, when);
    return;
  }
  if (x->finished) return;
  x->old_value = h.value;
  x->damaged |= h.damaged;
  x->d.port = h.target_port;  // of a global address, its target knows the port
  finish(h.operation_id, h.status, when);
}

/// The network will not deliver a packet of this operation. A reliable one is repeated in time.
void Sender::lost(const Header& h, Time when) {
  if (h.kind == PacketKind::Flush || h.kind == PacketKind::FlushAck) {  // nothing more comes from there
    fences_.cut_off(h.source_port, h.kind == PacketKind::Flush ? h.to : h.from);
    return dispatch();
  }
  Outgoing* x = h.reliable() ? nullptr : outgoing_.find(h);
  if (!x || x->finished) return;
  if (!x->answered() && x->sent) fences_.uncount(x->port, x->to);  // its target will never count it
  finish(h.operation_id, Status::Unreachable, when);
}

void Sender::learned_missing(const Packet& packet) {
  Outgoing* x = outgoing_.find(packet.header);
  if (!x || x->finished) return;
  const std::uint64_t payload = context_.payload_to(x->to);
  x->have.assign((std::max<std::uint64_t>(x->d.length, 1) + payload - 1) / payload, false);
  get_bits(packet.data, packet.header.value, x->have);
  // It waits there for room, or not all that is missing could be listed: the next try is another one.
  if (x->d.operation == Operation::Message || x->have.size() > context_.list_room * 8) x->attempt = 0;
}

void Sender::connected(const Header& h) {
  if (Outgoing* x = outgoing_.find(h); x && !x->finished) {
    reliability_.connected(*x);
    dispatch();
  }
}

void Sender::refused(const Header& h) {
  if (Outgoing* x = outgoing_.find(h); x && !x->finished) reliability_.refused(*x, h.operation_id);
}

void Sender::pause(NicId target, std::uint64_t number, bool stop) {
  if (peers_.size() <= target) peers_.resize(context_.nodes.size());
  Peer& peer = peers_[target];
  if (number <= peer.number) return;
  peer = {stop, number};
  if (!stop) dispatch();
}

void Sender::time_out(std::uint32_t alarm) {
  std::uint32_t index = 0;
  Reliability::Verdict verdict = reliability_.time_out(alarm, index);
  if (verdict == Reliability::Verdict::Nothing) return;
  if (verdict == Reliability::Verdict::Connect) return dispatch();
  Outgoing& x = outgoing_[index];
  Queue& q = queue(x.port);
  if (verdict == Reliability::Verdict::GiveUp) {
    if (x.queued && x.issued == 0 && !x.connected) {  // still at the head of its queue
      std::erase(q.waiting, index);
      if (q.waiting.empty()) std::erase(working_, x.port);
      x.queued = false;
      submission_.leave(x);
      context_.ledger.begin({interface_, x.port}, x.port_generation);
      ++q.unfinished;
    }
    return finish(index, Status::TimedOut, context_.now());
  }
  x.issued = 0;
  if (q.waiting.empty()) working_.push_back(x.port);
  q.waiting.push_front(index);
  x.queued = true;
  dispatch();
}

void Sender::reconnect(std::uint32_t alarm) {
  std::uint32_t index = 0;
  if (reliability_.reconnect(alarm, index)) dispatch();
}

void Sender::finish(std::uint32_t index, Status status, Time when) {
  Outgoing& x = outgoing_[index];
  if (x.finished) return;
  x.finished = true;
  if (status != Status::Ok) x.status = status;
  reliability_.give_context(x);
  channels_.leave(x, index);
  if (x.status != Status::Ok) {
    ++counters_.failed;
    notifier_.notify(x.port, x.port_generation, event_for(x, EventKind::Failed), when);
    record_failure(context_, interface_, x);
  } else {
    if (x.reliable() && x.d.operation == Operation::Put && (x.d.flags & kNotifyLocal))
      notifier_.notify(x.port, x.port_generation, event_for(x, EventKind::Local), when);
    if (x.atomic() || (x.d.flags & kNotifyDone))
      notifier_.notify(x.port, x.port_generation, event_for(x, EventKind::Done), when);
  }
  if (x.answered() && x.port_generation == ports_[x.port].generation && queue(x.port).unfinished)
    --queue(x.port).unfinished;
  context_.ledger.end({interface_, x.port}, x.port_generation);
  outgoing_.release(index);
  dispatch();
}

/// An operation whose end is told only where it goes wrong went wrong, and its slot is another's already: all
/// that is to be said of it is in the answer.
void Sender::fail(const Header& h, const Stamps& stamps, Time when) {
  ++counters_.failed;
  notifier_.notify(h.source_port, h.source_generation, failure_of(context_, h), when);
  record_failure(context_, interface_, h, stamps);
  context_.ledger.end({interface_, h.source_port}, h.source_generation);
}

void Sender::reset(PortNo port) { queue(port).unfinished = 0; }

std::string Sender::pending(PortNo port) const {
  if (!has_queue(port)) return "";
  const Queue& q = queues_[port];
  const Outgoing& x = outgoing_[q.waiting.front()];
  bool fence = (x.d.flags & kFence) && (q.unfinished || fences_.waiting(port));
  bool paused = x.to < peers_.size() && peers_[x.to].paused;
  const std::string why =
      fence    ? ", the first for earlier ones (fence)"
      : paused ? fmt::format(", the first for node {}, whose rings are full", context_.nodes[x.to])
               : "";
  return fmt::format("{} operations wait in the queue of port {}{}", q.waiting.size(), port, why);
}

}  // namespace weft::nic
