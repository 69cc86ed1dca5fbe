// From packets the network delivers to memory, rings and events.
#include <algorithm>
#include <utility>

#include "base/crc.hpp"
#include "nic/fabric_state.hpp"

namespace weft::nic {

void Fabric::departed(std::uint32_t index, Time when) {
  Flight& f = (*flights_)[index];
  Nic& n = *nics_[f.from];
  --n.in_window;
  Transfer& x = (*transfers_)[f.transfer];
  bool data = f.kind == Kind::Whole || f.kind == Kind::PutData;
  if (x.generation == f.generation && f.kind == Kind::GetData && f.last && (x.d.flags & kNotifyRemote) &&
      x.d.port < n.ports.size())
    notify(x.to, x.d.port, n.ports[x.d.port].generation, event_for(x, EventKind::Responded, true), when);
  if (x.generation == f.generation && data && f.last && (x.d.flags & kNotifyLocal) && x.attempt == 0)
    notify(x.from, x.from_port, x.port_generation, event_for(x, EventKind::Local, false), when);
  dispatch(f.from);
}

void Fabric::delivered(std::uint32_t index, Time when) {
  Flight& f = (*flights_)[index];
  f.delivered = when;
  if (!f.ordered) {
    if (!f.gone) return receive(index, when);
    return release_flight(index);
  }
  Nic& n = *nics_[f.to];
  if (n.pairs.size() < nics_.size()) n.pairs.resize(nics_.size());
  auto& ports = n.pairs[f.from];
  if (ports.size() <= f.port) ports.resize(f.port + 1);
  PortNo port = f.port;
  if (f.sequence != ports[port].next) {
    ++n.counters.reordered;
    ports[port].early.push_back(index);
    return;
  }
  NicId from = f.from;
  for (;;) {
    ++n.pairs[from][port].next;
    if ((*flights_)[index].gone) {
      release_flight(index);
    } else {
      receive(index, when);
    }
    Pair& waiting = n.pairs[from][port];
    auto follows = std::find_if(waiting.early.begin(), waiting.early.end(), [&](std::uint32_t early) {
      return (*flights_)[early].sequence == waiting.next;
    });
    if (follows == waiting.early.end()) return;
    index = *follows;
    *follows = waiting.early.back();
    waiting.early.pop_back();
  }
}

void Fabric::lost(std::uint32_t index, Time when) {
  Flight& f = (*flights_)[index];
  f.gone = true;
  Transfer& x = (*transfers_)[f.transfer];
  if (x.generation == f.generation && !x.reliable()) {
    x.rejected = true;
    finish(f.transfer, Status::Unreachable, when);
  }
  delivered(index, when);  // its place in the order is taken all the same
}

/// Lets an error pass that no link noticed, now and then; false where a check sum finds it.
bool Fabric::intact(Flight& f) {
  if (p_.corruption <= 0) return true;
  std::uint64_t draw = random_bits(seed_ ^ 0x636f7272, nics_[f.to]->node, ++packets_);
  if (static_cast<double>(draw >> 11) * 0x1p-53 >= p_.corruption) return true;
  Transfer& x = (*transfers_)[f.transfer];
  ++nics_[f.to]->counters.corrupted;
  if (!f.data.empty()) {
    std::uint64_t bit = random_bits(seed_ ^ 0x626974, nics_[f.to]->node, packets_) % (f.data.size() * 8);
    f.data[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
  }
  if (x.reliable()) return !f.data.empty() && crc32(0, f.data.data(), f.data.size()) == f.crc;
  f.damaged = !f.data.empty();  // without data nothing is hit: links repair headers
  return true;
}

/// Checks that the target's memory may be used so; `ready` moves on by the translation.
Status Fabric::place(Flight& f, Transfer& x, Time& ready) {
  Nic& n = *nics_[x.to];
  std::uint32_t rights = x.d.operation == Operation::Get ? kRemoteRead
                         : x.atomic()                    ? kRemoteAtomic
                                                         : kRemoteWrite;
  Status status;
  if (x.d.flags & kPhysical) {
    PhysicalMemory::Behind behind{};
    status = check_physical(n, x.d.remote_offset, x.d.length, behind);
    if (status != Status::Ok) return status;
    x.remote_owner = behind.owner;
    x.remote_address = behind.address;
    x.remote_physical = x.d.remote_offset;
  } else if (x.domain != kNoDomain) {
    DomainTable::Found found;
    status =
        n.domains.check(x.domain, place_of(x.d.remote_key) + x.d.remote_offset, x.d.length, rights, found);
    if (status != Status::Ok) return status;
    x.remote_address = found.address;
    x.remote_owner = found.owner;
    x.d.port = found.port;  // whom events are for
  } else {
    if (x.d.port >= n.ports.size() || !n.ports[x.d.port].open) return Status::NoPort;
    status =
        n.memory.check(x.d.port, x.d.remote_key, x.d.remote_offset, x.d.length, rights, x.remote_address);
    if (status != Status::Ok) return status;
    x.remote_owner = n.ports[x.d.port].owner;
    x.remote_shift = n.memory.shift(x.d.remote_key);
  }
  std::uint64_t length = f.kind == Kind::GetRequest ? 1 : f.length, at = x.remote_address + x.remote_shift;
  ready = ready + translate(n, x, x.remote_owner, at + f.offset, length, ready);
  if (!(x.d.flags & kPhysical)) x.remote_physical = n.physical.translate(x.remote_owner, at).value_or(0);
  if (f.kind != Kind::GetRequest && x.from != x.to) ready = ready + h_.snoop;
  return Status::Ok;
}

void Fabric::receive(std::uint32_t index, Time when) {
  Flight& f = (*flights_)[index];
  Nic& n = *nics_[f.to];
  auto unit = std::min_element(n.receive_free.begin(), n.receive_free.end());
  f.received = std::max(when, *unit);
  *unit = f.received + p_.occupancy;
  f.ready = f.received + p_.receive_latency;
  ++n.counters.packets_received;
  n.counters.bytes_received += packet_bytes(p_, f.length);
  std::uint32_t transfer = f.transfer;
  Transfer& x = (*transfers_)[transfer];
  bool stale = x.generation != f.generation || x.finished || (x.rejected && f.kind != Kind::Reply);
  if (stale || !intact(f)) return release_flight(index);
  switch (f.kind) {
    case Kind::Reply:
      finish(transfer, x.status, f.ready);
      return release_flight(index);
    case Kind::Connect: {
      if (!x.remote_context && n.receive_contexts < p_.receive_contexts) {
        ++n.receive_contexts;
        x.remote_context = true;
      }
      if (!x.remote_context) ++n.counters.context_refusals;
      std::uint32_t answer =
          new_flight(x.remote_context ? Kind::ConnectAck : Kind::ConnectNack, transfer, f.to, f.from);
      launch(answer, f.ready + p_.send_latency);
      return release_flight(index);
    }
    case Kind::ConnectAck:
      if (!x.connected) {
        x.connected = true;
        ++x.epoch;
      }
      release_flight(index);
      return dispatch(x.from);
    case Kind::ConnectNack: {
      ++x.epoch;
      std::uint32_t alarm = flights_->take();
      (*flights_)[alarm].transfer = transfer;
      (*flights_)[alarm].generation = x.generation;
      at(now() + Time{p_.timeout.value / 8 + 1}, Reconnect, alarm);
      return release_flight(index);
    }
    case Kind::GetRequest: {
      x.request_sent = f.sent;
      x.request_delivered = f.delivered;
      Time ready = f.ready;
      Status status = place(f, x, ready);
      if (status != Status::Ok) {
        reject(transfer, status, ready);
        return release_flight(index);
      }
      return at(ready, Data, index);
    }
    case Kind::GetData: {
      Time ready = f.ready + translate(n, x, x.local_owner, x.local_address + x.local_shift + f.offset,
                                       f.length, f.ready);
      f.ready = ready;
      return at(n.bus.to_memory(ready, f.length), Data, index);
    }
    case Kind::PutData:
    case Kind::Whole:
      break;
  }
  if (x.d.operation == Operation::Message) return to_ring(index);
  if (Status status = place(f, x, f.ready); status != Status::Ok) {
    reject(transfer, status, f.ready);
    return release_flight(index);
  }
  Time there =
      x.atomic() ? n.bus.to_memory(n.bus.from_memory(f.ready, 8), 8) : n.bus.to_memory(f.ready, f.length);
  at(there, Data, index);
}

/// A small message goes to the ring of its port, or waits for room: it is never lost.
void Fabric::to_ring(std::uint32_t index) {
  Flight& f = (*flights_)[index];
  Transfer& x = (*transfers_)[f.transfer];
  Nic& n = *nics_[f.to];
  if (x.d.port >= n.ports.size() || !n.ports[x.d.port].open) {
    reject(f.transfer, Status::NoPort, f.ready);
    return release_flight(index);
  }
  if (x.arrived) {  // came twice: its answer may have been lost
    if (x.complete) reply(f.transfer, f.ready);
    return release_flight(index);
  }
  x.arrived = 1;
  Port& port = n.ports[x.d.port];
  f.ring_generation = port.generation;
  if (!port.held.empty() || port.messages + port.messages_coming >= port.ring_slots) {
    ++n.counters.messages_held;
    ++n.held;
    port.held.push_back(index);
    ++port.watchdogs;
    return at(now() + p_.watchdog, Watchdog, f.to << 16 | x.d.port);
  }
  ++port.messages_coming;
  at(n.bus.to_memory(f.ready, f.length + 16), Data, index);
}

/// There is room again for messages whose rings are full: links go on.
void Fabric::let_senders_go(Nic& n) {
  if (n.held >= p_.hold_slots) return;
  for (NicId sender : std::exchange(n.stopped, {})) dispatch(sender);
}

void Fabric::land(std::uint32_t index) {
  Flight& f = (*flights_)[index];
  std::uint32_t transfer = f.transfer;
  Transfer& x = (*transfers_)[transfer];
  Nic& n = *nics_[f.to];
  bool message = f.kind == Kind::Whole && x.d.operation == Operation::Message;
  // The port may be another process's by now.
  bool same_port = message && n.ports[x.d.port].generation == f.ring_generation;
  if (same_port) --n.ports[x.d.port].messages_coming;
  if (x.generation != f.generation || x.finished || x.rejected) return release_flight(index);
  if (f.kind == Kind::GetRequest) {
    respond(transfer);
    return release_flight(index);
  }
  x.started = f.started;
  x.sent = f.sent;
  x.delivered = f.delivered;
  x.received = f.received;
  x.ready = f.ready;
  x.visible = now();
  if (f.damaged) x.damaged = true;
  if (!message) {
    land_data(f, x);
    return release_flight(index);
  }
  Port& port = n.ports[x.d.port];
  if (!port.open || !same_port) {
    reject(transfer, Status::NoPort, now());
    return release_flight(index);
  }
  Message m;
  m.time = now().value;
  m.node = nics_[x.from]->node;
  m.port = x.from_port;
  m.tag = x.d.tag;
  m.length = static_cast<std::uint16_t>(f.length);
  m.flags = static_cast<std::uint16_t>((x.d.flags & kMore) | (f.damaged ? kDamaged : 0));
  m.sequence = f.sequence;
  std::copy(f.data.begin(), f.data.end(), m.data);
  ++port.messages;
  queue_.stop();
  host_.message({f.to, x.d.port}, m);
  arrived(transfer);
  release_flight(index);
}

void Fabric::land_data(Flight& f, Transfer& x) {
  if (x.atomic()) {
    if (x.executed) return reply(f.transfer, now());
    execute_atomic(x);
    return arrived(f.transfer);
  }
  if (x.reliable()) {
    std::uint64_t packet = f.offset / payload_;
    if (x.have.empty()) x.have.resize((x.d.length + payload_ - 1) / payload_);
    if (x.have[packet]) {
      if (x.complete && f.last && f.kind != Kind::GetData) reply(f.transfer, now());
      return;
    }
    x.have[packet] = true;
  }
  bool get = f.kind == Kind::GetData;
  std::uint64_t at = (get ? x.local_address : x.remote_address) + f.offset;
  if (!host_.write(get ? x.local_owner : x.remote_owner, at, f.data.data(), f.data.size())) {
    x.old_value = at;
    return get ? finish(f.transfer, Status::BadMemory, now()) : reject(f.transfer, Status::BadMemory, now());
  }
  x.arrived += f.length;
  if (x.arrived >= x.d.length) arrived(f.transfer);
}

void Fabric::execute_atomic(Transfer& x) {
  x.executed = true;
  std::uint64_t value = 0;
  if (!host_.read(x.remote_owner, x.remote_address, &value, 8)) {
    x.status = Status::BadMemory;
    x.old_value = x.remote_address;
    return;
  }
  x.old_value = value;
  bool fits = true;
  switch (x.d.operation) {
    case Operation::FetchAdd:
      value += x.d.operand;
      break;
    case Operation::CompareSwap:
      fits = value == x.d.compare;
      value = x.d.operand;
      break;
    default:
      fits = static_cast<std::int64_t>(value) <= static_cast<std::int64_t>(x.d.compare);
      value += x.d.operand;
  }
  if (fits && !host_.write(x.remote_owner, x.remote_address, &value, 8)) x.status = Status::BadMemory;
}

/// The last byte is where it belongs.
void Fabric::arrived(std::uint32_t index) {
  Transfer& x = (*transfers_)[index];
  Nic& target = *nics_[x.to];
  bool get = x.d.operation == Operation::Get;
  x.complete = true;
  if (on_record && x.status == Status::Ok) {
    Record record{x.d.operation, Status::Ok,       x.from, x.to, x.from_port,      x.d.port,
                  x.d.length,    Time{x.d.posted}, now(),  {},   x.remote_physical};
    Time* part = record.parts.part;
    part[Breakdown::HostBus] = x.at_chip - Time{x.d.posted};
    part[Breakdown::Queue] = (get ? x.first_started : x.started) - x.at_chip;
    part[Breakdown::Nic] = get ? x.request_sent - x.first_started : x.sent - x.started;
    part[Breakdown::Wire] = x.delivered - x.sent;
    part[Breakdown::RemoteQueue] = x.received - x.delivered;
    part[Breakdown::RemoteNic] = x.ready - x.received;
    part[Breakdown::RemoteBus] = x.visible - x.ready;
    if (get) {
      part[Breakdown::Wire] = part[Breakdown::Wire] + (x.request_delivered - x.request_sent);
      part[Breakdown::RemoteNic] = part[Breakdown::RemoteNic] + (x.sent - x.request_delivered);
    }
    on_record(record);
  }
  bool tell_target =
      (x.d.flags & kNotifyRemote) && x.d.operation != Operation::Message && !get && x.status == Status::Ok;
  if (tell_target && x.d.port < target.ports.size())
    notify(x.to, x.d.port, target.ports[x.d.port].generation, event_for(x, EventKind::Arrived, true),
           x.ready);
  if ((x.d.flags & kInterrupt) && x.status == Status::Ok && x.d.port < target.ports.size())
    interrupt(x.to, {Interrupt::Cause::Asked, nics_[x.from]->node, x.d.port, now()},
              event_for(x, EventKind::Interrupt, true), target.ports[x.d.port].generation);
  if (get) return finish(index, x.status, x.ready);
  if (x.atomic() || x.reliable() || (x.d.flags & kNotifyDone) || x.status != Status::Ok)
    return reply(index, now());
  finish(index, Status::Ok, now());
}

/// The cause lies in memory before the processor is interrupted, so that the handler need not ask the
/// interface.
void Fabric::interrupt(NicId nic, const Interrupt& entry, const Event& event, std::uint32_t generation) {
  Nic& n = *nics_[nic];
  ++n.counters.interrupts;
  if (n.interrupts.size() == p_.interrupt_slots) n.interrupts.pop_front();
  n.interrupts.push_back(entry);
  std::uint32_t index = tellings_.take();
  tellings_[index] = {nic, entry.port, generation, event};
  at(now() + h_.interrupt, Tell, index);
}

/// The target refuses: nothing more of the operation is written, and the requester hears why.
void Fabric::reject(std::uint32_t index, Status status, Time when) {
  Transfer& x = (*transfers_)[index];
  if (x.finished || x.rejected) return;
  x.rejected = true;
  x.status = status;
  Nic& target = *nics_[x.to];
  ++target.counters.refused;
  if (p_.error_slots) {
    if (target.errors.size() == p_.error_slots) target.errors.pop_front();
    target.errors.push_back({status, x.d.operation, nics_[x.from]->node, x.from_port, x.d.remote_key,
                             x.d.remote_offset, x.d.length, now()});
  }
  reply(index, when);
}

}  // namespace weft::nic
