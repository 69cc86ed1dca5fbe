#include "pcie/config_space.hpp"

#include <bit>

#include "base/check.hpp"

namespace weft::pcie {

namespace {

constexpr std::uint8_t kBarWide = 4, kBarPrefetchable = 8;
constexpr std::uint64_t kWindowGrain = 1 << 20;
constexpr unsigned kDeviceControl = 8;  // in the capability
constexpr std::size_t kExpressTags = 256, kChainTags = 32;

/// 128 bytes are 0, 256 are 1 and so on.
std::uint32_t size_code(std::uint32_t bytes) {
  return static_cast<std::uint32_t>(std::bit_width(bytes) - 1) - 7;
}

}  // namespace

ConfigSpace::ConfigSpace(const Identity& identity) : bytes_(kSize), writable_(kSize) {
  set(kVendor, 2, identity.vendor);
  set(kVendor + 2, 2, identity.device);
  set(kClass, 4, identity.class_code << 8 | identity.revision);
  writable_[kCommand] = 0x46;  // memory, bus master, parity
  writable_[kCommand + 1] = 0x05;
  writable_[0x0c] = 0xff;  // size of a cache line
  writable_[0x3c] = 0xff;  // interrupt line
}

ConfigSpace ConfigSpace::device(const Identity& identity, const std::vector<Bar>& bars) {
  ConfigSpace out(identity);
  out.bars_ = bars;
  out.bars_.resize(6);
  for (unsigned i = 0; i < 6; ++i) {
    const Bar& bar = out.bars_[i];
    if (!bar.size) continue;
    WEFT_CHECK(std::has_single_bit(bar.size) && bar.size >= 16 && (!bar.wide || i < 5), "a BAR that is none");
    const std::uint64_t writable = ~(bar.size - 1);
    const std::uint32_t at = kBar0 + 4 * i;
    out.bytes_[at] =
        static_cast<std::uint8_t>((bar.wide ? kBarWide : 0) | (bar.prefetchable ? kBarPrefetchable : 0));
    for (unsigned byte = 0; byte < (bar.wide ? 8u : 4u); ++byte)
      out.writable_[at + byte] = static_cast<std::uint8_t>(writable >> 8 * byte);
    out.writable_[at] &= 0xf0;
  }
  out.set(kSubsystem, 2, identity.vendor);
  out.set(kSubsystem + 2, 2, identity.device);
  return out;
}

ConfigSpace ConfigSpace::bridge(const Identity& identity) {
  ConfigSpace out(identity);
  out.bytes_[kHeaderType] = 1;
  for (unsigned at : {kPrimaryBus, kSecondaryBus, kSubordinateBus}) out.writable_[at] = 0xff;
  for (unsigned at : {kMemoryBase, kMemoryLimit, kPrefetchBase, kPrefetchLimit}) {
    out.writable_[at] = 0xf0;
    out.writable_[at + 1] = 0xff;
  }
  // A window whose base is above its limit is closed.
  out.set(kMemoryBase, 2, 0xfff0);
  out.set(kPrefetchBase, 2, 0xfff0);
  out.writable_[0x3e] = 0x43;  // bridge control: errors and reset of what is below
  return out;
}

std::uint32_t ConfigSpace::read(std::uint32_t offset, std::uint32_t bytes) const {
  std::uint32_t value = 0;
  for (std::uint32_t i = 0; i < bytes && offset + i < kSize; ++i)
    value |= std::uint32_t{bytes_[offset + i]} << 8 * i;
  return value;
}

void ConfigSpace::write(std::uint32_t offset, std::uint32_t bytes, std::uint32_t value) {
  for (std::uint32_t i = 0; i < bytes && offset + i < kSize; ++i) {
    const std::uint8_t mask = writable_[offset + i];
    std::uint8_t& byte = bytes_[offset + i];
    byte = static_cast<std::uint8_t>((byte & ~mask) | (value >> 8 * i & mask));
  }
}

void ConfigSpace::set(std::uint32_t offset, std::uint32_t bytes, std::uint32_t value) {
  for (std::uint32_t i = 0; i < bytes; ++i) bytes_[offset + i] = static_cast<std::uint8_t>(value >> 8 * i);
}

std::uint8_t ConfigSpace::add_capability(std::uint8_t id, const std::vector<std::uint8_t>& body,
                                         const std::vector<std::uint8_t>& writable) {
  const std::uint8_t at = end_;
  WEFT_CHECK(at + 2 + body.size() <= 256 && writable.size() <= body.size(), "no room for a capability");
  set(kStatus, 2, read(kStatus, 2) | 0x10);
  bytes_[last_ ? last_ + 1u : unsigned{kCapabilities}] = at;
  bytes_[at] = id;
  for (std::size_t i = 0; i < body.size(); ++i) bytes_[at + 2u + i] = body[i];
  for (std::size_t i = 0; i < writable.size(); ++i) writable_[at + 2u + i] = writable[i];
  last_ = at;
  end_ = static_cast<std::uint8_t>((at + 2 + body.size() + 3) / 4 * 4);
  return at;
}

std::optional<std::uint8_t> ConfigSpace::find_capability(std::uint8_t id) const {
  for (std::uint8_t at = bytes_[kCapabilities]; at; at = bytes_[at + 1u])
    if (bytes_[at] == id) return at;
  return std::nullopt;
}

std::uint64_t ConfigSpace::bar_address(unsigned bar) const {
  std::uint64_t value = read(kBar0 + 4 * bar, 4) & ~0xfu;
  if (bars_[bar].wide) value |= std::uint64_t{read(kBar0 + 4 * bar + 4, 4)} << 32;
  return value;
}

bool ConfigSpace::window_has(std::uint64_t address, std::uint64_t bytes) const {
  for (auto [base, limit] :
       {std::pair{kMemoryBase, kMemoryLimit}, std::pair{kPrefetchBase, kPrefetchLimit}}) {
    const std::uint64_t first = std::uint64_t{read(base, 2) & 0xfff0} << 16;
    const std::uint64_t end = (std::uint64_t{read(limit, 2) & 0xfff0} << 16) + kWindowGrain;
    if (address >= first && address < end && bytes <= end - address) return true;
  }
  return false;
}

void add_express(ConfigSpace& space, const ExpressCapability& c) {
  std::vector<std::uint8_t> body(0x3a), writable(0x3a);
  auto put = [&](unsigned at, unsigned bytes, std::uint32_t value) {
    for (unsigned i = 0; i < bytes; ++i) body[at - 2 + i] = static_cast<std::uint8_t>(value >> 8 * i);
  };
  put(2, 2, 2 | c.type << 4);
  put(4, 4, size_code(c.max_payload) | 1u << 5 | 1u << 15);  // tags of eight bits, errors by role
  put(kDeviceControl, 2, 2u << 12);                          // 128 bytes of data, requests of 512
  put(0xc, 4, c.generation | c.width << 4);                  // what the link could do
  put(0x12, 2, c.generation | c.width << 4);                 // what it does
  put(0x2c, 4, ((1u << c.generation) - 1) << 1);             // speeds it knows
  writable[kDeviceControl - 2] = 0xff;
  writable[kDeviceControl - 1] = 0x7f;
  writable[0x10 - 2] = 0xc3;  // link control
  space.add_capability(kCapabilityExpress, body, writable);
}

std::uint32_t payload_of(const ConfigSpace& space) {
  const auto at = space.find_capability(kCapabilityExpress);
  return at ? 128u << std::min(space.read(*at + kDeviceControl, 2) >> 5 & 7, 5u) : kShortPayload;
}

std::uint32_t read_request_of(const ConfigSpace& space) {
  const auto at = space.find_capability(kCapabilityExpress);
  return at ? 128u << std::min(space.read(*at + kDeviceControl, 2) >> 12 & 7, 5u) : kShortPayload;
}

std::uint32_t largest_payload_of(const ConfigSpace& space) {
  return 128u << std::min(space.read(*space.find_capability(kCapabilityExpress) + 4u, 4) & 7, 5u);
}

void set_payload(ConfigSpace& space, std::uint32_t bytes) {
  const unsigned at = *space.find_capability(kCapabilityExpress) + kDeviceControl;
  space.write(at, 2, (space.read(at, 2) & ~0xe0u) | size_code(bytes) << 5);
}

std::size_t tags_of(const ConfigSpace& space) {
  return space.find_capability(kCapabilityHyperTransport) ? kChainTags : kExpressTags;
}

void add_msix(ConfigSpace& space, unsigned vectors, unsigned bar, std::uint32_t table,
              std::uint32_t pending) {
  std::vector<std::uint8_t> body(10), writable(10);
  auto put = [&](unsigned at, unsigned bytes, std::uint32_t value) {
    for (unsigned i = 0; i < bytes; ++i) body[at + i] = static_cast<std::uint8_t>(value >> 8 * i);
  };
  put(0, 2, vectors - 1);
  put(2, 4, table | bar);
  put(6, 4, pending | bar);
  writable[1] = 0xc0;  // enable, and all masked
  space.add_capability(kCapabilityMsiX, body, writable);
}

}  // namespace weft::pcie
