#include "network/groups.hpp"

#include <algorithm>

namespace weft::network {

GroupNumber Groups::number(std::span<const EndpointId> members) {
  std::vector<EndpointId> sorted(members.begin(), members.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  auto [at, fresh] = numbers_.try_emplace(sorted, static_cast<GroupNumber>(members_.size()));
  if (fresh) members_.push_back(std::move(sorted));
  return at->second;
}

}  // namespace weft::network
