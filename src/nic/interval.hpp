// What the on-chip network of an interface goes by: lines of its table, and who asks.
#pragma once

#include <span>

#include "nic/host.hpp"

namespace weft::nic {

/// Who on the chip takes an access.
enum class Unit : std::uint8_t { Network, Registers, Messages, Rdma };
inline constexpr std::uint8_t kFromHost = 1, kFromPort = 2, kFromAll = 3;  // inputs

/// In words, for people: "the register file".
const char* name_of(Unit unit);

/// A line of the table. Addresses that lead to the network are those of another interface, from `base` on
/// there; those of a unit begin at 0 there.
struct Interval {
  std::uint64_t first = 0, size = 0;
  NicId target = kNobody;
  std::uint64_t base = 0;
  Unit unit = Unit::Network;
  std::uint8_t inputs = kFromPort;
};

/// Who stores into a unit or reads it.
struct Asker {
  NicId nic = kNobody;                      // of the node it comes from
  std::span<const node::DeviceId> devices;  // whose ports he may post on; none: those of no device
  Time begun{0};                            // of the access
};

}  // namespace weft::nic
