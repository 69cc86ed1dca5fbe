// Protection domains of one interface, and the global addresses of the memory in them.
//
// A global address has 80 bits: 16 name the domain, 22 the node, 42 a place in the domain's own space on that
// node. The domain picks the table by which the place becomes an address of the one process that has the
// domain there. A process's own addresses need more than 42 bits, so places are given out at registration, or
// are the memory's physical addresses where the machine's map is static.
#pragma once

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
  Status join(std::uint32_t id, std::uint32_t owner);

  std::size_t size() const { return domains_.size(); }

  bool has(std::uint32_t id) const;

  /// A port takes its memory along, which is handed back; the last one gives the domain back.
  std::vector<Region> leave(std::uint32_t id, std::uint32_t port);

  /// Gives out a place with the same offset in its page as the address.
  Status add(std::uint32_t id, std::uint32_t port, std::uint64_t address, std::uint64_t length,
             std::uint32_t rights, std::uint64_t page, std::uint64_t& place);

  /// The same at a place that is given. Busy where another region lies there.
  Status add_at(std::uint32_t id, const Region& region);

  /// The port's region at a place; null where it has none there.
  Region* find(std::uint32_t id, std::uint32_t port, std::uint64_t place);

  bool remove(std::uint32_t id, std::uint32_t port, std::uint64_t place);

  Status check(std::uint32_t id, std::uint64_t place, std::uint64_t length, std::uint32_t rights,
               Found& found) const;

 private:
  struct Domain {
    std::uint32_t id, owner, ports;
    std::vector<Region> regions;  // by place
  };
  static bool before(const Domain& d, std::uint32_t id) { return d.id < id; }
  std::vector<Domain>::iterator lower(std::uint32_t id);

  std::vector<Domain> domains_;  // by id
};

}  // namespace weft::nic
