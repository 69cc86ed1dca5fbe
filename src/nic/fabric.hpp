// All interfaces of a machine over one network, functional and timed.
//
// An interface is made of parts, along the way of an operation:
//
//   submission -> sender -> egress -> network -> receiver -> registration -> memory, rings -> notifier
//
// Each part owns its state. The two ends of an operation know of each other what is in the headers of packets
// (packet.hpp), and nothing else. Events of all parts are in the one queue of the simulation, in the order in
// which they were asked for; the fabric hands each to its part. Above stands a `Host` (host.hpp) that owns
// processes and their memory. Every operation keeps the time of each step, so that its parts add up.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "event/event_queue.hpp"
#include "machine/machine.hpp"
#include "network/network.hpp"
#include "nic/host.hpp"
#include "nic/waiting_round.hpp"

namespace weft {
class Diagnostics;
}

namespace weft::nic {

struct Context;
struct Interface;
class LoadStore;
class OnChip;
class RootPort;
class Smfu;

class Fabric : private event::EventHandler {
 public:
  /// The events of its interfaces are in `queue`, which may have others' as well.
  Fabric(const machine::Machine& machine, network::Network& network, event::EventQueue& queue, Host& host,
         const std::vector<network::EndpointId>& nodes, std::uint64_t seed);
  ~Fabric() override;

  /// The interface of a node, made where there was none.
  NicId attach(network::EndpointId node);
  NicId nics() const { return static_cast<NicId>(interfaces_.size()); }
  network::EndpointId node(NicId nic) const;
  /// The node an interface sits on, with its bus and its other devices.
  node::Node& site(NicId nic);
  const machine::NicParameters& parameters() const;
  /// How packets of PCI Express leave and enter an interface.
  Smfu& smfu(NicId nic);
  /// Which accesses go to which unit of an interface.
  OnChip& on_chip(NicId nic);
  /// Loads and stores of its processes to memory of other nodes.
  LoadStore& load_store(NicId nic);
  /// What is below an interface that is a root port; nothing where it is none.
  RootPort* root_port(NicId nic);

  /// `slots`: messages its ring holds, at most nic.message_slots; 0: as many as that.
  Status open(NicId nic, std::uint32_t owner, bool memory_queue, PortNo& port, unsigned slots = 0);
  /// One of the ports whose work may use physical addresses.
  Status open_for_kernel(NicId nic, std::uint32_t owner, PortNo& port);
  /// The class of traffic that a port's operations, and the answers to them, travel in; 0 where nothing is
  /// said.
  void set_traffic_class(PortRef port, unsigned traffic_class);
  unsigned ring_slots(PortRef port) const;
  void close(PortRef port);
  /// `simulated`: the address that is translated in place of its own, which differs from run to run; 0: its
  /// own. `space`: whose memory it is, where it is not that of the port's owner.
  Status register_memory(PortRef port, std::uint64_t address, std::uint64_t length, std::uint32_t rights,
                         std::uint64_t& key, std::uint64_t simulated = 0,
                         node::SpaceId space = node::kNoSpace);
  /// From now on a device of the node posts there and hears of events; its process does no more.
  Status give_port(PortRef port, node::DeviceId device);
  /// kNobody: it is no device's.
  node::DeviceId device_of(PortRef port) const;
  /// Memory that has a simulated address lies elsewhere in its process: to the interface it is the same.
  Status move_memory(PortRef port, std::uint64_t key, std::uint64_t address);
  /// What registering takes from `from` on, and so does unregistering where a microcontroller keeps the
  /// table.
  Time registration_cost(std::uint64_t address, std::uint64_t length) const;
  Time registration_time(NicId nic, Time from, std::uint64_t address, std::uint64_t length);
  Time unregistration_time(NicId nic, Time from, std::uint64_t length);
  Status unregister_memory(PortRef port, std::uint64_t key, std::uint64_t* length = nullptr);

  /// Makes the port's process the one that has this protection domain on its node; a port joins once.
  /// Which causes (nic::Interrupt) interrupt the processor for a port; at first, what descriptors ask for.
  void enable_interrupts(PortRef port, std::uint32_t causes);
  Status join_domain(PortRef port, std::uint32_t domain);
  /// Registers memory in the port's domain; `global` is the lower part of its address (domains.hpp).
  Status register_global(PortRef port, std::uint64_t address, std::uint64_t length, std::uint32_t rights,
                         std::uint64_t& global);
  Status unregister_global(PortRef port, std::uint64_t global, std::uint64_t* length = nullptr);
  /// Other memory behind the same global address; `length` is the region's. Not where the map is static.
  Status move_global(PortRef port, std::uint64_t global, std::uint64_t address, std::uint64_t& length);

  /// The physical address of registered memory of this port, which a kernel's port may ask for.
  Status physical_address(PortRef port, std::uint64_t key, std::uint64_t offset,
                          std::uint64_t& physical) const;

  /// A processor stood before this port's full queue; `ended`: until the watchdog let it go.
  void core_stalled(PortRef port, Time time, bool ended);

  /// Work a process posted at `descriptor.posted`; not yet trusted.
  void post(PortRef port, const Descriptor& descriptor);
  /// Has it work that is not done?
  bool busy(PortRef port) const;
  /// The process has taken entries out of its rings.
  void consumed(PortRef port, unsigned messages, unsigned events);

  Time now() const { return queue_.now(); }
  /// Runs up to `until`, or up to the first time at which the host was told something; true then.
  /// `stays`: at the time of the last thing that happens up to there.
  bool advance(Time until, bool stays = false);
  /// Has a look at what is there whenever time comes to what the look before returned.
  void watch(Time first, std::function<Time(Time)> look) {
    look_at_ = first;
    look_ = std::move(look);
  }
  /// Nothing is under way: only new work can make anything happen.
  bool idle() const;
  /// Until then nothing happens at this interface that its processes do not make happen by new work: a lower
  /// bound, now() where that is not easily told.
  Time quiet_until(NicId nic) const;
  /// Operations that are not done, in words, for reports on what hangs.
  std::vector<std::string> pending(NicId nic) const;
  /// Rounds of its sequences that have begun and wait for packets.
  std::vector<WaitingRound> waiting_rounds(NicId nic) const;

  Counters counters(NicId nic) const;
  /// The last ones, up to nic.interrupt_slots and nic.error_slots.
  std::vector<Interrupt> interrupts(NicId nic) const;
  const std::deque<ErrorPacket>& error_packets(NicId nic) const;
  std::function<void(const Record&)> on_record;

 private:
  void handle(const event::Event& due) override;
  void hear();
  void departed(std::uint32_t packet, Time when);
  void delivered(std::uint32_t packet, Time when);
  void copy_delivered(std::uint32_t packet, NicId to, Time when);
  void copy_lost(std::uint32_t packet, Time when);
  void copy_arrived(std::uint32_t packet);
  void lost(std::uint32_t packet, Time when);
  void add_root_port(NicId nic, Diagnostics& problems);
  void add_interface(network::EndpointId node, Diagnostics& problems);
  Status open_among(NicId nic, std::uint32_t owner, PortNo first, PortNo end, PortNo& port);

  std::unique_ptr<Context> context_;
  event::EventQueue& queue_;
  network::Network& network_;
  std::vector<std::unique_ptr<Interface>> interfaces_;
  std::vector<network::Notice> notices_;  // of the network's last batch
  Time look_at_ = network::kForever;
  std::function<Time(Time)> look_;
  std::size_t heard_ = 0;  // of these
};

}  // namespace weft::nic
