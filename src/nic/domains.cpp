#include "nic/domains.hpp"

#include <algorithm>
#include <iterator>

namespace weft::nic {

Status DomainTable::join(std::uint32_t id, std::uint32_t owner) {
  auto at = lower(id);
  if (at == domains_.end() || at->id != id) at = domains_.insert(at, {id, owner, 0, {}});
  if (at->owner != owner) return Status::Busy;
  ++at->ports;
  return Status::Ok;
}

bool DomainTable::has(std::uint32_t id) const {
  auto at = std::lower_bound(domains_.begin(), domains_.end(), id, before);
  return at != domains_.end() && at->id == id;
}

std::vector<DomainTable::Region> DomainTable::leave(std::uint32_t id, std::uint32_t port) {
  auto at = lower(id);
  std::vector<Region> out;
  std::copy_if(at->regions.begin(), at->regions.end(), std::back_inserter(out),
               [&](const Region& r) { return r.port == port; });
  std::erase_if(at->regions, [&](const Region& r) { return r.port == port; });
  if (--at->ports == 0) domains_.erase(at);
  return out;
}

Status DomainTable::add(std::uint32_t id, std::uint32_t port, std::uint64_t address, std::uint64_t length,
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

Status DomainTable::add_at(std::uint32_t id, const Region& region) {
  Domain& d = *lower(id);
  auto next = std::find_if(d.regions.begin(), d.regions.end(),
                           [&](const Region& r) { return r.place + r.length > region.place; });
  if (next != d.regions.end() && next->place < region.place + region.length) return Status::Busy;
  d.regions.insert(next, region);
  return Status::Ok;
}

DomainTable::Region* DomainTable::find(std::uint32_t id, std::uint32_t port, std::uint64_t place) {
  Domain& d = *lower(id);
  auto at = std::find_if(d.regions.begin(), d.regions.end(),
                         [&](const Region& r) { return r.place == place && r.port == port; });
  return at == d.regions.end() ? nullptr : &*at;
}

bool DomainTable::remove(std::uint32_t id, std::uint32_t port, std::uint64_t place) {
  const Region* region = find(id, port, place);
  if (region) lower(id)->regions.erase(lower(id)->regions.begin() + (region - lower(id)->regions.data()));
  return region;
}

Status DomainTable::check(std::uint32_t id, std::uint64_t place, std::uint64_t length, std::uint32_t rights,
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

std::vector<DomainTable::Domain>::iterator DomainTable::lower(std::uint32_t id) {
  return std::lower_bound(domains_.begin(), domains_.end(), id, before);
}

}  // namespace weft::nic
