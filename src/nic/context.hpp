// What the parts of all interfaces have in common: parameters, the clock, the network, the host, and the
// packets under way. It holds no state of an operation.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "base/slab.hpp"
#include "event/event_queue.hpp"
#include "machine/machine.hpp"
#include "network/network.hpp"
#include "nic/chips.hpp"
#include "nic/packet.hpp"
#include "nic/reductions.hpp"
#include "node/spaces.hpp"

namespace weft::nic {

/// Events of an interface: whose part handles them, and what their number means.
enum class What : std::uint32_t {
  Post,          // submission: an operation
  Fetch,         // submission: an operation
  Ready,         // sender: an operation
  Dispatch,      // sender
  Timeout,       // sender: an alarm
  Reconnect,     // sender: an alarm
  Loopback,      // a packet to the interface itself
  Data,          // receiver: a packet
  Watchdog,      // receiver: a port
  Tell,          // notifier: an event
  Interrupt,     // notifier
  Trigger,       // triggered operations: a task
  ControlAgain,  // triggered operations: an alarm
  Counted,       // descriptors that wait for control packets: a task
  GroupData,     // groups: a task
  GroupHere,     // a packet for a group, for those on its sender's own node
  TlpHere,       // shared memory unit: a packet
  TlpAgain,      // shared memory unit: a packet
  LoadStore,     // loads and stores: a job
};

/// Which operations have not ended yet, by the port they were posted on: for a host that lets a process go
/// when its work is done. Both ends write here, none reads: it is the simulation's knowledge, no interface's.
class Ledger {
 public:
  explicit Ledger(event::EventQueue& queue) : queue_(queue) {}

  void begin(PortRef port, std::uint32_t generation) {
    if (ports_.size() <= port.nic) ports_.resize(port.nic + 1);
    auto& ports = ports_[port.nic];
    if (ports.size() <= port.port) ports.resize(port.port + 1);
    if (ports[port.port].generation != generation) ports[port.port] = {generation, 0};
    ++ports[port.port].unfinished;
  }

  void end(PortRef port, std::uint32_t generation) {
    if (port.nic >= ports_.size() || port.port >= ports_[port.nic].size()) return;
    Entry& entry = ports_[port.nic][port.port];
    if (entry.generation == generation && entry.unfinished && --entry.unfinished == 0) queue_.stop();
  }

  bool unfinished(PortRef port, std::uint32_t generation) const {
    if (port.nic >= ports_.size() || port.port >= ports_[port.nic].size()) return false;
    const Entry& entry = ports_[port.nic][port.port];
    return entry.generation == generation && entry.unfinished;
  }

 private:
  struct Entry {
    std::uint32_t generation = 0, unfinished = 0;
  };
  event::EventQueue& queue_;
  std::vector<std::vector<Entry>> ports_;
};

/// What there is once for all interfaces of a machine.
struct Common {
  Common(const machine::Machine& machine, network::Network& network, event::EventQueue& queue, Host& host)
      : memory(host), ledger(queue), reductions(network), chips(machine) {}

  event::ComponentId component = 0;
  std::vector<network::EndpointId> nodes;  // by interface
  std::vector<NicId> nic_of_node;
  std::vector<std::uint64_t> payloads = {};  // by interface, where their networks differ
  Slab<Packet> packets = {};
  std::vector<std::uint32_t> nodes_of_group = {};  // how many a group has, its sender's among them
  std::uint64_t received = 0;                      // packets that errors may have hit
  node::Spaces memory;                             // of processes, and of devices
  Ledger ledger;
  Reductions reductions;
  Chips chips;
  Time least_send_latency{0};  // of any interface
  std::function<void(const Record&)>* on_record = nullptr;
  /// The interface of a node that a register file is asked of; made where nobody has used it yet.
  std::function<NicId(network::EndpointId)> attach = {};
};

/// The same, as the interfaces of one network see it.
struct Context {
  const machine::Machine& machine;
  const machine::NicParameters nic;
  const machine::HostParameters host_parameters;
  network::Network& network;
  event::EventQueue& queue;
  Host& host;
  std::uint64_t seed;
  unsigned classes;                        // of messages in the network, for each class of traffic
  std::vector<unsigned> class_weights{1};  // of traffic
  std::uint64_t payload = 0;               // of a packet to anybody, as large as all networks take
  std::uint64_t payload_here = 0;          // of one to an interface of the same network
  std::uint64_t list_room = 0;             // bytes of a packet for the list of those that have arrived
  std::unique_ptr<Common> own;             // of the first network's alone
  Common& common;
  event::ComponentId component = common.component;
  std::vector<network::EndpointId>& nodes = common.nodes;
  std::vector<NicId>& nic_of_node = common.nic_of_node;
  Slab<Packet>& packets = common.packets;
  std::vector<std::uint32_t>& nodes_of_group = common.nodes_of_group;
  std::uint64_t& received = common.received;
  node::Spaces& memory = common.memory;
  Ledger& ledger = common.ledger;
  Reductions& reductions = common.reductions;
  Chips& chips = common.chips;
  std::function<void(const Record&)>* on_record = common.on_record;
  std::function<NicId(network::EndpointId)>& attach = common.attach;
  std::vector<std::unique_ptr<Context>> others = {};  // as those of the machine's further networks see it

  /// Data of a packet between an interface of this network and another one, which both know.
  std::uint64_t payload_to(NicId peer) const {
    return common.payloads.empty() ? payload : std::min(payload_here, common.payloads[peer]);
  }
  Time now() const { return queue.now(); }
  void at(Time when, What what, NicId interface, std::uint32_t index) {
    queue.at(when, component, static_cast<std::uint32_t>(what), std::uint64_t{interface} << 32 | index);
  }
  NicId interface_of(std::uint32_t node) const {
    return node < nic_of_node.size() ? nic_of_node[node] : kNobody;
  }
  std::uint32_t group_nodes(network::GroupNumber group) const { return nodes_of_group[group]; }
  /// Bursts on the bus become packets and packets bursts, where data is moved by DMA. Other packets are made
  /// by the interface itself.
  Time adapter(PacketKind kind) const {
    bool dma = kind == PacketKind::PutData || kind == PacketKind::GetRequest || kind == PacketKind::GetData ||
               kind == PacketKind::GroupData;
    return dma ? nic.adapter_latency : Time{0};
  }
  bool recording() const { return static_cast<bool>(*on_record); }

  std::uint32_t new_packet() {
    std::uint32_t index = packets.take();
    Packet& packet = packets[index];
    auto data = std::move(packet.data);
    data.clear();
    packet = {};
    packet.data = std::move(data);  // keeps its room
    return index;
  }

  /// The answer to a packet: its header and stamps with the ends exchanged.
  std::uint32_t new_answer(PacketKind kind, const Header& request, const Stamps& stamps) {
    std::uint32_t index = new_packet();
    Packet& packet = packets[index];
    packet.header = request;
    packet.header.kind = kind;
    packet.header.from = request.to;
    packet.header.to = request.from;
    packet.header.bytes = packet.header.crc = 0;
    packet.stamps = stamps;
    return index;
  }
};

}  // namespace weft::nic
