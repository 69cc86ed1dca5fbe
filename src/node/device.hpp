// What sits on a node's bus beside the processor. A device has registers that the processor reads and writes,
// moves data by DMA, raises interrupts, and lives by events of the simulation's queue.
#pragma once

#include <cstdint>
#include <string>

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
  NodeId node() const { return slot_.node; }

 private:
  Slot slot_;
  event::ComponentId component_;
};

inline constexpr std::uint64_t kNoRegister = ~std::uint64_t{0};

}  // namespace weft::node
