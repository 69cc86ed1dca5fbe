// HyperTransport: clocks and widths of its links, the bytes of its packets, and how its chains number their
// units in configuration space.
//
// A chain has one host, and devices one behind the other: all but the last are tunnels, which pass on what is
// not theirs; the last is the cave. A configuration request of type 0 is for the unit of its device number.
// All units have number 0 at first, so that only the next one that has no number yet answers to it.
//
// Packets have control of 4 bytes (answers), 8, or 12 (addresses beyond 40 bits), and data of at most 64
// bytes, which cross no multiple of 64: longer requests travel as several. With the third revision each has a
// check sum; what the earlier ones send from time to time for all, under a hundredth, is left out.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/quantity.hpp"
#include "pcie/config_space.hpp"
#include "pcie/tlp.hpp"

namespace weft::pcie::hyper_transport {

struct LinkClock {
  unsigned megahertz;
  unsigned revision;  // of the standard: from which on there is this clock
  unsigned code;      // in configuration space
};
inline constexpr std::array<LinkClock, 15> kClocks{{{200, 1, 0},
                                                    {300, 1, 1},
                                                    {400, 1, 2},
                                                    {500, 1, 3},
                                                    {600, 1, 4},
                                                    {800, 1, 5},
                                                    {1000, 2, 6},
                                                    {1200, 2, 7},
                                                    {1400, 2, 8},
                                                    {1600, 3, 9},
                                                    {1800, 3, 10},
                                                    {2000, 3, 11},
                                                    {2200, 3, 12},
                                                    {2400, 3, 13},
                                                    {2600, 3, 14}}};
inline constexpr std::array<unsigned, 5> kWidths{2, 4, 8, 16, 32};
inline constexpr std::uint32_t kBlock = 64;
inline constexpr unsigned kCheckSum = 4, kAnswer = 4, kRequest = 8, kExtension = 4;
/// Units that a chain can number: 0 is the host's.
inline constexpr unsigned kUnits = 31;

constexpr const LinkClock* clock_of(unsigned megahertz) {
  for (const LinkClock& clock : kClocks)
    if (clock.megahertz == megahertz) return &clock;
  return nullptr;
}

/// Two bits a wire in each period of the clock.
constexpr DataRate rate_of(unsigned megahertz, unsigned width) {
  return {std::int64_t{megahertz} * 1'000'000 * 2 * width};
}

/// Packets that carry what a packet of PCI Express says.
inline std::uint32_t packets_of(const Tlp& tlp) {
  if (tlp.is_config() || tlp.bytes == 0) return 1;
  const std::uint64_t first = tlp.address % kBlock;
  return static_cast<std::uint32_t>((first + tlp.bytes + kBlock - 1) / kBlock);
}

/// Their bytes on a link of this clock.
std::uint32_t wire_bytes(const Tlp& tlp, unsigned megahertz);

// --- Configuration space.

struct Capability {
  unsigned megahertz, width;
};
/// Of a unit of a chain; its second link leads nowhere until one follows it.
void add_unit(ConfigSpace& space, const Capability& link);
void set_followed(ConfigSpace& space, const Capability& link);
/// Of the host of a chain: also that interrupts, which are writes, become its own.
void add_host(ConfigSpace& space, const Capability& link);

/// Where the capability of a unit is; nothing where it is none.
std::optional<std::uint8_t> find_unit(const ConfigSpace& space);
/// The number that a unit has been given.
unsigned number_of(const ConfigSpace& space);

/// The same by configuration requests: in the word behind the capability's number.
inline constexpr std::uint16_t kTypeBits = 0xf800, kUnitType = 0xe000, kMsiMapping = 0xa800, kNumber = 0x1f,
                               kMsiEnable = 1;
constexpr unsigned units_in(std::uint16_t command) { return std::max(1u, command >> 5 & 0x1fu); }

}  // namespace weft::pcie::hyper_transport
