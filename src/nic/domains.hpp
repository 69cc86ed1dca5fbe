// Protection domains of one interface, and the global addresses of the memory in them.
//
// A global address has 80 bits: 16 name the domain, 22 the node, 42 a place in the domain's own space on that
// node. The domain picks the table by which the place becomes an address of the one process that has the
// domain there. Places are given out at registration, because a process's own addresses need more than 42
// bits.
#pragma once

#include <algorithm>
#include <vector>

#include "nic/descriptor.hpp"

namespace weft::nic {

inline constexpr unsigned kPlaceBits = 42, kNodeBits = 22;
inline constexpr std::uint32_t kDomains = 1u << 16, kNoDomain = 0xffffffff;
inline constexpr std::uint64_t kPlaces = std::uint64_t{1} << kPlaceBits;

/// The lower 64 bits of a global address.
inline std::uint64_t global_place(std::uint32_t node, std::uint64_t place) {
  return std::uint64_t{node} << kPlaceBits | place;
}
inline std::uint32_t node_of(std::uint64_t global) {
  return static_cast<std::uint32_t>(global >> kPlaceBits);
}
inline std::uint64_t place_of(std::uint64_t global) { return global & (kPlaces - 1); }

class DomainTable {
 public:
  struct Found {
    std::uint64_t address = 0;
    std::uint32_t owner = 0, port = 0;
  };

  /// Busy where another process has the domain on this node.
  Status join(std::uint32_t id, std::uint32_t owner) {
    auto at = lower(id);
    if (at == domains_.end() || at->id != id) at = domains_.insert(at, {id, owner, 0, {}});
    if (at->owner != owner) return Status::Busy;
    ++at->ports;
    return Status::Ok;
  }

  /// A port takes its memory along; the last one gives the domain back.
  void leave(std::uint32_t id, std::uint32_t port) {
    auto at = lower(id);
    for (const Region& r : at->regions)
      if (r.port == port) bytes_ -= r.length;
    std::erase_if(at->regions, [&](const Region& r) { return r.port == port; });
    if (--at->ports == 0) domains_.erase(at);
  }

  /// Gives out a place with the same offset in its page as the address.
  Status add(std::uint32_t id, std::uint32_t port, std::uint64_t address, std::uint64_t length,
             std::uint32_t rights, std::uint64_t page, std::uint64_t& place) {
    Domain& d = *lower(id);
    // The first gap: regions are in order, so the search is one walk.
    std::uint64_t offset = address % page, begin = page;  // nothing lies at 0
    std::size_t i = 0;
    for (; i < d.regions.size(); ++i) {
      if (d.regions[i].place >= begin + offset && d.regions[i].place - begin - offset >= length + page) break;
      begin = (d.regions[i].place + d.regions[i].length + page - 1) / page * page + page;
    }
    if (length > kPlaces || begin + offset > kPlaces - length) return Status::NoRoom;
    place = begin + offset;
    d.regions.insert(d.regions.begin() + static_cast<std::ptrdiff_t>(i),
                     {place, length, address, port, rights});
    bytes_ += length;
    return Status::Ok;
  }

  bool remove(std::uint32_t id, std::uint32_t port, std::uint64_t place) {
    Domain& d = *lower(id);
    auto at = std::find_if(d.regions.begin(), d.regions.end(),
                           [&](const Region& r) { return r.place == place && r.port == port; });
    if (at == d.regions.end()) return false;
    bytes_ -= at->length;
    d.regions.erase(at);
    return true;
  }

  Status check(std::uint32_t id, std::uint64_t place, std::uint64_t length, std::uint32_t rights,
               Found& found) const {
    auto domain = std::lower_bound(domains_.begin(), domains_.end(), id, before);
    if (domain == domains_.end() || domain->id != id) return Status::NoPort;
    auto after = std::upper_bound(domain->regions.begin(), domain->regions.end(), place,
                                  [](std::uint64_t p, const Region& r) { return p < r.place; });
    if (after == domain->regions.begin()) return Status::BadKey;
    const Region& r = *(after - 1);
    if (place - r.place >= r.length) return Status::BadKey;
    if ((r.rights & rights) != rights) return Status::NoRight;
    if (length > r.length - (place - r.place)) return Status::BadRange;
    found = {r.address + (place - r.place), domain->owner, r.port};
    return Status::Ok;
  }

  /// Registered in all.
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Region {
    std::uint64_t place, length, address;
    std::uint32_t port, rights;
  };
  struct Domain {
    std::uint32_t id, owner, ports;
    std::vector<Region> regions;  // by place
  };
  static bool before(const Domain& d, std::uint32_t id) { return d.id < id; }
  std::vector<Domain>::iterator lower(std::uint32_t id) {
    return std::lower_bound(domains_.begin(), domains_.end(), id, before);
  }

  std::vector<Domain> domains_;  // by id
  std::uint64_t bytes_ = 0;
};

}  // namespace weft::nic
