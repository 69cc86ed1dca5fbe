// Sets of endpoints that a packet can be for, and their numbers.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "network/packet.hpp"

namespace weft::network {

class Groups {
 public:
  GroupNumber number(std::span<const EndpointId> members) {
    std::vector<EndpointId> sorted(members.begin(), members.end());
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    auto [at, fresh] = numbers_.try_emplace(sorted, static_cast<GroupNumber>(members_.size()));
    if (fresh) members_.push_back(std::move(sorted));
    return at->second;
  }
  /// In the order of their numbers.
  const std::vector<EndpointId>& members(GroupNumber group) const { return members_[group]; }
  std::size_t count() const { return members_.size(); }

 private:
  std::map<std::vector<EndpointId>, GroupNumber> numbers_;
  std::vector<std::vector<EndpointId>> members_;
};

}  // namespace weft::network
