#include "nic/receiver.hpp"

#include <algorithm>
#include <utility>

#include "base/crc.hpp"
#include "base/random.hpp"

namespace weft::nic {

Receiver::Receiver(const Parts& parts, NicId interface)
    : context_(parts.context),
      ports_(parts.ports),
      bus_(parts.bus),
      registration_(parts.registration),
      notifier_(parts.notifier),
      egress_(parts.egress),
      rings_(parts.rings),
      sender_(parts.sender),
      triggered_(parts.triggered),
      groups_(parts.groups),
      counted_(parts.counted),
      registers_(parts.registers),
      counters_(parts.counters),
      interface_(interface),
      incoming_(parts.context),
      unit_free_(parts.context.nic.units) {}

Receiver::Source& Receiver::source(NicId from, PortNo port) {
  if (sources_.size() <= from) sources_.resize(context_.nodes.size());
  auto& ports = sources_[from];
  if (ports.size() <= port) ports.resize(port + 1);
  return ports[port];
}

void Receiver::delivered(std::uint32_t index, Time when) {
  Packet& packet = context_.packets[index];
  packet.stamps.delivered = when;
  if (!packet.ordered) {
    if (!packet.gone) return receive(index, when);
    return release(index);
  }
  NicId from = packet.header.from;
  PortNo port = packet.header.source_port;
  if (Source& s = source(from, port); packet.header.sequence != s.next) {
    ++counters_.reordered;
    s.early.push_back(index);
    return;
  }
  for (;;) {
    Source& in = source(from, port);
    ++in.next;
    if (context_.packets[index].gone) {
      release(index);
    } else {
      if (context_.nic.order_window) acknowledge_order(context_.packets[index], in, when);
      receive(index, when);
    }
    Source& s = source(from, port);
    auto follows = std::find_if(s.early.begin(), s.early.end(), [&](std::uint32_t early) {
      return context_.packets[early].header.sequence == s.next;
    });
    if (follows == s.early.end()) return;
    index = *follows;
    *follows = s.early.back();
    s.early.pop_back();
  }
}

/// By halves of the window: the sender's packets go on while the word is under way.
void Receiver::acknowledge_order(const Packet& packet, Source& s, Time when) {
  if (++s.unacknowledged < (context_.nic.order_window + 1) / 2) return;
  const std::uint32_t index = context_.new_answer(PacketKind::OrderAck, packet.header, packet.stamps);
  Header& h = context_.packets[index].header;
  h.flags = 0;
  h.bytes = 8;
  h.value = std::exchange(s.unacknowledged, 0);
  h.operand = 0;  // how often it was repeated
  egress_.launch(index, when + context_.nic.send_latency);
}

bool Receiver::repeat_order_ack(const Header& lost) {
  if (lost.operand >= context_.nic.retries) return false;
  const std::uint32_t index = context_.new_packet();
  Header& h = context_.packets[index].header;
  h = lost;
  ++h.operand;
  egress_.launch(index, context_.now() + context_.nic.timeout + context_.nic.send_latency);
  return true;
}

/// Lets an error pass that no link noticed, now and then; false where a check sum finds it.
bool Receiver::intact(Packet& packet) {
  if (context_.nic.corruption <= 0) return true;
  std::uint32_t node = context_.nodes[interface_];
  std::uint64_t draw = random_bits(context_.seed ^ 0x636f7272, node, ++context_.received);
  if (static_cast<double>(draw >> 11) * 0x1p-53 >= context_.nic.corruption) return true;
  ++counters_.corrupted;
  auto& data = packet.data;
  if (!data.empty()) {
    std::uint64_t bit = random_bits(context_.seed ^ 0x626974, node, context_.received) % (data.size() * 8);
    data[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
  }
  if (packet.header.reliable())
    return !data.empty() && crc32(0, data.data(), data.size()) == packet.header.crc;
  packet.header.damaged = !data.empty();  // without data nothing is hit: links repair headers
  return true;
}

void Receiver::receive(std::uint32_t index, Time when) {
  Packet& packet = context_.packets[index];
  auto unit = std::min_element(unit_free_.begin(), unit_free_.end());
  packet.stamps.received = std::max(when, *unit);
  *unit = packet.stamps.received + context_.nic.occupancy;
  packet.stamps.ready =
      packet.stamps.received + context_.nic.receive_latency + context_.adapter(packet.header.kind);
  ++counters_.packets_received;
  counters_.bytes_received += packet_bytes(context_.nic, packet.header.bytes);
  if (!intact(packet)) return release(index);
  if ((packet.header.flags & kRegisters) && is_request(packet.header.kind)) return receive_registers(index);
  switch (packet.header.kind) {
    case PacketKind::GetRequest:
      return receive_get(index);
    case PacketKind::GetData: {
      const Header& h = packet.header;
      const Outgoing* x = sender_.find(h);
      if (!x || x->finished) return release(index);
      Time& ready = packet.stamps.ready;
      ready = ready + registration_.translate(x->local, h.offset, h.bytes, ready, h.flags & kPhysical);
      return context_.at(bus_.to_memory(ready, h.bytes, x->local.space), What::Data, interface_, index);
    }
    case PacketKind::PutData:
    case PacketKind::Whole:
      if (packet.header.operation == Operation::Message) return receive_message(index);
      return receive_data(index);
    case PacketKind::GroupData:
      groups_.receive(packet);
      return release(index);
    default:
      receive_control(index);
      return release(index);
  }
}

void Receiver::receive_control(std::uint32_t index) {
  Packet& packet = context_.packets[index];
  const Header& h = packet.header;
  switch (h.kind) {
    case PacketKind::Reply:
      return sender_.replied(h, packet.stamps, packet.stamps.ready);
    case PacketKind::Missing:
      return sender_.learned_missing(packet);
    case PacketKind::Connect:
      return receive_connect(packet);
    case PacketKind::ConnectAck:
      return sender_.connected(h);
    case PacketKind::ConnectNack:
      return sender_.refused(h);
    case PacketKind::Flush: {
      Source& s = source(h.from, h.source_port);
      if (s.flush != kNobody) release(s.flush);  // a later request stands for it
      s.flush = context_.new_answer(PacketKind::FlushAck, h, packet.stamps);
      return answer_flush(s);
    }
    case PacketKind::FlushAck:
      return sender_.flushed(h);
    case PacketKind::OrderAck:
      return egress_.taken(h.source_port, h.from, static_cast<std::uint32_t>(h.value), packet.stamps.ready);
    case PacketKind::Control:
    case PacketKind::ControlRefused:
    case PacketKind::ControlAck:
      return triggered_.receive(packet);
    default:
      return sender_.pause(h.from, h.value, h.kind == PacketKind::Pause);
  }
}

void Receiver::answer_flush(Source& s) {
  if (s.flush == kNobody) return;
  auto wanted = static_cast<std::uint32_t>(context_.packets[s.flush].header.value);
  if (static_cast<std::int32_t>(s.ended - wanted) < 0) return;
  context_.packets[s.flush].header.bytes = 16;
  egress_.launch(std::exchange(s.flush, kNobody), context_.now() + context_.nic.send_latency);
}

/// An operation that nobody answers has ended here.
void Receiver::ended(const Header& h) {
  Source& s = source(h.from, h.source_port);
  ++s.ended;
  answer_flush(s);
}

void Receiver::receive_connect(Packet& packet) {
  Incoming& in = incoming_.find_or_add(packet.header);
  in.heard = context_.now();
  bool granted = in.complete || incoming_.take_context(in);
  if (!granted) ++counters_.context_refusals;
  egress_.launch(context_.new_answer(granted ? PacketKind::ConnectAck : PacketKind::ConnectNack,
                                     packet.header, packet.stamps),
                 packet.stamps.ready + context_.nic.send_latency);
}

/// Checks that memory here may be used as a packet wants; what becomes of it is ready later by the
/// translation.
Status Receiver::place(Packet& packet, std::uint32_t rights, Place& place) {
  Header& h = packet.header;
  Status status = registration_.find_target(h, rights, place, h.target_port);
  if (status != Status::Ok) return status;
  bool get = h.kind == PacketKind::GetRequest, physical = h.flags & kPhysical;
  Time& ready = packet.stamps.ready;
  ready = ready + registration_.translate(place, h.offset, get ? 1 : h.bytes, ready, physical);
  packet.stamps.physical = physical ? place.physical : registration_.physical_of(place);
  if (!get && h.from != h.to && !node::is_of_device(place.space))
    ready = ready + context_.host_parameters.snoop;
  packet.space = place.space;
  packet.address = place.address;
  return Status::Ok;
}

void Receiver::receive_get(std::uint32_t index) {
  Packet& packet = context_.packets[index];
  packet.stamps.request_sent = packet.stamps.sent;
  packet.stamps.request_delivered = packet.stamps.delivered;
  Place found;
  if (Status status = place(packet, kRemoteRead, found); status != Status::Ok) {
    reject(packet, status, 0, packet.stamps.ready);
    return release(index);
  }
  packet.shift = found.shift;
  context_.at(packet.stamps.ready, What::Data, interface_, index);
}

void Receiver::receive_data(std::uint32_t index) {
  Packet& packet = context_.packets[index];
  const Header& h = packet.header;
  if (IncomingTable::keeps(h, context_.payload_to(h.from))) {
    Incoming& in = incoming_.find_or_add(h);
    in.heard = context_.now();
    if (in.rejected) {
      drop_rejected(packet, in);
      return release(index);
    }
    if (in.complete) {  // came twice: its answer was lost, and the memory it went to may be another's by now
      if (h.last) reply(packet, in.status, in.value, in.damaged, packet.stamps.ready);
      return release(index);
    }
  }
  if (h.length == 0) {  // a notification: no memory is touched, but it must not overtake data before it
    if (ports_.is_open(h.target_port))
      return context_.at(bus_.to_memory(packet.stamps.ready, 8), What::Data, interface_, index);
    reject(packet, Status::NoPort, 0, packet.stamps.ready);
    return release(index);
  }
  Place found;
  if (Status status = place(packet, h.atomic() ? kRemoteAtomic : kRemoteWrite, found); status != Status::Ok) {
    reject(packet, status, 0, packet.stamps.ready);
    return release(index);
  }
  Time ready = packet.stamps.ready;
  const node::SpaceId space = found.space;
  context_.at(h.atomic() ? bus_.to_memory(bus_.from_memory(ready, 8, space), 8, space)
                         : bus_.to_memory(ready, h.bytes, space),
              What::Data, interface_, index);
}

void Receiver::receive_message(std::uint32_t index) {
  Packet& packet = context_.packets[index];
  const Header& h = packet.header;
  if (h.reliable()) {
    Incoming& in = incoming_.find_or_add(h);
    in.heard = context_.now();
    if (in.rejected) {
      drop_rejected(packet, in);
      return release(index);
    }
    if (in.begun) {  // came twice: its answer was lost, or it waits for room in the ring
      if (in.complete)
        reply(packet, in.status, in.value, in.damaged, packet.stamps.ready);
      else
        tell_missing(packet, in);
      return release(index);
    }
    in.begun = ports_.is_open(h.target_port);
  }
  if (!ports_.is_open(h.target_port)) {
    reject(packet, Status::NoPort, 0, packet.stamps.ready);
    return release(index);
  }
  const std::uint32_t counted = h.flags & kCounted ? counted_flags(h.value) : kToRing;
  if (counted & kCounts) {
    if (Status status = counted_.take(packet, packet.stamps.ready); status != Status::Ok) {
      reject(packet, status, 0, packet.stamps.ready);
      return release(index);
    }
  }
  if (counted & kToRing) return rings_.accept(index);
  context_.at(packet.stamps.ready, What::Data, interface_, index);
}

/// A request for registers goes to their file, not to memory.
void Receiver::receive_registers(std::uint32_t index) {
  Packet& packet = context_.packets[index];
  packet.stamps.request_sent = packet.stamps.sent;
  packet.stamps.request_delivered = packet.stamps.delivered;
  context_.at(registers_.serve(packet.header, packet.stamps.ready), What::Data, interface_, index);
}

void Receiver::land_registers(Packet& packet) {
  const Header& h = packet.header;
  const Time back = context_.now() + registers_.way_back(h);
  if (h.kind != PacketKind::GetRequest) {
    const Status status = registers_.write(h, packet.data);
    return status == Status::Ok ? arrived(packet, Status::Ok, 0, h.damaged) : reject(packet, status, 0, back);
  }
  const std::uint32_t number = context_.new_answer(PacketKind::GetData, h, packet.stamps);
  Packet& answer = context_.packets[number];
  if (Status status = registers_.read(h, answer.data); status != Status::Ok) {
    context_.packets.give(number);
    return reject(packet, status, 0, back);
  }
  answer.stamps.started = back;
  answer.header.bytes = static_cast<std::uint32_t>(h.length);
  answer.header.last = true;
  egress_.launch(number, back + context_.nic.send_latency);
}

void Receiver::close(PortNo port) {
  for (std::uint32_t index : rings_.close(port)) {
    reject(context_.packets[index], Status::NoPort, 0, context_.now());
    release(index);
  }
}

void Receiver::land(std::uint32_t index) {
  Packet& packet = context_.packets[index];
  const Header& h = packet.header;
  if ((h.flags & kRegisters) && h.kind != PacketKind::GetData) {
    land_registers(packet);
  } else if (h.kind == PacketKind::GetRequest) {
    answer_get(packet);
  } else if (h.kind == PacketKind::GetData) {
    land_get_data(packet);
  } else if (h.operation == Operation::Message) {
    const bool in_ring = !(h.flags & kCounted) || (counted_flags(h.value) & kToRing);
    if (!in_ring || rings_.land(packet)) {
      arrived(packet, Status::Ok, 0, h.damaged);
    } else {
      reject(packet, Status::NoPort, 0, context_.now());
    }
  } else if (h.atomic()) {
    land_atomic(packet);
  } else {
    land_put(packet);
  }
  release(index);
}

/// The target of a get starts to send.
void Receiver::answer_get(const Packet& packet) {
  const Header& h = packet.header;
  Response response;
  if (h.reliable()) {
    if (sender_.responding(h)) return;  // wanted again while it is being answered
    Incoming& in = incoming_.find_or_add(h);
    in.heard = context_.now();
    incoming_.give_context(in);  // all that this end keeps is in the response
    if (!packet.data.empty()) {
      const std::uint64_t payload = context_.payload_to(h.from);
      response.have.resize((h.length + payload - 1) / payload);
      get_bits(packet.data, h.value, response.have);
    }
  }
  response.request = h;
  response.stamps = packet.stamps;
  response.place = {packet.space, packet.address, packet.shift, packet.stamps.physical};
  sender_.respond(std::move(response));
}

void Receiver::land_get_data(Packet& packet) {
  const Header& h = packet.header;
  Outgoing* x = sender_.find(h);
  if (!x || x->finished) return;
  x->damaged |= h.damaged;
  x->heard = context_.now();
  if (x->reliable()) {
    const std::uint64_t payload = context_.payload_to(h.from), number = h.offset / payload;
    if (x->have.empty()) x->have.resize((x->d.length + payload - 1) / payload);
    if (x->have[number]) return;
    x->have[number] = true;
    x->attempt = 0;  // it goes on
  }
  std::uint64_t at = x->local.address + h.offset;
  if (!context_.memory.write(x->local.space, at, packet.data.data(), packet.data.size())) {
    x->old_value = at;
    return sender_.finish(h.operation_id, Status::BadMemory, context_.now());
  }
  x->arrived += h.bytes;
  x->d.port = h.target_port;
  if (x->arrived < x->d.length) return;
  record(packet);
  sender_.finish(h.operation_id, x->status, packet.stamps.ready);
}

void Receiver::land_put(Packet& packet) {
  const Header& h = packet.header;
  const std::uint64_t payload = context_.payload_to(h.from);
  bool kept = IncomingTable::keeps(h, payload);
  Incoming* in = kept ? &incoming_.find_or_add(h) : nullptr;
  if (in && in->rejected) return drop_rejected(packet, *in);
  if (h.reliable()) {
    std::uint64_t number = h.offset / payload;
    // A notification has no data, but it has a packet.
    if (in->have.empty()) in->have.resize((std::max<std::uint64_t>(h.length, 1) + payload - 1) / payload);
    if (in->have[number]) {
      if (in->complete && h.last) reply(packet, in->status, in->value, in->damaged, context_.now());
      if (!in->complete && h.last) tell_missing(packet, *in);
      return;
    }
    in->have[number] = true;
  }
  std::uint64_t at = packet.address + h.offset;
  if (h.length && !context_.memory.write(packet.space, at, packet.data.data(), packet.data.size()))
    return reject(packet, Status::BadMemory, at, context_.now());
  if (!in) return arrived(packet, Status::Ok, 0, h.damaged);
  in->damaged |= h.damaged;
  in->arrived += h.bytes;
  if (in->arrived < h.length) {
    if (h.reliable() && h.last) tell_missing(packet, *in);
    return;
  }
  bool damaged = in->damaged;
  if (h.reliable()) {
    in->complete = true;
    incoming_.give_context(*in);
  } else {
    incoming_.remove(h);
  }
  arrived(packet, Status::Ok, 0, damaged);
}

/// The last packet of a reliable put is here, and not all before it are: the requester repeats those alone.
/// Of a message: it is here and waits for room.
void Receiver::tell_missing(const Packet& packet, const Incoming& in) {
  std::uint32_t index = context_.new_answer(PacketKind::Missing, packet.header, packet.stamps);
  Packet& answer = context_.packets[index];
  answer.header.value = put_bits(answer.data, in.have, context_.list_room);
  answer.header.bytes = 16 + static_cast<std::uint32_t>(answer.data.size());
  answer.header.crc = crc32(0, answer.data.data(), answer.data.size());
  egress_.launch(index, context_.now() + context_.nic.send_latency);
}

void Receiver::land_atomic(Packet& packet) {
  const Header& h = packet.header;
  Incoming* in = h.reliable() ? &incoming_.find_or_add(h) : nullptr;
  if (in && in->rejected) return;
  if (in && in->begun) return reply(packet, in->status, in->value, in->damaged, context_.now());
  Status status = Status::Ok;
  std::uint64_t value = 0;
  execute_atomic(packet, status, value);
  if (in) {
    in->begun = true;
    in->status = status;
    in->value = value;
  }
  arrived(packet, status, value, h.damaged);
}

void Receiver::execute_atomic(const Packet& packet, Status& status, std::uint64_t& old) {
  const Header& h = packet.header;
  std::uint64_t value = 0;
  if (!context_.memory.read(packet.space, packet.address, &value, 8)) {
    status = Status::BadMemory;
    old = packet.address;
    return;
  }
  old = value;
  bool fits = true;
  switch (h.operation) {
    case Operation::FetchAdd:
      value += h.operand;
      break;
    case Operation::CompareSwap:
      fits = value == h.compare;
      value = h.operand;
      break;
    default:
      fits = static_cast<std::int64_t>(value) <= static_cast<std::int64_t>(h.compare);
      value += h.operand;
  }
  if ((h.flags & kLogical) && h.remote_key == kLocksKey)  // locks have 32 bits, and a sign
    value = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(value)});
  if (fits && !context_.memory.write(packet.space, packet.address, &value, 8)) status = Status::BadMemory;
}

