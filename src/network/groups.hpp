// Sets of endpoints that a packet can be for, and their numbers.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "network/packet.hpp"

namespace weft::network {

class Groups {
 public:
  GroupNumber number(std::span<const EndpointId> members);
  /// In the order of their numbers.
  const std::vector<EndpointId>& members(GroupNumber group) const { return members_[group]; }
  std::size_t count() const { return members_.size(); }

 private:
  std::map<std::vector<EndpointId>, GroupNumber> numbers_;
  std::vector<std::vector<EndpointId>> members_;
};

}  // namespace weft::network
