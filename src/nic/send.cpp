// From a descriptor on the chip to packets in the network.
#include <algorithm>
#include <utility>

#include "base/crc.hpp"
#include "nic/fabric_state.hpp"

namespace weft::nic {

namespace {

constexpr std::uint64_t kStage = 64 * 1024;  // read from a process at once

}  // namespace

Status Fabric::check(const Nic& nic, const Transfer& x) const {
  const Descriptor& d = x.d;
  if (d.operation < Operation::Message || d.operation > Operation::BoundedAdd || (d.flags & ~kAllFlags))
    return Status::BadOperation;
  if (nic_of_node(d.node) == kNobody) return Status::BadNode;
  if (d.flags & kPhysical) {
    if (!nic.ports[x.from_port].kernel) return Status::NoRight;
    if (d.operation == Operation::Message || (d.flags & kGlobal)) return Status::BadOperation;
  }
  if (d.flags & kGlobal) {
    // Nobody reaches beyond the domain of his port, whatever his descriptors say.
    if (d.operation == Operation::Message) return Status::BadOperation;
    if (d.port != nic.ports[x.from_port].domain || d.port == kNoDomain) return Status::NoRight;
    if (d.remote_offset >= kPlaces - place_of(d.remote_key)) return Status::BadRange;
  }
  auto limit = [&](DataSize most) {
    return d.length <= static_cast<std::uint64_t>(most.value) ? Status::Ok : Status::BadLength;
  };
  std::uint64_t ignored;
  switch (d.operation) {
    case Operation::Message:
      return limit(p_.message_limit);
    case Operation::ImmediatePut:
      return d.length == 0 ? Status::BadLength : limit(p_.immediate_limit);
    case Operation::Put:
    case Operation::Get:
      if (d.length == 0 || limit(p_.rdma_limit) != Status::Ok) return Status::BadLength;
      if (PhysicalMemory::Behind behind; d.flags & kPhysical)
        return check_physical(nic, d.local_offset, d.length, behind);
      // A channel is a protection domain's; the kernel has its own.
      if (p_.channels && nic.ports[x.from_port].domain == kNoDomain) return Status::NoRight;
      return nic.memory.check(x.from_port, d.local_key, d.local_offset, d.length, 0, ignored);
    default:
      return (d.remote_offset + (d.flags & kGlobal ? d.remote_key : 0)) % 8 ? Status::BadRange : Status::Ok;
  }
}

void Fabric::reach_chip(std::uint32_t index) {
  Transfer& x = (*transfers_)[index];
  Nic& n = *nics_[x.from];
  Port& port = n.ports[x.from_port];
  --port.on_the_way;
  x.at_chip = now();
  if (x.d.flags & kGlobal) x.d.node = node_of(x.d.remote_key);
  Status status = port.generation == x.port_generation ? check(n, x) : Status::Closed;
  NicId to = nic_of_node(x.d.node);
  x.to = to == kNobody ? x.from : to;
  if (status != Status::Ok) {
    leave_queue(x);
    ++port.unfinished;  // as if it had begun: finishing it counts down
    return finish(index, status, now());
  }
  if (x.d.flags & kGlobal) x.domain = x.d.port;
  if (x.atomic()) x.d.length = 8;
  if (x.d.operation != Operation::Put && x.d.operation != Operation::Get) {
  } else if (x.d.flags & kPhysical) {
    PhysicalMemory::Behind behind{};
    check_physical(n, x.d.local_offset, x.d.length, behind);
    x.local_owner = behind.owner;
    x.local_address = behind.address;
  } else {
    n.memory.check(x.from_port, x.d.local_key, x.d.local_offset, x.d.length, 0, x.local_address);
    x.local_shift = n.memory.shift(x.d.local_key);
  }
  switch (x.d.operation) {
    case Operation::Message:
      ++n.counters.messages;
      break;
    case Operation::Put:
    case Operation::ImmediatePut:
      ++n.counters.puts;
      break;
    case Operation::Get:
      ++n.counters.gets;
      break;
    default:
      ++n.counters.atomics;
  }
  if (port.queue.empty()) n.working.push_back(x.from_port);
  port.queue.push_back(index);
  x.queued = true;
  n.counters.deepest_queue = std::max<std::uint64_t>(n.counters.deepest_queue, port.queue.size());
  dispatch(x.from);
}

/// Round-robin over the ports that have work: one packet each, so that a long put delays nobody else's
/// messages.
void Fabric::dispatch(NicId nic) {
  Nic& n = *nics_[nic];
  if (n.dispatching) return;  // an operation ended while its last packet was made: the loop below goes on
  n.dispatching = true;
  serve(nic);
  n.dispatching = false;
}

void Fabric::serve(NicId nic) {
  Nic& n = *nics_[nic];
  while (!n.working.empty()) {
    auto unit =
        static_cast<unsigned>(std::min_element(n.unit_free.begin(), n.unit_free.end()) - n.unit_free.begin());
    if (n.unit_free[unit] > now()) {
      if (n.dispatch_at > n.unit_free[unit]) {
        n.dispatch_at = n.unit_free[unit];
        at(n.dispatch_at, Dispatch, nic);
      }
      return;
    }
    if (n.in_window >= p_.window) {
      ++n.counters.window_stalls;
      return;
    }
    std::size_t tried = 0;
    std::deque<std::uint32_t>* queue = nullptr;
    for (; tried < n.working.size(); ++tried) {
      if (n.turn >= n.working.size()) n.turn = 0;
      PortNo port = n.working[n.turn];
      queue = port == kNobody ? &n.responses : &n.ports[port].queue;
      Transfer& head = (*transfers_)[queue->front()];
      if (port == kNobody || head.finished || !blocked(n, head)) break;
      ++n.turn;
    }
    if (tried == n.working.size()) return;
    std::uint32_t index = queue->front();
    Transfer& x = (*transfers_)[index];
    if (x.finished) {
      x.issued = x.d.length;  // refused on the way: the rest stays here
    } else {
      issue(nic, x, index, unit);
    }
    bool all =
        n.working[n.turn] == kNobody || x.d.operation == Operation::Put ? x.issued >= x.d.length : true;
    if (all) {
      PortNo port = n.working[n.turn];
      queue->pop_front();
      if (queue->empty()) {
        n.working.erase(n.working.begin() + static_cast<std::ptrdiff_t>(n.turn));
      } else {
        ++n.turn;
      }
      x.queued = false;
      if (port != kNobody) {
        leave_queue(x);
        if (x.d.operation == Operation::Put) leave_channel(x, index);  // a get has it until its data is here
      }
      release_transfer(index);
    } else {
      ++n.turn;
    }
  }
}

bool Fabric::blocked(Nic& n, Transfer& x) {
  Port& port = n.ports[x.from_port];
  bool fresh = x.first_started.value == 0;
  if (fresh && (x.d.flags & kFence) && port.unfinished) return true;
  Nic& target = *nics_[x.to];
  if (fresh && p_.hold_slots && target.held >= p_.hold_slots) {
    // Its rings are full and so is its room for what waits: links bring no more, and senders stand.
    n.counters.held_back += !std::exchange(x.held_back, true);
    if (std::find(target.stopped.begin(), target.stopped.end(), x.from) == target.stopped.end())
      target.stopped.push_back(x.from);
    return true;
  }
  if (x.reliable() && !x.connected) {
    if (!x.connecting) start_connection(x.from, x, port.queue.front());
    return true;
  }
  bool rdma = x.d.operation == Operation::Put || x.d.operation == Operation::Get;
  if (!p_.channels || !rdma || x.channel != kNoDomain) return false;
  auto channel = n.channels.find(port.domain);
  if (channel == n.channels.end()) return false;  // the kernel's
  if (channel->second != kNobody) {
    n.counters.channel_waits += !std::exchange(x.waited_for_channel, true);
    return true;
  }
  channel->second = port.queue.front();
  x.channel = port.domain;
  return false;
}

/// The DMA channel is free for the next put or get of its domain.
void Fabric::leave_channel(Transfer& x, std::uint32_t index) {
  if (x.channel == kNoDomain) return;
  auto channel = nics_[x.from]->channels.find(std::exchange(x.channel, kNoDomain));
  if (channel != nics_[x.from]->channels.end() && channel->second == index) channel->second = kNobody;
}

std::uint32_t Fabric::new_flight(Kind kind, std::uint32_t transfer, NicId from, NicId to) {
  std::uint32_t index = flights_->take();
  Flight& f = (*flights_)[index];
  auto data = std::move(f.data);
  data.clear();
  f = {};
  f.data = std::move(data);  // keeps its room
  f.kind = kind;
  f.transfer = transfer;
  Transfer& x = (*transfers_)[transfer];
  f.generation = x.generation;
  ++x.flights;
  f.from = from;
  f.to = to;
  f.port = x.from_port;
  return index;
}

void Fabric::issue(NicId nic, Transfer& x, std::uint32_t index, unsigned unit) {
  Nic& n = *nics_[nic];
  bool response = n.working[n.turn] == kNobody;
  if (!response && x.first_started.value == 0) {
    x.first_started = now();
    ++n.ports[x.from_port].unfinished;
  }
  n.unit_free[unit] = now() + p_.occupancy;
  n.counters.busy += p_.occupancy;
  bool put = x.d.operation == Operation::Put;
  Kind kind = response                          ? Kind::GetData
              : put                             ? Kind::PutData
              : x.d.operation == Operation::Get ? Kind::GetRequest
                                                : Kind::Whole;
  if (response || put) {
    // A repetition skips what is there. The last packet goes in any case: the answer to it may have been
    // lost.
    std::uint64_t last = (x.d.length - 1) / payload_ * payload_;
    while (!x.have.empty() && x.issued < last && x.have[x.issued / payload_]) x.issued += payload_;
  }
  std::uint32_t flight = new_flight(kind, index, nic, response ? x.from : x.to);
  Flight& f = (*flights_)[flight];
  f.started = now();
  f.ordered = !response;
  Time on_chip = now();
  if (response || put) {
    f.offset = x.issued;
    f.length = static_cast<std::uint32_t>(std::min(payload_, x.d.length - x.issued));
    x.issued += f.length;
    f.last = x.issued >= x.d.length;
    on_chip = response ? data_on_chip(n, x, f, x.remote_owner, x.remote_address, now())
                       : data_on_chip(n, x, f, x.local_owner, x.local_address, now());
    if (f.data.empty()) {  // the memory is gone
      x.old_value = (response ? x.remote_address : x.local_address) + f.offset;
      release_flight(flight);
      x.issued = x.d.length;
      if (response) {
        reject(index, Status::BadMemory, now());
      } else {
        finish(index, Status::BadMemory, now());
      }
      return;
    }
    if (put && f.offset == 0 && x.first_data.value)
      on_chip = std::max(now(), x.first_data);  // fetched while connecting
  } else {
    f.last = true;
    f.length = kind == Kind::Whole ? static_cast<std::uint32_t>(x.d.length) : 16;
    if (x.carries_inline()) f.data.assign(x.d.data, x.d.data + x.d.length);
    if (kind == Kind::GetRequest) x.issued = 0;
  }
  if (x.reliable()) {
    f.crc = crc32(0, f.data.data(), f.data.size());
    if (f.last && !response) {
      std::uint32_t alarm = flights_->take();  // only its numbers are used
      (*flights_)[alarm].transfer = index;
      (*flights_)[alarm].generation = x.generation;
      (*flights_)[alarm].sequence = x.epoch;
      at(now() + p_.timeout, Timeout, alarm);
    }
  }
  launch(flight, on_chip + p_.send_latency);
}

/// Reads a packet's data from a process; returns when the chip has it. No data: the memory is not there.
Time Fabric::data_on_chip(Nic& n, Transfer& x, Flight& f, std::uint32_t owner, std::uint64_t address,
                          Time from) {
  if (f.offset < x.staged || f.offset + f.length > x.staged + x.staging.size()) {
    x.staged = f.offset;
    x.staging.resize(std::min(kStage, x.d.length - f.offset));
    if (!host_.read(owner, address + f.offset, x.staging.data(), x.staging.size())) {
      x.staging.clear();
      return from;
    }
  }
  const std::uint8_t* begin = x.staging.data() + (f.offset - x.staged);
  f.data.assign(begin, begin + f.length);
  bool response = f.kind == Kind::GetData;
  std::uint64_t shift = response ? x.remote_shift : x.local_shift;
  Time translated = from + translate(n, x, owner, address + shift + f.offset, f.length, from);
  if (response && x.from != x.to) translated = translated + h_.snoop;
  return n.bus.from_memory(translated, f.length);
}

Time Fabric::translate(Nic& n, const Transfer& x, std::uint32_t owner, std::uint64_t address,
                       std::uint64_t length, Time from) {
  if (!(x.d.flags & kPhysical)) return n.translation.translate(owner, address, length, from);
  ++n.counters.untranslated;
  return {0};
}

void Fabric::launch(std::uint32_t index, Time when) {
  Flight& f = (*flights_)[index];
  Nic& n = *nics_[f.from];
  f.sent = when;
  if (f.ordered && p_.in_order) {
    auto& sequences = n.ports[f.port].next_sequence;
    if (sequences.size() < nics_.size()) sequences.resize(nics_.size());
    f.sequence = sequences[f.to]++;
  } else {
    f.ordered = false;
  }
  ++n.in_window;
  ++n.counters.packets_sent;
  std::uint64_t bytes = packet_bytes(p_, f.length);
  n.counters.bytes_sent += bytes;
  bool answer = f.kind == Kind::GetData || f.kind == Kind::Reply || f.kind == Kind::ConnectAck ||
                f.kind == Kind::ConnectNack;
  network::Packet packet{n.node, nics_[f.to]->node, bytes,
                         static_cast<std::uint8_t>(answer && classes_ > 1 ? 1 : 0), index};
  if (f.from == f.to) return at(when, Loopback, index);  // the network is not asked
  network_.send(packet, when);
}

/// The target tells the requester how it went.
void Fabric::reply(std::uint32_t index, Time when) {
  Transfer& x = (*transfers_)[index];
  std::uint32_t flight = new_flight(Kind::Reply, index, x.to, x.from);
  (*flights_)[flight].length = 16;
  launch(flight, std::max(now(), when) + p_.send_latency);
}

/// The target of a get starts to send.
void Fabric::respond(std::uint32_t index) {
  Transfer& x = (*transfers_)[index];
  if (x.queued) return;  // asked for again while it is being answered
  Nic& n = *nics_[x.to];
  x.issued = 0;
  x.staging.clear();
  x.queued = true;
  if (n.responses.empty()) n.working.push_back(kNobody);
  n.responses.push_back(index);
  dispatch(x.to);
}

void Fabric::start_connection(NicId nic, Transfer& x, std::uint32_t index) {
  Nic& n = *nics_[nic];
  if (!x.has_context) {
    if (n.send_contexts >= p_.send_contexts) {
      ++n.counters.context_pauses;
      return;  // goes on when another operation is done
    }
    ++n.send_contexts;
    x.has_context = true;
  }
  x.connecting = true;
  if (x.d.operation == Operation::Put && x.first_data.value == 0)
    x.first_data = n.bus.from_memory(now(), static_cast<std::int64_t>(std::min(payload_, x.d.length)));
  std::uint32_t flight = new_flight(Kind::Connect, index, nic, x.to);
  launch(flight, now() + p_.send_latency);
  std::uint32_t alarm = flights_->take();
  (*flights_)[alarm].transfer = index;
  (*flights_)[alarm].generation = x.generation;
  (*flights_)[alarm].sequence = x.epoch;
  at(now() + p_.timeout, Timeout, alarm);
}

void Fabric::time_out(std::uint32_t index, std::uint32_t epoch) {
  Transfer& x = (*transfers_)[index];
  if (x.finished || x.epoch != epoch) return;
  Nic& n = *nics_[x.from];
  ++x.epoch;
  ++x.attempt;
  if (x.attempt > p_.retries) {
    if (x.queued && x.issued == 0 && !x.connected) {  // still at the head of its queue
      Port& port = n.ports[x.from_port];
      std::erase(port.queue, index);
      if (port.queue.empty()) std::erase(n.working, x.from_port);
      x.queued = false;
      leave_queue(x);
      ++port.unfinished;
    }
    return finish(index, Status::TimedOut, now());
  }
  ++n.counters.retries;
  if (!x.connected) {
    x.connecting = false;
    return dispatch(x.from);
  }
  if (x.queued) return;  // a get that is being answered, or a put not wholly sent: a later alarm sees to it
  if (x.d.operation != Operation::Get) x.issued = 0;
  Port& port = n.ports[x.from_port];
  if (port.queue.empty()) n.working.push_back(x.from_port);
  port.queue.push_front(index);
  x.queued = true;
  dispatch(x.from);
}

}  // namespace weft::nic
