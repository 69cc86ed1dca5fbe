#include "node/spaces.hpp"

#include <cstring>

#include "base/check.hpp"

namespace weft::node {

std::uint8_t* Spaces::at(SpaceId space, std::uint64_t address, std::uint64_t length) const {
  const std::size_t index = space - kFirstDeviceSpace;
  if (index >= own_.size()) return nullptr;
  const Own& own = own_[index];
  return length <= own.size && address <= own.size - length ? own.bytes + address : nullptr;
}

bool Spaces::read(SpaceId space, std::uint64_t address, void* to, std::uint64_t length) {
  if (!is_of_device(space)) return others_.read(space, address, to, length);
  const std::uint8_t* from = at(space, address, length);
  if (from) std::memcpy(to, from, length);
  return from;
}

bool Spaces::write(SpaceId space, std::uint64_t address, const void* from, std::uint64_t length) {
  if (!is_of_device(space)) return others_.write(space, address, from, length);
  std::uint8_t* to = at(space, address, length);
  if (to) std::memcpy(to, from, length);
  return to;
}

bool Spaces::has_space(NodeId node, SpaceId space) const {
  if (!is_of_device(space)) return others_.has_space(node, space);
  const std::size_t index = space - kFirstDeviceSpace;
  return index < own_.size() && own_[index].node == node;
}

SpaceId Spaces::add_space(NodeId node, std::uint8_t* bytes, std::uint64_t size) {
  WEFT_CHECK(own_.size() <= kLastDeviceSpace - kFirstDeviceSpace, "numbers are left for spaces of devices");
  own_.push_back({node, bytes, size});
  return kFirstDeviceSpace + static_cast<SpaceId>(own_.size() - 1);
}

}  // namespace weft::node
