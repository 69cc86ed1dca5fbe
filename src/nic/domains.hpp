// Protection domains of one interface, and the global addresses of the memory in them.
//
// A global address has 80 bits: 16 name the domain, 22 the node, 42 a place in the domain's own space on that
// node. The domain picks the table by which the place becomes an address of the one process that has the
// domain there. A process's own addresses need more than 42 bits, so places are given out at registration, or
// are the memory's physical addresses where the machine's map is static.
#pragma once

#include <algorithm>
#include <iterator>
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
  struct Region {
    std::uint64_t place, length, address;
    std::uint32_t port, rights;
  };
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

  std::size_t size() const { return domains_.size(); }

  bool has(std::uint32_t id) const {
    auto at = std::lower_bound(domains_.begin(), domains_.end(), id, before);
    return at != domains_.end() && at->id == id;
  }

  /// A port takes its memory along, which is handed back; the last one gives the domain back.
  std::vector<Region> leave(std::uint32_t id, std::uint32_t port) {
    auto at = lower(id);
    std::vector<Region> out;
    std::copy_if(at->regions.begin(), at->regions.end(), std::back_inserter(out),
                 [&](const Region& r) { return r.port == port; });
    std::erase_if(at->regions, [&](const Region& r) { return r.port == port; });
    if (--at->ports == 0) domains_.erase(at);
    return out;
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
    return Status::Ok;
  }

  /// The same at a place that is given. Busy where another region lies there.
  Status add_at(std::uint32_t id, const Region& region) {
    Domain& d = *lower(id);
    auto next = std::find_if(d.regions.begin(), d.regions.end(),
                             [&](const Region& r) { return r.place + r.length > region.place; });
    if (next != d.regions.end() && next->place < region.place + region.length) return Status::Busy;
    d.regions.insert(next, region);
    return Status::Ok;
  }

  /// The port's region at a place; null where it has none there.
  Region* find(std::uint32_t id, std::uint32_t port, std::uint64_t place) {
    Domain& d = *lower(id);
    auto at = std::find_if(d.regions.begin(), d.regions.end(),
                           [&](const Region& r) { return r.place == place && r.port == port; });
    return at == d.regions.end() ? nullptr : &*at;
  }

  bool remove(std::uint32_t id, std::uint32_t port, std::uint64_t place) {
    const Region* region = find(id, port, place);
    if (region) lower(id)->regions.erase(lower(id)->regions.begin() + (region - lower(id)->regions.data()));
    return region;
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

 private:
  struct Domain {
    std::uint32_t id, owner, ports;
    std::vector<Region> regions;  // by place
  };
  static bool before(const Domain& d, std::uint32_t id) { return d.id < id; }
  std::vector<Domain>::iterator lower(std::uint32_t id) {
    return std::lower_bound(domains_.begin(), domains_.end(), id, before);
  }

  std::vector<Domain> domains_;  // by id
};

}  // namespace weft::nic
