// Memory that processes make known to their interfaces, by key or in a protection domain.
#include <algorithm>

#include "nic/fabric_state.hpp"

namespace weft::nic {

namespace {

Status check_region(std::uint64_t address, std::uint64_t length, std::uint32_t rights) {
  if (rights & ~kAllRights) return Status::NoRight;
  return length == 0 || address + length < address || (address + length) >> 56 ? Status::BadRange
                                                                               : Status::Ok;
}

}  // namespace

Status Fabric::register_memory(PortRef ref, std::uint64_t address, std::uint64_t length, std::uint32_t rights,
                               std::uint64_t& key, std::uint64_t simulated) {
  Nic& n = *nics_[ref.nic];
  std::uint32_t owner = n.ports[ref.port].owner;
  if (Status status = check_region(address, length, rights); status != Status::Ok) return status;
  if (Status status = check_region(simulated, length, rights); status != Status::Ok) return status;
  std::uint64_t shift = simulated ? simulated - address : 0;
  if (!n.physical.pin(owner, address, length, shift, false)) return Status::NoRoom;
  key = n.memory.add(ref.port, address, length, rights, shift);
  if (!key) n.physical.unpin(owner, address, length, shift);
  return key ? Status::Ok : Status::NoRoom;
}

Status Fabric::move_memory(PortRef ref, std::uint64_t key, std::uint64_t address) {
  Nic& n = *nics_[ref.nic];
  std::uint32_t owner = n.ports[ref.port].owner;
  Region* region = n.memory.find(ref.port, key);
  if (!region || !region->shift) return Status::BadKey;
  if (Status status = check_region(address, region->length, region->rights); status != Status::Ok)
    return status;
  std::uint64_t shift = region->address + region->shift - address;
  n.physical.unpin(owner, region->address, region->length, region->shift);
  region->address = address;
  region->shift = shift;
  return n.physical.pin(owner, address, region->length, shift, false) ? Status::Ok : Status::NoRoom;
}

Time Fabric::page_time(std::uint64_t address, std::uint64_t length) const {
  auto page = static_cast<std::uint64_t>(p_.page.value);
  std::uint64_t pages = std::min<std::uint64_t>((address % page + length + page - 1) / page, 1u << 28);
  auto each = static_cast<std::uint64_t>(p_.registration_page.value);
  auto time = static_cast<unsigned __int128>(each) * pages;
  return time > static_cast<std::uint64_t>(kEndOfTime.value) ? kPastTheEnd
                                                             : Time{static_cast<std::int64_t>(time)};
}

Time Fabric::registration_cost(std::uint64_t address, std::uint64_t length) const {
  return later(p_.registration, page_time(address, length));
}

Time Fabric::registration_time(NicId nic, Time from, std::uint64_t address, std::uint64_t length) {
  return later(p_.registration,
               nics_[nic]->translation.update(from + p_.registration, page_time(address, length)));
}

Time Fabric::unregistration_time(NicId nic, Time from, std::uint64_t length) {
  return p_.microcontroller ? nics_[nic]->translation.update(from, page_time(0, length)) : Time{0};
}

Status Fabric::unregister_memory(PortRef ref, std::uint64_t key, std::uint64_t* length) {
  Nic& n = *nics_[ref.nic];
  Region gone = n.memory.remove(ref.port, key);
  if (!gone.key) return Status::BadKey;
  n.physical.unpin(n.ports[ref.port].owner, gone.address, gone.length, gone.shift);
  if (length) *length = gone.length;
  return Status::Ok;
}

Status Fabric::join_domain(PortRef ref, std::uint32_t domain) {
  Nic& n = *nics_[ref.nic];
  Port& port = n.ports[ref.port];
  if (domain >= kDomains || n.node >> kNodeBits) return Status::BadRange;
  if (port.domain != kNoDomain) return Status::Busy;
  // With a domain comes a DMA channel, where interfaces have such.
  bool fresh = !n.domains.has(domain);
  if (fresh && p_.channels && n.channels.size() >= p_.channels) return Status::NoRoom;
  Status status = n.domains.join(domain, port.owner);
  if (status != Status::Ok) return status;
  port.domain = domain;
  if (fresh && p_.channels) n.channels[domain] = kNobody;
  return Status::Ok;
}

Status Fabric::register_global(PortRef ref, std::uint64_t address, std::uint64_t length, std::uint32_t rights,
                               std::uint64_t& global) {
  Nic& n = *nics_[ref.nic];
  std::uint32_t domain = n.ports[ref.port].domain, owner = n.ports[ref.port].owner;
  if (domain == kNoDomain) return Status::NoRight;
  if (Status status = check_region(address, length, rights); status != Status::Ok) return status;
  bool fixed = p_.global_map == machine::GlobalMap::Static;
  if (!n.physical.pin(owner, address, length, 0, fixed)) return Status::NoRoom;
  std::uint64_t place = fixed ? *n.physical.translate(owner, address) : 0;
  Status status = fixed ? n.domains.add_at(domain, {place, length, address, ref.port, rights})
                        : n.domains.add(domain, ref.port, address, length, rights,
                                        static_cast<std::uint64_t>(p_.page.value), place);
  if (status != Status::Ok) n.physical.unpin(owner, address, length, 0);
  global = global_place(n.node, place);
  return status;
}

Status Fabric::unregister_global(PortRef ref, std::uint64_t global, std::uint64_t* length) {
  Nic& n = *nics_[ref.nic];
  std::uint32_t domain = n.ports[ref.port].domain;
  if (domain == kNoDomain || node_of(global) != n.node) return Status::BadKey;
  const DomainTable::Region* region = n.domains.find(domain, ref.port, place_of(global));
  if (!region) return Status::BadKey;
  n.physical.unpin(n.ports[ref.port].owner, region->address, region->length, 0);
  if (length) *length = region->length;
  n.domains.remove(domain, ref.port, place_of(global));
  return Status::Ok;
}

Status Fabric::move_global(PortRef ref, std::uint64_t global, std::uint64_t address, std::uint64_t& length) {
  Nic& n = *nics_[ref.nic];
  std::uint32_t domain = n.ports[ref.port].domain, owner = n.ports[ref.port].owner;
  if (p_.global_map == machine::GlobalMap::Static) return Status::NoRight;
  if (domain == kNoDomain || node_of(global) != n.node) return Status::BadKey;
  DomainTable::Region* region = n.domains.find(domain, ref.port, place_of(global));
  if (!region) return Status::BadKey;
  auto page = static_cast<std::uint64_t>(p_.page.value);
  if (address % page != region->place % page) return Status::BadRange;
  if (Status status = check_region(address, region->length, region->rights); status != Status::Ok)
    return status;
  if (!n.physical.pin(owner, address, region->length, 0, false)) return Status::NoRoom;
  n.physical.unpin(owner, region->address, region->length, 0);
  region->address = address;
  length = region->length;
  return Status::Ok;
}

Status Fabric::physical_address(PortRef ref, std::uint64_t key, std::uint64_t offset,
                                std::uint64_t& physical) const {
  const Nic& n = *nics_[ref.nic];
  if (!n.ports[ref.port].kernel) return Status::NoRight;
  std::uint64_t address = 0;
  Status status = n.memory.check(ref.port, key, offset, 1, 0, address);
  if (status == Status::Ok)
    physical = n.physical.translate(n.ports[ref.port].owner, address + n.memory.shift(key)).value_or(0);
  return status;
}

/// Memory of one process behind all of a physical range.
Status Fabric::check_physical(const Nic& n, std::uint64_t physical, std::uint64_t length,
                              PhysicalMemory::Behind& behind) const {
  auto found = n.physical.behind(physical);
  if (!found) return Status::BadKey;
  behind = *found;
  return behind.length < length ? Status::BadRange : Status::Ok;
}

}  // namespace weft::nic
