// Memory spaces: of a rank, of a device, of a kernel. A space is named by its number alone; who owns it is
// the business of whoever answers for them.
#pragma once

#include <cstdint>

namespace weft::node {

using NodeId = std::uint32_t;
using SpaceId = std::uint32_t;

class Memory {
 public:
  virtual ~Memory() = default;
  /// False where the memory is not there.
  virtual bool read(SpaceId space, std::uint64_t address, void* to, std::uint64_t length) = 0;
  virtual bool write(SpaceId space, std::uint64_t address, const void* from, std::uint64_t length) = 0;
  /// Is the space on this node? Devices reach no other.
  virtual bool has_space(NodeId node, SpaceId space) const = 0;
};

}  // namespace weft::node
