// PCI of a Linux node: devices of other nodes that its kernel sees on its own bus. Each is a socket to the
// kernel, over which configuration and registers are read and written as messages; they become packets of PCI
// Express and travel to the device. Its reads and writes of memory come back the same way, and so do its
// interrupts.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "guest/vhost_user.hpp"
#include "nic/fabric.hpp"
#include "nic/host_bridge.hpp"
#include "nic/root_port.hpp"

namespace weft::guest {

/// A function below the root port of another node.
struct RemoteFunction {
  nic::NicId nic = 0;
  pcie::FunctionId id;  // as that node's own enumeration has numbered it
  std::string about;
};

/// One slot of the kernel's bus: with a function in it, or empty. A kernel finds out when it looks.
class PciSlot {
 public:
  PciSlot(std::uint32_t number, nic::HostBridge& bridge, nic::Fabric& fabric, nic::NicId host);

  std::uint32_t number() const { return number_; }
  VhostUser& vhost() { return vhost_; }
  void plug(const RemoteFunction& function);
  /// Whatever is asked of it from now on is answered with ones.
  void unplug();
  /// Nothing where it is empty.
  const RemoteFunction* function() const { return function_ ? &*function_ : nullptr; }
  static constexpr unsigned kCommandQueue = 0, kInterruptQueue = 1;

  /// When the guest kicks; it may be ahead of the simulation.
  std::function<Time()> guest_time = [] { return Time{0}; };
  std::function<void(unsigned queue)> interrupt_guest = [](unsigned) {};
  /// The guest stands still for an answer, and it is there.
  std::function<void()> wake_guest = [] {};

  /// What the guest has asked for while it ran is carried out, each at its time.
  void take_kicks();
  /// The answer to a read, as the guest has it from now on.
  void answer(std::uint32_t piece, bool well, std::span<const std::uint8_t> data);
  void interrupt(std::uint32_t data);
  /// The guest is gone.
  void stop();

 private:
  struct Header {
    std::uint8_t operation, bar;
    std::uint16_t waits;  // the guest stands still until this is answered, and has kicked nobody
    std::uint32_t size;
    std::uint64_t address;
  };
  static_assert(sizeof(Header) == 16);
  struct Request {
    Time at;
    Header header;
    std::uint16_t head = 0;
    std::uint32_t generation = 0;  // of the guest's memory that it lies in
    std::vector<Chain::Piece> writable;
    std::vector<std::uint8_t> data;
    std::uint32_t pieces = 0;  // of a read that are still to come
  };
  struct Piece {
    std::uint32_t request, offset;
  };

  void kicked();
  void take(const Chain& chain);
  void carry_out(std::uint32_t index);
  void write_config(const Request& request);
  void read(std::uint32_t index, bool config);
  void write_memory(const Request& request);
  bool has_registers(const Header& header) const;
  std::uint64_t address_of(const Header& header) const {
    return shadow_->bar_address(header.bar) + header.address;
  }
  bool is_config(const Header& header) const;
  void map(Time when);
  void send_config(pcie::FunctionId to, std::uint32_t at, std::uint32_t bytes, std::uint32_t value,
                   Time when);
  void end_read(std::uint32_t index);

  std::uint32_t number_;
  nic::HostBridge& bridge_;
  nic::Fabric& fabric_;
  nic::NicId host_;
  std::optional<RemoteFunction> function_;
  VhostUser vhost_;
  Chain chain_;
  std::vector<std::uint32_t> kicks_;  // requests, since all nodes waited last
  Slab<Request, 16> requests_;
  Slab<Piece, 16> pieces_;  // of reads, each a request of its own
  std::optional<pcie::ConfigSpace>
      shadow_;  // of the function: what the kernel has written of base addresses and of the command register
  std::vector<std::uint64_t> mapped_;  // where the kernel has put its registers: intervals begin there
  unsigned unheard_ = 0;               // writes given back that the guest has not heard of
};

/// All slots of a node.
class Pci final : private nic::BridgeUser {
 public:
  static constexpr std::size_t kSlots = 8;  // of the kernel's bus

  Pci(nic::Fabric& fabric, nic::NicId host, event::EventQueue& queue,
      const machine::HostParameters& parameters);

  const std::vector<std::unique_ptr<PciSlot>>& slots() const { return slots_; }
  /// Puts functions into slots that are free; false where they are too few.
  bool plug(const std::vector<RemoteFunction>& functions);
  /// Numbers of the slots that have functions of a node.
  std::vector<std::uint32_t> slots_of(nic::NicId device) const;
  void unplug(nic::NicId device);

  Time undisturbed_until(Time quiet) const { return bridge_.undisturbed_until(quiet); }
  /// The least time between what the guest says and what it hears of it.
  static Time reaction(const machine::HostParameters& parameters) {
    return std::min(parameters.interrupt, parameters.write_latency + parameters.write_latency);
  }
  void take_kicks();
  /// The guest is gone.
  void stop();

 private:
  bool dma_read(nic::NicId device, std::uint64_t address, std::span<std::uint8_t> to) override;
  bool dma_write(nic::NicId device, std::uint64_t address, std::span<const std::uint8_t> from) override;
  bool is_interrupt(std::uint64_t address) const override;
  void interrupted(nic::NicId device, std::uint32_t data) override;
  void read_done(std::uint32_t token, bool well, std::span<const std::uint8_t> data) override;
  PciSlot* slot_of(nic::NicId device);

  nic::HostBridge bridge_;
  std::vector<std::unique_ptr<PciSlot>> slots_;
};

}  // namespace weft::guest
