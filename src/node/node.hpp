// A node: a bus, and the devices on it. The processor reaches their registers over the bus, and is
// interrupted by them.
//
// A read of a register is a message to the device and one back; a write is one that nobody answers. Both take
// effect when they reach the device, in the order in which they were sent.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/slab.hpp"
#include "node/device.hpp"
#include "node/kind.hpp"

namespace weft::node {

/// Whoever runs programs on nodes; one whose programs use no devices need not listen. Calls come in the order
/// of their times.
class Processor {
 public:
  virtual ~Processor() = default;
  /// A read of a register has come back.
  virtual void register_read(std::uint64_t token, std::uint64_t value) { (void)token, (void)value; }
  /// A device has interrupted the node's processor.
  virtual void device_interrupt(NodeId node, DeviceId device) { (void)node, (void)device; }
  /// A copy has ended (Copy::token).
  virtual void device_copied(std::uint64_t token, bool well) { (void)token, (void)well; }
};

class Node : private event::EventHandler, private InterruptLine {
 public:
  /// `interrupt`: from a device that raises one to the processor that handles it.
  Node(NodeId id, const BusParameters& bus, Time interrupt, event::EventQueue& queue, Memory& memory,
       Processor& processor)
      : id_(id),
        bus_(bus),
        interrupt_(interrupt),
        queue_(queue),
        component_(queue.join(*this)),
        memory_(memory),
        processor_(processor) {}

  NodeId id() const { return id_; }
  Bus& bus() { return bus_; }

  /// The place of the next device, to make it with; add() puts it there.
  Slot next_slot(std::string name) {
    return {id_,   static_cast<DeviceId>(devices_.size()), std::move(name), queue_, bus_, memory_, *this,
            ports_};
  }
  /// Of the node's interface; for devices that are made later.
  void set_ports(DevicePorts& ports) { ports_ = &ports; }
  void add(std::unique_ptr<Device> device) { devices_.push_back(std::move(device)); }

  DeviceId devices() const { return static_cast<DeviceId>(devices_.size()); }
  const Device& device(DeviceId id) const { return *devices_[id]; }
  Device& device(DeviceId id) { return *devices_[id]; }
  /// devices() where there is none of that name.
  DeviceId find(std::string_view name) const;

  /// The processor's accesses, begun at `from`; `token` comes back with the value.
  void read(DeviceId device, std::uint64_t offset, Time from, std::uint64_t token);
  void write(DeviceId device, std::uint64_t offset, std::uint64_t value, Time from);
  /// The processor's driver asks a device for a copy.
  void copy(DeviceId device, const Copy& copy, Time from);

 private:
  enum Kind : std::uint32_t { Read, Answer, Write, Interrupt, StartCopy };
  struct Access {
    DeviceId device;
    std::uint64_t offset, value, token;
  };

  void handle(const event::Event& event) override;
  void raise(DeviceId device) override;
  void copied(std::uint64_t token, bool well) override;
  std::uint32_t new_access(const Access& access);

  NodeId id_;
  Bus bus_;
  Time interrupt_;
  event::EventQueue& queue_;
  event::ComponentId component_;
  Memory& memory_;
  Processor& processor_;
  DevicePorts* ports_ = nullptr;
  std::vector<std::unique_ptr<Device>> devices_;
  Slab<Access> accesses_;
  struct Asked {
    DeviceId device;
    Copy copy;
  };
  Slab<Asked> copies_;  // on their way to devices
};

}  // namespace weft::node
