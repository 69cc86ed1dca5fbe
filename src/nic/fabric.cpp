#include "nic/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "machine/own_system.hpp"
#include "nic/contexts.hpp"
#include "nic/device_tree.hpp"
#include "nic/load_store.hpp"
#include "nic/nic_device.hpp"
#include "nic/on_chip.hpp"
#include "nic/receiver.hpp"
#include "nic/requester_pages.hpp"
#include "nic/root_port.hpp"
#include "nic/smfu.hpp"

namespace weft::nic {

/// One interface: its parts, in the order in which they need each other.
struct Interface final : node::DevicePorts {
  Interface(Context& context, NicId own)
      : number(own),
        site(context.nodes[number],
             machine::bus_of(context.machine.description, context.host_parameters, context.nodes[number]),
             context.host_parameters.interrupt, context.queue, context.memory, context.host),
        bus(site.bus()),
        registration(context, number, ports),
        notifier(context, number, ports, bus, counters),
        submission(context, number, ports, bus, outgoing, counters),
        egress(context, number, counters),
        reliability(context, number, bus, egress, outgoing, counters),
        triggered({context, ports, bus, registration, notifier, egress, counters}, number),
        groups({context, ports, bus, registration, notifier, triggered, counters}, number),
        counted({context, ports, outgoing, triggered, counters}, number),
        sender({context, ports, bus, registration, notifier, submission, egress, reliability, triggered,
                groups, counted, outgoing, counters},
               number),
        rings(context, number, ports, bus, egress, notifier, counters),
        registers(context, number, ports, counters),
        receiver({context, ports, bus, registration, notifier, egress, rings, sender, triggered, groups,
                  counted, registers, counters},
                 number),
        pages(context, number, ports, submission, notifier, counters),
        chip(registers, pages),
        smfu(context, number, egress),
        load_store({context, ports, bus, registration, notifier, smfu, counters}, number) {
    groups.on_released = [this](std::uint32_t operation, Status status) {
      sender.released(operation, status);
    };
    notifier.on_device = [this](PortNo port, const Event& event) {
      site.device(ports[port].device).port_event(port, event);
    };
    rings.on_device = [this](PortNo port, const Message& message) {
      site.device(ports[port].device).port_message(port, message);
    };
    site.set_ports(*this);
  }

  bool post(node::DeviceId device, std::uint32_t port, const Descriptor& descriptor) override {
    if (!ports.is_open(port) || ports[port].device != device) return false;
    submission.post(port, descriptor);
    return true;
  }

  void taken(std::uint32_t port) override { rings.consumed(port, 1); }

  /// What is on the host's bus comes in where the processor does.
  bool store(node::DeviceId device, std::uint64_t address, std::span<const std::uint8_t> data,
             Time begun) override {
    std::vector<std::uint8_t> nothing;
    while (!data.empty()) {
      pcie::Tlp tlp;
      tlp.kind = pcie::TlpKind::MemoryWrite;
      tlp.address = address;
      tlp.bytes = pcie::next_piece(address, data.size(), pcie::kLargestAccess);
      if (!chip.access(kFromHost, tlp, data.first(tlp.bytes), {number, {&device, 1}, begun}, nothing))
        return false;
      address += tlp.bytes;
      data = data.subspan(tlp.bytes);
    }
    return true;
  }

