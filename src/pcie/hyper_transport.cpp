#include "pcie/hyper_transport.hpp"

#include "base/check.hpp"

namespace weft::pcie::hyper_transport {

namespace {

constexpr std::uint16_t kHostType = 0x2000, kMsiFixed = 2;
constexpr std::uint16_t kInitialized = 0x20, kEndOfChain = 0x40;  // of link control
constexpr std::uint64_t kShortAddresses = std::uint64_t{1} << 40;

/// A capability as it is made, at offsets from its beginning.
class Body {
 public:
  explicit Body(std::size_t bytes) : bytes_(bytes - 2), writable_(bytes - 2) {}
  void put(unsigned at, unsigned bytes, std::uint32_t value, std::uint32_t writable = 0) {
    for (unsigned i = 0; i < bytes; ++i) {
      bytes_[at - 2 + i] = static_cast<std::uint8_t>(value >> 8 * i);
      writable_[at - 2 + i] = static_cast<std::uint8_t>(writable >> 8 * i);
    }
  }
  void add_to(ConfigSpace& space) const {
    space.add_capability(kCapabilityHyperTransport, bytes_, writable_);
  }

 private:
  std::vector<std::uint8_t> bytes_, writable_;
};

std::uint16_t width_code(unsigned width) {
  switch (width) {
    case 2:
      return 4;
    case 4:
      return 5;
    case 8:
      return 0;
    case 16:
      return 1;
    default:
      return 3;
  }
}
constexpr std::uint16_t kNotConnected = 7;

/// What it could be and what it is, in and out.
std::uint16_t widths(unsigned width) {
  const std::uint16_t code = width_code(width);
  return static_cast<std::uint16_t>(code | code << 4 | code << 8 | code << 12);
}
std::uint16_t unconnected(unsigned width) {
  const std::uint16_t code = width_code(width);
  return static_cast<std::uint16_t>(code | code << 4 | kNotConnected << 8 | kNotConnected << 12);
}

const LinkClock& known_clock(unsigned megahertz) {
  const LinkClock* clock = clock_of(megahertz);
  WEFT_CHECK(clock, "a clock that HyperTransport has");
  return *clock;
}

std::uint8_t revision_code(unsigned revision) {
  return static_cast<std::uint8_t>(revision == 1 ? 0x23 : revision << 5);
}

/// Bits of the clocks up to this one.
std::uint16_t clocks_up_to(unsigned code) { return static_cast<std::uint16_t>((2u << code) - 1); }

// Offsets in the capability of a unit.
enum : unsigned {
  kControl0 = 4,
  kConfig0 = 6,
  kControl1 = 8,
  kConfig1 = 0xa,
  kRevision = 0xc,
  kClock0 = 0xd,
  kClocks0 = 0xe,
  kClock1 = 0x11,
  kClocks1 = 0x12,
  kUnitBytes = 0x1c
};

}  // namespace

std::uint32_t wire_bytes(const Tlp& tlp, unsigned megahertz) {
  const std::uint32_t packets = packets_of(tlp);
  std::uint32_t control = tlp.is_completion() ? kAnswer : kRequest;
  if (!tlp.is_completion() && !tlp.is_config() && tlp.address >= kShortAddresses) control += kExtension;
  if (known_clock(megahertz).revision >= 3) control += kCheckSum;
  std::uint32_t bytes = packets * control;
  if (!tlp.has_data()) return bytes;
  const auto skew = static_cast<std::uint32_t>((tlp.is_config() ? tlp.register_ : tlp.address) % 4);
  const std::uint32_t end = skew + tlp.bytes;
  bytes += (end + 3) / 4 * 4;
  // A write of less than whole words says which of their bytes count.
  const std::uint32_t masks = (skew != 0) + (end % 4 != 0);
  if (tlp.is_write()) bytes += 4 * std::min(masks, packets);
  return bytes;
}

void add_unit(ConfigSpace& space, const Capability& link) {
  const LinkClock& clock = known_clock(link.megahertz);
  Body body(kUnitBytes);
  body.put(2, 2, 1u << 5, kNumber);  // one unit
  body.put(kControl0, 2, kInitialized);
  body.put(kConfig0, 2, widths(link.width));
  body.put(kControl1, 2, kEndOfChain);
  body.put(kConfig1, 2, unconnected(link.width));
  body.put(kRevision, 1, revision_code(clock.revision));
  body.put(kClock0, 1, clock.code);
  body.put(kClocks0, 2, clocks_up_to(clock.code));
  body.put(kClock1, 1, clock.code);
  body.put(kClocks1, 2, clocks_up_to(clock.code));
  body.add_to(space);
}

void set_followed(ConfigSpace& space, const Capability& link) {
  const unsigned at = *find_unit(space);
  space.set(at + kControl1, 2, kInitialized);
  space.set(at + kConfig1, 2, widths(link.width));
}

void add_host(ConfigSpace& space, const Capability& link) {
  const LinkClock& clock = known_clock(link.megahertz);
  Body host(0x18);
  host.put(2, 2, kHostType);
  host.put(4, 2, kInitialized);
  host.put(6, 2, widths(link.width));
  host.put(8, 1, revision_code(clock.revision));
  host.put(9, 1, clock.code);
  host.put(0xa, 2, clocks_up_to(clock.code));
  host.add_to(space);
  Body mapping(4);
  mapping.put(2, 2, kMsiMapping | kMsiFixed, kMsiEnable);
  mapping.add_to(space);
}

std::optional<std::uint8_t> find_unit(const ConfigSpace& space) {
  for (auto at = static_cast<std::uint8_t>(space.read(kCapabilities, 1)); at;
       at = static_cast<std::uint8_t>(space.read(at + 1u, 1)))
    if (space.read(at, 1) == kCapabilityHyperTransport && (space.read(at + 2u, 2) & kUnitType) == 0)
      return at;
  return std::nullopt;
}

unsigned number_of(const ConfigSpace& space) {
  const auto at = find_unit(space);
  return at ? space.read(*at + 2u, 2) & kNumber : 0;
}

}  // namespace weft::pcie::hyper_transport
