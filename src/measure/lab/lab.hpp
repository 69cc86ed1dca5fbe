// Experiments on the interfaces of a machine, in one process of the operating system.
//
// The programs of an experiment are coroutines, each with a clock of its own, a port and some memory. They
// pay what the machine's description says a processor pays for posting and receiving; the fabric below is the
// one `weft run` uses. A program runs until it waits; the lab lets the fabric run until there is something to
// see, so that no program acts in another's past.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "measure/lab/task.hpp"
#include "mpi/registration_cache.hpp"
#include "nic/fabric.hpp"

namespace weft::measure::lab {

/// What a port has received.
struct Item {
  bool is_message = false;
  nic::Message message;
  nic::Event event;
  Time time() const { return {is_message ? message.time : event.time}; }
};

class Lab;
class Process;

/// Where processes wait for each other; it takes no time.
struct Gate {
  std::size_t expected = 0;
  std::vector<Process*> waiting = {};
};

/// One program's place: its clock, its port, its memory.
class Process {
 public:
  Time clock{0};

  unsigned number() const { return number_; }
  nic::PortRef port() const { return port_; }
  network::EndpointId node() const;
  Lab& lab() const { return lab_; }

  void compute(Time time) { clock = clock + time; }
  /// The processor's time to post is paid; waits while the submission queue is full.
  Task post(nic::Descriptor descriptor);
  /// Waits for the next thing that arrives; it lies in `item` then, and the time to take it is paid.
  Task next();
  /// Has anything arrived by now? Only known once the fabric has come as far as this clock: see in_step().
  bool waiting() const { return !arrived_.empty() && arrived_.front().time() <= clock; }
  /// Lets all others come as far as this clock.
  Task in_step();
  /// Waits until all that a gate expects are there; all leave it when the last has come.
  Task meet(Gate& gate);
  Item item;

  /// From now on the process has memory of a device of its node, as much as of its own; interfaces know it
  /// where they reach it. Throws UserError where the node has no such device.
  void use_device(const std::string& name);
  bool device_is_peer() const { return device_key_ != 0; }
  std::uint64_t device_key() const { return device_key_; }
  /// Copies the first bytes of its own memory to the device's, or the reverse, and waits until that is done.
  Task copy(bool to_device, std::uint64_t bytes);
  void write_device(std::uint64_t offset, std::uint64_t value);
  /// What a register holds now; looking takes no time.
  std::uint64_t look_at_device(std::uint64_t offset);
  /// A command to the device (node/compute_registers.hpp); copies that follow wait until it has ended.
  void command(std::uint64_t what, std::span<const std::uint64_t> arguments);
  /// Where its memory of the device begins there.
  std::uint64_t device_offset() const { return device_offset_; }

  /// A descriptor for an operation on another process; all of both memories is registered.
  nic::Descriptor to(const Process& other, nic::Operation operation, std::uint64_t length,
                     std::uint16_t flags = 0) const;

  std::span<std::uint8_t> memory() { return memory_; }
  /// What the interface sees of memory of the process: the same in every run, wherever the system puts it.
  mpi::Place place_of(const void* base, std::uint64_t bytes);
  /// Registers memory from this time on; how long the interface takes for it.
  Time register_memory(void* base, std::uint64_t bytes, std::uint32_t rights, std::uint64_t simulated,
                       Time from, std::uint64_t& key);
  Time unregister_memory(std::uint64_t key, Time from);

 private:
  friend class Lab;
  struct Suspend;
  Process(Lab& lab, unsigned number, nic::PortRef port) : lab_(lab), number_(number), port_(port) {}
  void take_front();

  Lab& lab_;
  unsigned number_;
  nic::PortRef port_;
  std::uint64_t key_ = 0;
  node::DeviceId device_ = 0;
  std::uint64_t device_key_ = 0, device_offset_ = 0;
  unsigned queued_ = 0;  // descriptors in its submission queue
  std::deque<Item> arrived_;
  std::vector<std::uint8_t> memory_;
  struct Placed {
    const void* base;
    std::uint64_t bytes, simulated;
  };
  std::vector<Placed> placed_;
  std::coroutine_handle<> waiter_;
  std::size_t program_ = 0;
  enum class Wait { None, Slot, Arrival, Step, Gate, Copy } waits_ = Wait::None;
};

class Lab : private nic::Host {
 public:
  Lab(const machine::Machine& machine, const std::string& engine,
      const std::vector<network::EndpointId>& nodes, std::uint64_t seed = 1);

  const machine::Machine& machine() const { return machine_; }
  const nic::Fabric& fabric() const { return *fabric_; }

  /// A process on one of the nodes, with memory of its own. `memory_queue`: it posts by doorbell.
  Process& add(std::size_t node, std::uint64_t memory = 4096, bool memory_queue = false);
  /// What the processes run; called once for each program.
  void start(Process& process, Task program);
  /// Until all programs have ended. Throws where they cannot.
  void run();

 private:
  friend class Process;
  struct Plan {
    Time at;
    std::uint64_t order;
    Process* process;
    bool operator<(const Plan& o) const { return at != o.at ? at > o.at : order > o.order; }
  };

  bool read(node::SpaceId owner, std::uint64_t address, void* to, std::uint64_t length) override;
  bool write(node::SpaceId owner, std::uint64_t address, const void* from, std::uint64_t length) override;
  bool has_space(node::NodeId node, node::SpaceId space) const override;
  void message(nic::PortRef port, const nic::Message& message) override;
  void event(nic::PortRef port, const nic::Event& event) override;
  void slot_free(nic::PortRef port, Time at) override;
  void device_copied(std::uint64_t token, bool well) override;

  Process& at(nic::PortRef port);
  void arrived(nic::PortRef port, Item item);
  void plan(Process& process, Time at);
  void resume(Process& process);

  const machine::Machine& machine_;
  std::unique_ptr<network::Network> network_;
  event::EventQueue queue_;
  std::unique_ptr<nic::Fabric> fabric_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::vector<Process*>> by_port_;  // nic, port
  std::vector<std::pair<Process*, Task>> programs_;
  std::vector<Plan> plans_;
  std::vector<std::uint64_t> device_used_;  // bytes of devices that processes have, by node and device
  std::uint64_t order_ = 0;
};

}  // namespace weft::measure::lab