/// The last byte of somebody else's operation is where it belongs.
void Receiver::arrived(const Packet& packet, Status status, std::uint64_t value, bool damaged) {
  Header h = packet.header;
  h.damaged = damaged;
  const bool counts = (h.flags & kCounted) && (counted_flags(h.value) & kCounts);
  if (status == Status::Ok && counts && h.operation != Operation::Message)  // messages have been counted
    status = counted_.take(packet, packet.stamps.ready);
  if (h.reliable()) {
    Incoming& in = incoming_.find_or_add(h);
    in.complete = true;
    in.status = status;
    in.damaged = damaged;
    incoming_.give_context(in);
  }
  if (status == Status::Ok) {
    record(packet);
    bool known = h.target_port < ports_.size();
    if (known && (h.flags & kNotifyRemote) && h.operation != Operation::Message) {
      Event event = event_at_target(context_, h, EventKind::Arrived);
      if (h.atomic()) {
        event.spare[1] = h.operand;
        event.data = value;
      }
      notifier_.notify(h.target_port, ports_[h.target_port].generation, event, packet.stamps.ready);
    }
    if (known && (h.flags & kInterrupt))
      notifier_.interrupt(Interrupt::Asked, h.target_port,
                          event_at_target(context_, h, EventKind::Interrupt));
  }
  if (!h.answered() && status != Status::Ok) ended(h);
  if (h.answered() || status != Status::Ok) return reply(packet, status, value, damaged, context_.now());
  context_.ledger.end({h.from, h.source_port}, h.source_generation);
  ended(h);
}