  NicId number;
  node::Node site;
  PortTable ports;
  node::Bus& bus;
  Counters counters;
  OutgoingTable outgoing;
  Registration registration;
  Notifier notifier;
  Submission submission;
  Egress egress;
  Reliability reliability;
  Triggered triggered;
  Groups groups;
  Counted counted;
  Sender sender;
  Rings rings;
  RegisterUnit registers;
  Receiver receiver;
  RequesterPages pages;
  OnChip chip;
  Smfu smfu;
  LoadStore load_store;
  std::unique_ptr<RootPort> root_port;  // where devices of PCI Express are below it
};

Fabric::Fabric(const machine::Machine& machine, network::Network& network, event::EventQueue& queue,
               Host& host, const std::vector<network::EndpointId>& nodes, std::uint64_t seed)
    : queue_(queue), network_(network) {
  auto common = std::make_unique<Common>(machine, network, queue, host);
  common->nodes = nodes;
  common->nic_of_node.assign(machine.graph->endpoints(), kNobody);
  common->component = queue.join(*this);
  common->on_record = &on_record;
  Diagnostics problems;
  context_ = make_contexts(machine, network, queue, host, seed, std::move(common), problems);
  problems.throw_if_any();
  Context& c = *context_;
  // A packet is launched behind it, whatever is heard.
  network.set_reaction_time(c.common.least_send_latency);
  c.attach = [this](network::EndpointId node) { return attach(node); };
  if (c.nic.manager >= machine.graph->endpoints())
    problems.add(machine.description.origin("nic.manager"), "nic.manager",
                 fmt::format("the machine has nodes 0 to {}", machine.graph->endpoints() - 1));
  for (network::EndpointId node : nodes) {
    WEFT_CHECK(node < c.nic_of_node.size() && c.nic_of_node[node] == kNobody, "a node named twice");
    add_interface(node, problems);
  }
  problems.throw_if_any();
}

void Fabric::add_interface(network::EndpointId node, Diagnostics& problems) {
  Context& c = context_of(*context_, node);
  const auto number = static_cast<NicId>(interfaces_.size());
  if (number == c.nodes.size()) c.nodes.push_back(node);
  c.nic_of_node[node] = number;
  add_payload(*context_, node);
  interfaces_.push_back(std::make_unique<Interface>(c, number));
  Interface& n = *interfaces_.back();
  const machine::Description& description = c.machine.description;
  n.site.add(std::make_unique<NicDevice>(n.site.next_slot(node::kNicDevice), c.nic.ports, n.counters));
  for (const machine::Device& device : description.devices)
    if (device.sits_on(node))
      n.site.add(device.kind->make(device.parameters.get(), n.site.next_slot(device.name)));
  add_root_port(number, problems);
}

/// Where devices are below it.
void Fabric::add_root_port(NicId nic, Diagnostics& problems) {
  Interface& n = *interfaces_[nic];
  const machine::Description& description = context_of(*context_, n.site.id()).machine.description;
  const std::size_t before = problems.size();
  DeviceTree below = device_tree(n.site, n.smfu.payload(), description, problems);
  if (!below.tree || problems.size() > before) return;
  auto complain = [&, root = below.root](const char* key, const std::string& message) {
    const std::string path = root.empty() ? "node.device" : fmt::format("node.device.{}.{}", root, key);
    problems.add(description.origin(path), path, fmt::format("node {}: {}", n.site.id(), message));
  };
  for (const auto& [unit, first] :
       {std::pair{Unit::Registers, below.registers}, std::pair{Unit::Messages, below.messages},
        std::pair{Unit::Rdma, below.rdma}})
    if (first != 0) WEFT_CHECK(n.chip.open({first, OnChip::kWindow, nic, 0, unit, kFromAll}));
  for (node::DeviceId device : below.devices) {
    if (!below.device_ports || device == kNobody) continue;
    PortNo port = 0;
    if (open(nic, node::kNoSpace, false, port) == Status::Ok) {
      give_port({nic, port}, device);
    } else {
      complain("device_ports", fmt::format("no port is left for '{}'", n.site.device(device).name()));
    }
  }
  std::string error;
  n.root_port = std::make_unique<RootPort>(nic, n.smfu, n.chip, queue_, std::move(below), error);
  if (!error.empty()) complain("window", error);
}

NicId Fabric::attach(network::EndpointId node) {
  if (context_->nic_of_node[node] == kNobody) {
    Diagnostics problems;
    add_interface(node, problems);
    problems.throw_if_any();
  }
  return context_->nic_of_node[node];
}

Fabric::~Fabric() = default;

node::Node& Fabric::site(NicId nic) { return interfaces_[nic]->site; }
network::EndpointId Fabric::node(NicId nic) const { return context_->nodes[nic]; }
Smfu& Fabric::smfu(NicId nic) { return interfaces_[nic]->smfu; }
OnChip& Fabric::on_chip(NicId nic) { return interfaces_[nic]->chip; }
LoadStore& Fabric::load_store(NicId nic) { return interfaces_[nic]->load_store; }
RootPort* Fabric::root_port(NicId nic) { return interfaces_[nic]->root_port.get(); }
const machine::NicParameters& Fabric::parameters() const { return context_->nic; }

Status Fabric::open_among(NicId nic, std::uint32_t owner, PortNo first, PortNo end, PortNo& port) {
  const machine::NicParameters& p = context_->nic;
  if (!p.queue_slots || !p.message_slots || !p.event_slots) return Status::NoRoom;
  Interface& n = *interfaces_[nic];
  for (PortNo i = first; i < end; ++i) {
    n.ports.reserve_number(i);
    Port& opened = n.ports[i];
    if (opened.open || n.sender.has_queue(i) || n.submission.on_the_way(i)) continue;
    opened = {
        .open = true, .ring_slots = p.message_slots, .owner = owner, .generation = opened.generation + 1};
    n.submission.reset(i);
    n.sender.reset(i);
    n.rings.reset(i);
    n.notifier.reset(i);
    port = i;
    return Status::Ok;
  }
  return Status::NoRoom;
}

Status Fabric::open(NicId nic, std::uint32_t owner, bool memory_queue, PortNo& port, unsigned slots) {
  const machine::NicParameters& p = context_->nic;
  if (slots > p.message_slots) return Status::BadLength;
  PortNo first_queue = p.ports - p.memory_queues;
  // The kind asked for, or else the other: programs need not know what an interface has.
  for (bool memory : {memory_queue, !memory_queue}) {
    if (open_among(nic, owner, memory ? first_queue : p.kernel_ports, memory ? p.ports : first_queue, port) !=
        Status::Ok)
      continue;
    Port& opened = interfaces_[nic]->ports[port];
    opened.memory_queue = memory;
    if (slots) opened.ring_slots = slots;
    return Status::Ok;
  }
  return Status::NoRoom;
}

Status Fabric::open_for_kernel(NicId nic, std::uint32_t owner, PortNo& port) {
  if (!context_->nic.kernel_ports) return Status::NoRight;
  Status status = open_among(nic, owner, 0, context_->nic.kernel_ports, port);
  if (status == Status::Ok) interfaces_[nic]->ports[port].kernel = true;
  return status;
}

void Fabric::set_traffic_class(PortRef ref, unsigned traffic_class) {
  WEFT_CHECK(traffic_class < context_->class_weights.size(), "a class the network has");
  interfaces_[ref.nic]->ports[ref.port].traffic_class = static_cast<std::uint8_t>(traffic_class);
}

unsigned Fabric::ring_slots(PortRef ref) const { return interfaces_[ref.nic]->ports[ref.port].ring_slots; }

void Fabric::close(PortRef ref) {
  Interface& n = *interfaces_[ref.nic];
  Port& port = n.ports[ref.port];
  if (!port.open) return;
  port.open = false;
  if (port.device != kNobody) n.site.device(port.device).port_closed(ref.port);
  if (n.registration.close(ref.port)) n.sender.drop_channel(port.domain);
  port.domain = kNoDomain;
  n.receiver.close(ref.port);
  n.triggered.close(ref.port);
  n.sender.drop_waiting(ref.port);
  n.groups.close(ref.port);
  n.load_store.close(ref.port);
  n.notifier.close(ref.port);
  n.rings.resume_senders();
}

Status Fabric::register_memory(PortRef ref, std::uint64_t address, std::uint64_t length, std::uint32_t rights,
                               std::uint64_t& key, std::uint64_t simulated, node::SpaceId space) {
  return interfaces_[ref.nic]->registration.add(ref.port, address, length, rights, key, simulated, space);
}

Status Fabric::give_port(PortRef ref, node::DeviceId device) {
  Interface& n = *interfaces_[ref.nic];
  if (!n.ports.is_open(ref.port) || device >= n.site.devices()) return Status::NoPort;
  if (n.ports[ref.port].device != kNobody) return Status::Busy;
  n.ports[ref.port].device = device;
  const node::OwnMemory* memory = n.site.device(device).own_memory();
  n.ports[ref.port].ring_space = memory && memory->is_peer ? memory->space : node::kNoSpace;
  return Status::Ok;
}

node::DeviceId Fabric::device_of(PortRef ref) const {
  const PortTable& ports = interfaces_[ref.nic]->ports;
  return ports.is_open(ref.port) ? ports[ref.port].device : kNobody;
}

Status Fabric::move_memory(PortRef ref, std::uint64_t key, std::uint64_t address) {
  return interfaces_[ref.nic]->registration.move(ref.port, key, address);
}

Time Fabric::registration_cost(std::uint64_t address, std::uint64_t length) const {
  return later(context_->nic.registration, Registration::page_time(context_->nic, address, length));
}

Time Fabric::registration_time(NicId nic, Time from, std::uint64_t address, std::uint64_t length) {
  return interfaces_[nic]->registration.registration_time(from, address, length);
}

Time Fabric::unregistration_time(NicId nic, Time from, std::uint64_t length) {
  return interfaces_[nic]->registration.unregistration_time(from, length);
}

Status Fabric::unregister_memory(PortRef ref, std::uint64_t key, std::uint64_t* length) {
  return interfaces_[ref.nic]->registration.remove(ref.port, key, length);
}

void Fabric::enable_interrupts(PortRef ref, std::uint32_t causes) {
  interfaces_[ref.nic]->ports[ref.port].interrupts = causes;
}

Status Fabric::join_domain(PortRef ref, std::uint32_t domain) {
  return interfaces_[ref.nic]->registration.join_domain(ref.port, domain);
}

Status Fabric::register_global(PortRef ref, std::uint64_t address, std::uint64_t length, std::uint32_t rights,
                               std::uint64_t& global) {
  return interfaces_[ref.nic]->registration.add_global(ref.port, address, length, rights, global);
}

Status Fabric::unregister_global(PortRef ref, std::uint64_t global, std::uint64_t* length) {
  return interfaces_[ref.nic]->registration.remove_global(ref.port, global, length);
}

Status Fabric::move_global(PortRef ref, std::uint64_t global, std::uint64_t address, std::uint64_t& length) {
  return interfaces_[ref.nic]->registration.move_global(ref.port, global, address, length);
}

Status Fabric::physical_address(PortRef ref, std::uint64_t key, std::uint64_t offset,
                                std::uint64_t& physical) const {
  return interfaces_[ref.nic]->registration.physical_address(ref.port, key, offset, physical);
}

void Fabric::post(PortRef ref, const Descriptor& descriptor) {
  interfaces_[ref.nic]->submission.post(ref.port, descriptor);
}

bool Fabric::busy(PortRef ref) const {
  const Interface& n = *interfaces_[ref.nic];
  return n.submission.on_the_way(ref.port) || n.sender.has_queue(ref.port) ||
         context_->ledger.unfinished(ref, n.ports[ref.port].generation);
}

void Fabric::consumed(PortRef ref, unsigned messages, unsigned events) {
  Interface& n = *interfaces_[ref.nic];
  n.rings.consumed(ref.port, messages);
  n.notifier.consumed(ref.port, events);
  n.rings.resume_senders();
}

void Fabric::core_stalled(PortRef ref, Time time, bool ended) {
  Counters& counters = interfaces_[ref.nic]->counters;
  ++counters.core_stalls;
  counters.core_stall_time += time;
  counters.watchdog_ends += ended;
}

bool Fabric::idle() const { return queue_.empty() && heard_ == notices_.size() && network_.idle(); }

Time Fabric::quiet_until(NicId nic) const {
  const bool settled = heard_ == notices_.size() && network_.idle();
  return settled && !interfaces_[nic]->rings.holds_back() && !interfaces_[nic]->notifier.holds_back()
             ? queue_.next()
             : now();
}

bool Fabric::advance(Time until, bool stays) {
  queue_.go_on();
  while (!queue_.stopped()) {
    const Time next = queue_.next();
    if (heard_ == notices_.size()) {
      if (next == network::kForever && until == network::kForever && network_.idle()) return false;
      // Whatever happens here at a time, nothing is sent before the chip has taken its time to.
      const Time first = std::min({until, next, look_at_});
      notices_.clear();
      heard_ = 0;
      network_.advance(first == network::kForever ? first : later(first, context_->common.least_send_latency),
                       notices_);
    }
    const bool told = heard_ < notices_.size();
    if (look_at_ <= std::min(until, next) && !(told && notices_[heard_].at < look_at_)) {
      check_time(look_at_);
      queue_.advance_to(std::max(now(), look_at_));
      look_at_ = look_(look_at_);
      continue;
    }
    if (told && notices_[heard_].at <= std::min(until, next)) {
      hear();
      continue;
    }
    if (next > until || next == network::kForever) {
      if (until != network::kForever && !stays) {
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

/// All notices of the next time there are any of.
void Fabric::hear() {
  const Time at = notices_[heard_].at;
  check_time(at);
  queue_.advance_to(at);
  while (heard_ < notices_.size() && notices_[heard_].at == at) {
    const network::Notice notice = notices_[heard_++];
    auto packet = static_cast<std::uint32_t>(notice.tag);
    switch (notice.kind) {
      case network::Notice::Kind::Departed:
        departed(packet, at);
        break;
      case network::Notice::Kind::Delivered:
        if (notice.where == topology::kNone)
          delivered(packet, at);
        else
          copy_delivered(packet, context_->nic_of_node[notice.where], at);
        break;
      case network::Notice::Kind::Lost:
        if (notice.where == topology::kNone)
          lost(packet, at);
        else
          copy_lost(packet, at);
        break;
    }
  }
}

void Fabric::handle(const event::Event& due) {
  auto index = static_cast<std::uint32_t>(due.data);
  Interface& n = *interfaces_[due.data >> 32];
  switch (static_cast<What>(due.kind)) {
    case What::Post:
      return n.submission.submit(index);
    case What::Fetch:
      return n.submission.fetch(index);
    case What::Ready:
      return n.sender.accept(index);
    case What::Dispatch:
      return n.sender.dispatch_planned();
    case What::Timeout:
      return n.sender.time_out(index);
    case What::Reconnect:
      return n.sender.reconnect(index);
    case What::Loopback:
      departed(index, now());
      return delivered(index, now());
    case What::Data:
      return n.receiver.land(index);
    case What::Watchdog:
      return n.rings.watchdog(index);
    case What::Tell:
      return n.notifier.tell(index);
    case What::Interrupt:
      return n.notifier.handle_interrupt();
    case What::Trigger:
      return n.triggered.act(index);
    case What::Counted:
      return n.sender.fire(index);
    case What::ControlAgain:
      return n.triggered.repeat(index);
    case What::GroupData:
      return n.groups.land(index);
    case What::GroupHere:
      return copy_delivered(index, n.receiver.number(), now());
    case What::TlpHere:
      return n.smfu.here(index);
    case What::TlpAgain:
      return n.smfu.again(index);
    case What::LoadStore:
      return n.load_store.act(index);
  }
}

void Fabric::departed(std::uint32_t index, Time when) {
  Packet& packet = context_->packets[index];
  Interface& from = *interfaces_[packet.header.from];
  if (is_tlp(packet.header.kind)) {
    from.smfu.departed(packet);
    return from.sender.go_on();
  }
  from.sender.departed(packet, when);
  from.smfu.go_on();
}

void Fabric::delivered(std::uint32_t index, Time when) {
  const Header& h = context_->packets[index].header;
  if (is_tlp(h.kind)) return interfaces_[h.to]->smfu.delivered(index, when);
  if (h.reduced()) context_->reductions.take(context_->packets[index], context_->nodes[h.to]);
  interfaces_[h.from]->sender.out_of_network(h);
  interfaces_[h.to]->receiver.delivered(index, when);
}

/// A copy of a packet for a group is a packet of its own at the interface it comes to.
void Fabric::copy_delivered(std::uint32_t index, NicId to, Time when) {
  const std::uint32_t copy = context_->new_packet();
  const Packet& packet = context_->packets[index];
  Packet& own = context_->packets[copy];
  own.header = packet.header;
  own.header.to = to;
  own.stamps = packet.stamps;
  own.data.assign(packet.data.begin(), packet.data.end());
  copy_arrived(index);
  interfaces_[to]->receiver.delivered(copy, when);
}

void Fabric::copy_lost(std::uint32_t index, Time when) {
  Packet& packet = context_->packets[index];
  const NicId from = packet.header.from;
  interfaces_[from]->sender.given_up(packet);
  interfaces_[from]->sender.lost(packet.header, when);
  copy_arrived(index);
  interfaces_[from]->sender.go_on();
}

/// One copy fewer is under way.
void Fabric::copy_arrived(std::uint32_t index) {
  Packet& packet = context_->packets[index];
  if (--packet.copies > 0) return;
  const Header header = packet.header;
  context_->packets.give(index);
  interfaces_[header.from]->sender.out_of_network(header);
}

/// The network tells both ends: the one that sent it, and the one that waits for it, which was cut off.
void Fabric::lost(std::uint32_t index, Time when) {
  Packet& packet = context_->packets[index];
  const Header& h = packet.header;
  const NicId from = h.from;
  if (is_tlp(h.kind)) {
    interfaces_[from]->smfu.lost(index, interfaces_[h.to]->smfu);
    return interfaces_[from]->sender.go_on();
  }
  packet.gone = true;
  interfaces_[from]->sender.given_up(packet);
  if (packet.ordered && context_->nic.order_window)
    interfaces_[from]->egress.taken(h.source_port, h.to, 1, when);
  if (h.kind == PacketKind::Pause || h.kind == PacketKind::Resume) {
    interfaces_[h.from]->rings.lost_resume(h);
  } else if (h.kind == PacketKind::OrderAck) {
    // Where no word comes through for so long, the sender goes on by itself.
    if (!interfaces_[h.from]->receiver.repeat_order_ack(h))
      interfaces_[h.to]->egress.taken(h.source_port, h.from, static_cast<std::uint32_t>(h.value), when);
  } else if (h.kind == PacketKind::Control || h.kind == PacketKind::ControlRefused) {
    interfaces_[h.from]->triggered.lost(h, when);
  } else {
    interfaces_[is_answer(h.kind) ? h.to : h.from]->sender.lost(h, when);
  }
  delivered(index, when);  // its place in the order is taken all the same
  interfaces_[from]->sender.go_on();
}

Counters Fabric::counters(NicId nic) const {
  Counters out = interfaces_[nic]->counters;
  interfaces_[nic]->registration.count(out);
  return out;
}

std::vector<Interrupt> Fabric::interrupts(NicId nic) const { return interfaces_[nic]->notifier.interrupts(); }
const std::deque<ErrorPacket>& Fabric::error_packets(NicId nic) const {
  return interfaces_[nic]->notifier.errors();
}

std::vector<std::string> Fabric::pending(NicId nic) const {
  std::vector<std::string> out;
  const Interface& n = *interfaces_[nic];
  for (PortNo p = 0; p < n.ports.size(); ++p) {
    if (!n.ports[p].open) continue;
    if (std::size_t held = n.rings.waiting(p))
      out.push_back(fmt::format("{} messages wait for room in the ring of port {}", held, p));
    if (std::size_t held = n.notifier.waiting(p))
      out.push_back(fmt::format("{} events wait for room in the event queue of port {}", held, p));
    if (std::string waits = n.sender.pending(p); !waits.empty()) out.push_back(std::move(waits));
    std::vector<WaitingRound> waiting;
    n.triggered.add_waiting(p, waiting);
    context_->reductions.add_waiting(nic, p, waiting);
    for (const WaitingRound& round : waiting) out.push_back(in_words(round));
    n.counted.tell_pending(p, out);
  }
  return out;
}

std::vector<WaitingRound> Fabric::waiting_rounds(NicId nic) const {
  std::vector<WaitingRound> out;
  const Interface& n = *interfaces_[nic];
  for (PortNo p = 0; p < n.ports.size(); ++p)
    if (n.ports[p].open) {
      n.triggered.add_waiting(p, out);
      context_->reductions.add_waiting(nic, p, out);
    }
  return out;
}

}  // namespace weft::nic
