// What sits on a node's bus beside the processor. A device has registers that the processor reads and writes,
// moves data by DMA, raises interrupts, and lives by events of the simulation's queue.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "abi/descriptor.hpp"
#include "event/event_queue.hpp"
#include "node/bus.hpp"
#include "node/memory.hpp"

namespace weft::node {

using DeviceId = std::uint32_t;  // of one node, from 0

/// Whoever the devices' interrupts are for.
class InterruptLine {
 public:
  virtual ~InterruptLine() = default;
  virtual void raise(DeviceId device) = 0;
  /// A copy that the processor asked for (Copy::token) has ended; it has been told by a word in its memory.
  virtual void copied(std::uint64_t token, bool well) { (void)token, (void)well; }
};

/// Ports of the node's interface that processes have handed to devices.
class DevicePorts {
 public:
  virtual ~DevicePorts() = default;
  /// Posts on a port; false where it is not the device's.
  virtual bool post(DeviceId device, std::uint32_t port, const nic::Descriptor& descriptor) = 0;
  /// The device has taken a message out of the port's ring.
  virtual void taken(std::uint32_t port) = 0;
  /// A store to addresses of the bus, begun at this time; false where they lead to nothing that it may use.
  virtual bool store(DeviceId device, std::uint64_t address, std::span<const std::uint8_t> data,
                     Time begun) = 0;
};

/// A copy between a process's memory and that of a device, which the device carries out.
struct Copy {
  bool to_device = true;
  std::uint64_t offset = 0;  // in the device's memory
  SpaceId space = 0;
  std::uint64_t address = 0, length = 0;
  std::uint64_t token = 0;
};

/// What a device with memory of its own says of it.
struct OwnMemory {
  SpaceId space = kNoSpace;
  std::uint64_t size = 0;
  int file = -1;  // for processes that map it; -1: none can
  bool is_peer =
      true;  // other devices of the node reach it; else it is copied to the processor's memory first
};

/// A device's place on a node, and all that it can use there.
struct Slot {
  NodeId node;
  DeviceId id;
  std::string name;  // from the description
  event::EventQueue& queue;
  Bus& bus;
  Memory& memory;
  InterruptLine& interrupts;
  DevicePorts* ports = nullptr;  // nothing where the node has no interface
};

class Device : public event::EventHandler {
 public:
  explicit Device(const Slot& slot) : slot_(slot), component_(slot.queue.join(*this)) {}
  Device(const Device&) = delete;

  const std::string& name() const { return slot_.name; }

  /// The processor's access has reached the device. Registers have 64 bits and are named by their offset in
  /// bytes; one that is not there reads as all ones and ignores what is written, as on a real bus.
  virtual std::uint64_t read_register(std::uint64_t offset) = 0;
  virtual void write_register(std::uint64_t offset, std::uint64_t value) = 0;

  /// Nothing where it has no memory that others could use.
  virtual const OwnMemory* own_memory() const { return nullptr; }
  /// Begins a copy, or lets it wait its turn; false where it has no memory.
  virtual bool copy(const Copy& copy) {
    (void)copy;
    return false;
  }
  /// An event of a port that is the device's.
  virtual void port_event(std::uint32_t port, const nic::Event& event) { (void)port, (void)event; }
  /// A message for such a port; its place in the ring is free when the device says so.
  virtual void port_message(std::uint32_t port, const nic::Message& message) {
    (void)message;
    taken(port);
  }

  /// Such a port is gone, and with it what lies in its ring.
  virtual void port_closed(std::uint32_t port) { (void)port; }

  /// An event the device asked for (after, at).
  void handle(const event::Event& event) override { act(event.kind, event.data); }

 protected:
  virtual void act(std::uint32_t kind, std::uint64_t data) = 0;

  Time now() const { return slot_.queue.now(); }
  void at(Time when, std::uint32_t kind, std::uint64_t data = 0) {
    slot_.queue.at(when, component_, kind, data);
  }
  Bus& bus() { return slot_.bus; }
  Memory& memory() { return slot_.memory; }
  bool reaches(SpaceId space) const { return slot_.memory.has_space(slot_.node, space); }
  void interrupt() { slot_.interrupts.raise(slot_.id); }
  void copied(std::uint64_t token, bool well) { slot_.interrupts.copied(token, well); }
  bool post(std::uint32_t port, const nic::Descriptor& descriptor) {
    return slot_.ports && slot_.ports->post(slot_.id, port, descriptor);
  }
  void taken(std::uint32_t port) {
    if (slot_.ports) slot_.ports->taken(port);
  }
  bool store(std::uint64_t address, std::span<const std::uint8_t> data, Time begun) {
    return slot_.ports && slot_.ports->store(slot_.id, address, data, begun);
  }
  NodeId node() const { return slot_.node; }

 private:
  Slot slot_;
  event::ComponentId component_;
};

inline constexpr std::uint64_t kNoRegister = ~std::uint64_t{0};

}  // namespace weft::node
