// The configuration space of a function: type 0 of a device, type 1 of a bridge. Which bits can be written is
// part of it, so that sizing of base address registers needs no code of its own: bits below the size stay 0.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace weft::pcie {

struct Identity {
  std::uint16_t vendor, device;
  std::uint32_t class_code;  // class, subclass, programming interface
  std::uint8_t revision = 1;
};

/// Of the registers that this code uses by name.
enum ConfigRegister : std::uint16_t {
  kVendor = 0x00,
  kCommand = 0x04,
  kStatus = 0x06,
  kClass = 0x08,
  kHeaderType = 0x0e,
  kBar0 = 0x10,
  kPrimaryBus = 0x18,
  kSecondaryBus = 0x19,
  kSubordinateBus = 0x1a,
  kMemoryBase = 0x20,
  kMemoryLimit = 0x22,
  kPrefetchBase = 0x24,
  kPrefetchLimit = 0x26,
  kSubsystem = 0x2c,
  kCapabilities = 0x34,
};
enum CommandBit : std::uint16_t { kMemoryEnable = 2, kBusMaster = 4 };

enum CapabilityId : std::uint8_t {
  kCapabilityMsi = 5,
  kCapabilityHyperTransport = 8,
  kCapabilityExpress = 0x10,
  kCapabilityMsiX = 0x11
};

/// A base address register, as a device wants it.
struct Bar {
  std::uint64_t size = 0;  // a power of two; 0: none
  bool wide = false;       // 64 bits: takes the next register as well
  bool prefetchable = false;
};

class ConfigSpace {
 public:
  static constexpr std::uint32_t kSize = 4096;

  static ConfigSpace device(const Identity& identity, const std::vector<Bar>& bars);
  static ConfigSpace bridge(const Identity& identity);

  bool is_bridge() const { return bytes_[kHeaderType] & 1; }

  /// As configuration requests do; a register that is not there reads as 0 and ignores what is written.
  std::uint32_t read(std::uint32_t offset, std::uint32_t bytes) const;
  void write(std::uint32_t offset, std::uint32_t bytes, std::uint32_t value);

  /// As the device itself does, whatever the rights.
  void set(std::uint32_t offset, std::uint32_t bytes, std::uint32_t value);

  /// Appends a capability; `writable` says which bits. Returns its offset.
  std::uint8_t add_capability(std::uint8_t id, const std::vector<std::uint8_t>& body,
                              const std::vector<std::uint8_t>& writable);
  /// Where one is; nothing where there is none.
  std::optional<std::uint8_t> find_capability(std::uint8_t id) const;

  const std::vector<Bar>& bars() const { return bars_; }
  /// As it is set now.
  std::uint64_t bar_address(unsigned bar) const;
  bool memory_enabled() const { return read(kCommand, 2) & kMemoryEnable; }
  bool bus_master() const { return read(kCommand, 2) & kBusMaster; }

  // Of a bridge.
  unsigned secondary() const { return bytes_[kSecondaryBus]; }
  unsigned subordinate() const { return bytes_[kSubordinateBus]; }
  /// Does its window let this address through to below?
  bool window_has(std::uint64_t address, std::uint64_t bytes) const;

 private:
  explicit ConfigSpace(const Identity& identity);

  std::vector<std::uint8_t> bytes_, writable_;
  std::vector<Bar> bars_;
  std::uint8_t end_ = 0x40;  // of what is used of the first 256 bytes
  std::uint8_t last_ = 0;    // capability
};

/// The capability that every function on PCI Express has. `type`: 0 a device, 4 a root port, 5 and 6 the two
/// ends of a switch.
struct ExpressCapability {
  unsigned type = 0, generation = 3, width = 4;
  std::uint32_t max_payload = 256;  // bytes; a power of two from 128 on
};
void add_express(ConfigSpace& space, const ExpressCapability& capability);
/// Bytes that device control allows in a packet, and in a request for data; on another bus than PCI Express
/// kShortPayload.
inline constexpr std::uint32_t kShortPayload = 64;
std::uint32_t payload_of(const ConfigSpace& space);
std::uint32_t read_request_of(const ConfigSpace& space);
/// What it could do at most.
std::uint32_t largest_payload_of(const ConfigSpace& space);
void set_payload(ConfigSpace& space, std::uint32_t bytes);
/// Requests with answers that it may have under way, by the tags of its bus.
std::size_t tags_of(const ConfigSpace& space);

/// MSI-X: so many vectors, their table and pending bits in a BAR.
void add_msix(ConfigSpace& space, unsigned vectors, unsigned bar, std::uint32_t table, std::uint32_t pending);

}  // namespace weft::pcie
