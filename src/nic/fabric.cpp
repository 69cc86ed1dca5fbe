#include "nic/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "nic/fabric_state.hpp"

namespace weft::nic {

const char* Breakdown::name(int part) {
  static constexpr const char* names[] = {"host bus",     "queue",      "nic",       "wire",
                                          "remote queue", "remote nic", "remote bus"};
  return names[part];
}

Fabric::Fabric(const machine::Machine& machine, network::Network& network, event::EventQueue& queue,
               Host& host, const std::vector<network::EndpointId>& nodes, std::uint64_t seed)
    : p_(machine.description.nic),
      h_(machine.description.host),
      network_(network),
      queue_(queue),
      component_(queue.join(*this)),
      host_(host),
      seed_(seed),
      classes_(machine.description.router.message_classes),
      nic_of_node_(machine.graph->endpoints(), kNobody),
      transfers_(std::make_unique<Slab<Transfer>>()),
      flights_(std::make_unique<Slab<Flight>>()) {
  auto header = static_cast<std::uint64_t>(p_.header.value);
  auto needed =
      header + static_cast<std::uint64_t>(std::max(p_.message_limit.value, p_.immediate_limit.value));
  std::uint64_t largest = network.largest_packet();
  if (needed > largest)
    throw UserError({{machine.description.origin("nic.message_limit"), "nic.message_limit",
                      fmt::format("a message with its header has {} bytes, the network's packets at most {}",
                                  needed, largest)}});
  payload_ = std::min(static_cast<std::uint64_t>(p_.payload.value), largest - header);
  for (network::EndpointId node : nodes) {
    WEFT_CHECK(node < nic_of_node_.size() && nic_of_node_[node] == kNobody, "a node named twice");
    nic_of_node_[node] = static_cast<NicId>(nics_.size());
    nics_.push_back(std::make_unique<Nic>(p_, h_, seed, node));
    nics_.back()->buffers.resize(std::min(p_.queue_buffers, p_.memory_queues));
  }
}

Fabric::~Fabric() = default;

network::EndpointId Fabric::node(NicId nic) const { return nics_[nic]->node; }

NicId Fabric::nic_of_node(std::uint32_t node) const {
  return node < nic_of_node_.size() ? nic_of_node_[node] : kNobody;
}

Status Fabric::open_among(NicId nic, std::uint32_t owner, PortNo first, PortNo end, PortNo& port) {
  if (!p_.queue_slots || !p_.message_slots || !p_.event_slots) return Status::NoRoom;
  Nic& n = *nics_[nic];
  for (PortNo i = first; i < end; ++i) {
    if (i >= n.ports.size()) n.ports.resize(i + 1);
    Port& p = n.ports[i];
    if (p.open || !p.queue.empty() || p.on_the_way) continue;
    std::uint32_t generation = p.generation + 1;
    auto sequences = std::move(p.next_sequence);  // receivers count on
    p = {};
    p.open = true;
    p.owner = owner;
    p.generation = generation;
    p.ring_slots = p_.message_slots;
    p.next_sequence = std::move(sequences);
    port = i;
    return Status::Ok;
  }
  return Status::NoRoom;
}

Status Fabric::open(NicId nic, std::uint32_t owner, bool memory_queue, PortNo& port, unsigned slots) {
  if (slots > p_.message_slots) return Status::BadLength;
  PortNo first_queue = p_.ports - p_.memory_queues;
  // The kind asked for, or else the other: programs need not know what an interface has.
  for (bool memory : {memory_queue, !memory_queue}) {
    if (open_among(nic, owner, memory ? first_queue : p_.kernel_ports, memory ? p_.ports : first_queue,
                   port) != Status::Ok)
      continue;
    Port& opened = nics_[nic]->ports[port];
    opened.memory_queue = memory;
    if (slots) opened.ring_slots = slots;
    return Status::Ok;
  }
  return Status::NoRoom;
}

Status Fabric::open_for_kernel(NicId nic, std::uint32_t owner, PortNo& port) {
  if (!p_.kernel_ports) return Status::NoRight;
  Status status = open_among(nic, owner, 0, p_.kernel_ports, port);
  if (status == Status::Ok) nics_[nic]->ports[port].kernel = true;
  return status;
}

unsigned Fabric::ring_slots(PortRef ref) const { return nics_[ref.nic]->ports[ref.port].ring_slots; }

void Fabric::close(PortRef ref) {
  Nic& n = *nics_[ref.nic];
  Port& port = n.ports[ref.port];
  if (!port.open) return;
  port.open = false;
  for (const Region& r : n.memory.remove_port(ref.port))
    n.physical.unpin(port.owner, r.address, r.length, r.shift);
  if (port.domain != kNoDomain) {
    for (const DomainTable::Region& r : n.domains.leave(port.domain, ref.port))
      n.physical.unpin(port.owner, r.address, r.length, 0);
    if (!n.domains.has(port.domain)) n.channels.erase(port.domain);
  }
  port.domain = kNoDomain;
  n.held -= static_cast<unsigned>(port.held.size());
  for (std::uint32_t flight : std::exchange(port.held, {})) {
    reject((*flights_)[flight].transfer, Status::NoPort, now());
    release_flight(flight);
  }
  port.held_events.clear();
  let_senders_go(n);
}

void Fabric::post(PortRef ref, const Descriptor& descriptor) {
  Nic& n = *nics_[ref.nic];
  Port& port = n.ports[ref.port];
  std::uint32_t index = transfers_->take();
  Transfer& x = (*transfers_)[index];
  std::uint32_t generation = x.generation;
  x = {};
  x.generation = generation;
  x.d = descriptor;
  x.from = ref.nic;
  x.from_port = ref.port;
  x.port_generation = port.generation;
  x.owner = x.local_owner = port.owner;
  ++port.on_the_way;
  at(std::max(now(), Time{x.d.posted}), Post, index);
}

bool Fabric::busy(PortRef ref) const {
  const Port& port = nics_[ref.nic]->ports[ref.port];
  return port.on_the_way || !port.queue.empty() || port.unfinished;
}

void Fabric::consumed(PortRef ref, unsigned messages, unsigned events) {
  Nic& n = *nics_[ref.nic];
  Port& port = n.ports[ref.port];
  port.messages -= std::min(port.messages, messages);
  port.events -= std::min(port.events, events);
  while (!port.held.empty() && port.messages + port.messages_coming < port.ring_slots) {
    std::uint32_t flight = port.held.front();
    port.held.pop_front();
    --n.held;
    ++port.messages_coming;
    Flight& f = (*flights_)[flight];
    f.ready = std::max(f.ready, now());
    at(std::max(now(), n.bus.to_memory(f.ready, f.length + 16)), Data, flight);
  }
  while (!port.held_events.empty() && port.events < p_.event_slots) {
    Event event = port.held_events.front();
    port.held_events.pop_front();
    event.time = now().value;
    ++port.events;
    queue_.stop();
    host_.event(ref, event);
  }
  let_senders_go(n);
}

void Fabric::core_stalled(PortRef ref, Time time, bool ended) {
  Counters& counters = nics_[ref.nic]->counters;
  ++counters.core_stalls;
  counters.core_stall_time += time;
  counters.watchdog_ends += ended;
}

void Fabric::at(Time when, What what, std::uint32_t index) { queue_.at(when, component_, what, index); }

bool Fabric::idle() const { return queue_.empty() && network_.idle(); }

bool Fabric::advance(Time until) {
  queue_.go_on();
  while (!queue_.stopped()) {
    Time next = queue_.next();
    if (next == network::kForever && until == network::kForever && network_.idle()) return false;
    notices_.clear();
    network_.advance(std::min(until, next), notices_);
    if (!notices_.empty()) {
      check_time(notices_.front().at);
      queue_.advance_to(notices_.front().at);
      for (const network::Notice& notice : notices_) {
        auto flight = static_cast<std::uint32_t>(notice.tag);
        switch (notice.kind) {
          case network::Notice::Kind::Departed:
            departed(flight, notice.at);
            break;
          case network::Notice::Kind::Delivered:
            delivered(flight, notice.at);
            break;
          case network::Notice::Kind::Lost:
            lost(flight, notice.at);
            break;
        }
      }
      continue;
    }
    if (next > until || next == network::kForever) {
      if (until != network::kForever) {
        check_time(std::max(now(), until));
        queue_.advance_to(std::max(now(), until));
      }
      return queue_.stopped();
    }
    check_time(next);
    do queue_.step();
    while (queue_.next() == now());
  }
  return true;
}

void Fabric::handle(const event::Event& due) {
  auto index = static_cast<std::uint32_t>(due.data);
  switch (due.kind) {
    case Post:
      return submit(index);
    case Fetch:
      return fetch(index);
    case Ready:
      return reach_chip(index);
    case Dispatch:
      nics_[index]->dispatch_at = network::kForever;
      return dispatch(index);
    case Loopback:
      departed(index, now());
      return delivered(index, now());
    case Data:
      return land(index);
    case Tell:
      return tell(index);
    case Watchdog: {
      Nic& n = *nics_[index >> 16];
      Port& port = n.ports[index & 0xffff];
      if (--port.watchdogs == 0 && !port.held.empty() && port.open) {
        Event event;
        event.kind = EventKind::Stalled;
        event.node = n.node;
        event.port = index & 0xffff;
        event.length = port.held.size();
        notify(index >> 16, index & 0xffff, port.generation, event, now());
      }
      return;
    }
    case Timeout: {
      std::uint32_t transfer = (*flights_)[index].transfer, generation = (*flights_)[index].generation;
      std::uint32_t attempt = (*flights_)[index].sequence;
      flights_->give(index);
      if ((*transfers_)[transfer].generation == generation) time_out(transfer, attempt);
      return;
    }
    case Reconnect: {
      std::uint32_t transfer = (*flights_)[index].transfer, generation = (*flights_)[index].generation;
      flights_->give(index);
      Transfer& x = (*transfers_)[transfer];
      if (x.generation != generation || x.finished || x.connected) return;
      x.connecting = false;
      return dispatch(x.from);
    }
  }
}

Fabric::Port* Fabric::live_port(NicId nic, PortNo port, std::uint32_t generation) {
  Nic& n = *nics_[nic];
  if (port >= n.ports.size() || !n.ports[port].open || n.ports[port].generation != generation) return nullptr;
  return &n.ports[port];
}

void Fabric::notify(NicId nic, PortNo port, std::uint32_t generation, const Event& event, Time when) {
  std::uint32_t index = tellings_.take();
  tellings_[index] = {nic, port, generation, event};
  at(std::max(now(), nics_[nic]->bus.to_memory(when, 16)), Tell, index);
}

void Fabric::tell(std::uint32_t index) {
  Telling telling = tellings_[index];
  tellings_.give(index);
  Port* port = live_port(telling.nic, telling.port, telling.generation);
  if (!port) return;
  telling.event.time = now().value;
  if (port->events >= p_.event_slots || !port->held_events.empty()) {
    ++nics_[telling.nic]->counters.events_held;
    if (port->held_events.empty()) {
      Event overflow;
      overflow.kind = EventKind::Overflow;
      overflow.node = nics_[telling.nic]->node;
      overflow.port = telling.port;
      port->held_events.push_back(overflow);
    }
    port->held_events.push_back(telling.event);
    return;
  }
  ++port->events;
  queue_.stop();
  host_.event({telling.nic, telling.port}, telling.event);
}

Event Fabric::event_for(const Transfer& x, EventKind kind, bool at_target) const {
  Event event;
  event.kind = kind;
  event.operation = x.d.operation;
  event.status = x.damaged && x.status == Status::Ok ? Status::Damaged : x.status;
  event.node = at_target ? nics_[x.from]->node : x.d.node;
  event.port = at_target ? x.from_port : x.d.port;
  event.tag = x.d.tag;
  event.length = x.d.length;
  event.context = at_target ? 0 : x.d.context;
  event.data = at_target ? x.d.operand : x.old_value;
  return event;
}

void Fabric::finish(std::uint32_t index, Status status, Time when) {
  Transfer& x = (*transfers_)[index];
  if (x.finished) return;
  x.finished = true;
  if (status != Status::Ok) x.status = status;
  Nic& n = *nics_[x.from];
  if (x.has_context) --n.send_contexts;
  if (x.remote_context) --nics_[x.to]->receive_contexts;
  x.has_context = x.remote_context = false;
  leave_channel(x, index);
  if (x.status != Status::Ok) {
    ++n.counters.failed;
    notify(x.from, x.from_port, x.port_generation, event_for(x, EventKind::Failed, false), when);
    if (on_record) {
      Record record{x.d.operation,    x.status, x.from, x.to, x.from_port, x.d.port, x.d.length,
                    Time{x.d.posted}, now(),    {},     0};
      record.parts.part[Breakdown::HostBus] = now() - Time{x.d.posted};
      on_record(record);
    }
  } else if (x.atomic() || (x.d.flags & kNotifyDone)) {
    notify(x.from, x.from_port, x.port_generation, event_for(x, EventKind::Done, false), when);
  }
  Port& port = n.ports[x.from_port];
  if (x.port_generation == port.generation && port.unfinished && --port.unfinished == 0) queue_.stop();
  NicId from = x.from;
  release_transfer(index);
  dispatch(from);
}

void Fabric::release_flight(std::uint32_t index) {
  Flight& f = (*flights_)[index];
  std::uint32_t transfer = f.transfer;
  Transfer& x = (*transfers_)[transfer];
  bool current = x.generation == f.generation;
  f.data.clear();
  flights_->give(index);
  if (current) {
    --x.flights;
    release_transfer(transfer);
  }
}

void Fabric::release_transfer(std::uint32_t index) {
  Transfer& x = (*transfers_)[index];
  if (!x.finished || x.queued || x.flights) return;
  ++x.generation;
  x.staging = {};
  x.have = {};
  transfers_->give(index);
}

Counters Fabric::counters(NicId nic) const {
  Counters out = nics_[nic]->counters;
  out.translations = nics_[nic]->translation.lookups();
  out.translation_misses = nics_[nic]->translation.misses();
  out.table_waits = nics_[nic]->translation.table().waits();
  out.table_busy = nics_[nic]->translation.table().busy();
  return out;
}

const std::deque<Interrupt>& Fabric::interrupts(NicId nic) const { return nics_[nic]->interrupts; }
const std::deque<ErrorPacket>& Fabric::error_packets(NicId nic) const { return nics_[nic]->errors; }

std::vector<std::string> Fabric::pending(NicId nic) const {
  std::vector<std::string> out;
  const Nic& n = *nics_[nic];
  for (PortNo p = 0; p < n.ports.size(); ++p) {
    const Port& port = n.ports[p];
    if (!port.open) continue;
    if (!port.held.empty())
      out.push_back(fmt::format("{} messages wait for room in the ring of port {}", port.held.size(), p));
    if (!port.held_events.empty())
      out.push_back(
          fmt::format("{} events wait for room in the event queue of port {}", port.held_events.size(), p));
    if (!port.queue.empty()) {
      const Transfer& x = (*transfers_)[port.queue.front()];
      out.push_back(
          fmt::format("{} operations wait in the queue of port {}{}", port.queue.size(), p,
                      (x.d.flags & kFence) && port.unfinished ? ", the first for earlier ones (fence)"
                      : p_.hold_slots && nics_[x.to]->held >= p_.hold_slots
                          ? fmt::format(", the first for node {}, whose rings are full", nics_[x.to]->node)
                          : ""));
    }
  }
  return out;
}

}  // namespace weft::nic
