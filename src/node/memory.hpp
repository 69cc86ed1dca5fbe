// Memory spaces: of a rank, of a device, of a kernel. A space is named by its number alone; who owns it is
// the business of whoever answers for them.
#pragma once

#include <cstdint>

namespace weft::node {

using NodeId = std::uint32_t;
using SpaceId = std::uint32_t;

/// Spaces of devices are numbered from here on; those below are of processes and kernels.
inline constexpr SpaceId kFirstDeviceSpace = 0xc000'0000, kLastDeviceSpace = 0xcfff'ffff;
inline constexpr SpaceId kNoSpace = 0xffff'ffff;
/// Addresses of the node's bus that are no memory: where the on-chip network of the interface leads to its
/// units.
inline constexpr SpaceId kBusSpace = 0xffff'fffe;
constexpr bool is_of_device(SpaceId space) { return space >= kFirstDeviceSpace && space <= kLastDeviceSpace; }

class Memory {
 public:
  virtual ~Memory() = default;
  /// False where the memory is not there.
  virtual bool read(SpaceId space, std::uint64_t address, void* to, std::uint64_t length) = 0;
  virtual bool write(SpaceId space, std::uint64_t address, const void* from, std::uint64_t length) = 0;
  /// Is the space on this node? Devices reach no other.
  virtual bool has_space(NodeId node, SpaceId space) const = 0;
  /// A device of the node makes memory of its own a space, addressed from 0; kNoSpace where nobody keeps
  /// such.
  virtual SpaceId add_space(NodeId node, std::uint8_t* bytes, std::uint64_t size) {
    (void)node, (void)bytes, (void)size;
    return kNoSpace;
  }
};

}  // namespace weft::node