void Receiver::record(const Packet& packet) {
  if (!context_.recording()) return;
  const Header& h = packet.header;
  const Stamps& t = packet.stamps;
  bool get = h.operation == Operation::Get;
  NicId requester = get ? h.to : h.from, target = get ? h.from : h.to;
  (*context_.on_record)({h.operation, Status::Ok, requester, target, h.source_port, h.target_port, h.length,
                         t.posted, context_.now(), breakdown_of(t, get, context_.now()), t.physical, t.mark});
}

/// Nothing more of the operation is written, and the requester hears why.
void Receiver::reject(const Packet& packet, Status status, std::uint64_t value, Time when) {
  const Header& h = packet.header;
  if (h.kind != PacketKind::GetRequest && IncomingTable::keeps(h, context_.payload_to(h.from))) {
    Incoming& in = incoming_.find_or_add(h);
    if (std::exchange(in.rejected, true)) return;
    in.status = status;
    in.value = value;
    incoming_.give_context(in);
    if (h.last && !h.reliable()) incoming_.remove(h);
  }
  ++counters_.refused;
  notifier_.keep_error({status, h.operation, context_.nodes[h.from], h.source_port, h.remote_key,
                        h.remote_offset, h.length, context_.now()});
  if (ports_.is_open(h.target_port)) {
    Event event = event_at_target(context_, h, EventKind::Interrupt);
    event.status = status;
    notifier_.interrupt(Interrupt::Error, h.target_port, event);
  }
  if (h.last && !h.answered()) ended(h);
  reply(packet, status, value, false, when);
}

/// More of an operation that was refused. Where it is reliable, the answer may have been lost.
void Receiver::drop_rejected(const Packet& packet, const Incoming& in) {
  const Header& h = packet.header;
  if (!h.last) return;
  if (h.reliable()) return reply(packet, in.status, in.value, false, packet.stamps.ready);
  incoming_.remove(h);
  if (!h.answered()) ended(h);
}

/// The target tells the requester how it went.
void Receiver::reply(const Packet& packet, Status status, std::uint64_t value, bool damaged, Time when) {
  std::uint32_t index = context_.new_answer(PacketKind::Reply, packet.header, packet.stamps);
  Header& h = context_.packets[index].header;
  h.status = status;
  h.value = value;
  h.damaged = damaged;
  h.bytes = 16;
  egress_.launch(index, std::max(context_.now(), when) + context_.nic.send_latency);
}

}  // namespace weft::nic
