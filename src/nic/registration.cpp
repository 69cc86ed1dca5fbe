// Memory that processes make known to their interfaces, by key or in a protection domain.
#include <algorithm>

#include "nic/fabric_state.hpp"

namespace weft::nic {

Status Fabric::check_region(const Nic& n, std::uint64_t address, std::uint64_t length,
                            std::uint32_t rights) const {
  if (rights & ~kAllRights) return Status::NoRight;
  if (length == 0 || address + length < address || (address + length) >> 56) return Status::BadRange;
  std::uint64_t physical = std::uint64_t{1} << p_.physical_bits, used = n.memory.bytes() + n.domains.bytes();
  return length > physical || used > physical - length ? Status::NoRoom : Status::Ok;
}

Status Fabric::register_memory(PortRef ref, std::uint64_t address, std::uint64_t length, std::uint32_t rights,
                               std::uint64_t& key, bool anywhere) {
  Nic& n = *nics_[ref.nic];
  if (Status status = check_region(n, address, length, rights); status != Status::Ok) return status;
  std::uint64_t shift = 0;
  if (anywhere) {
    auto page = static_cast<std::uint64_t>(p_.page.value);
    auto [at, fresh] = n.places.try_emplace({n.ports[ref.port].owner, address, length}, n.next_place);
    if (fresh) n.next_place += (length + page - 1) / page * page;
    shift = at->second - address;
  }
  key = n.memory.add(ref.port, address, length, rights, shift);
  return key ? Status::Ok : Status::NoRoom;
}

Time Fabric::registration_cost(std::uint64_t address, std::uint64_t length) const {
  auto page = static_cast<std::uint64_t>(p_.page.value);
  std::uint64_t pages = std::min<std::uint64_t>((address % page + length + page - 1) / page, 1u << 28);
  return p_.registration + p_.registration_page * static_cast<std::int64_t>(pages);
}

Status Fabric::unregister_memory(PortRef ref, std::uint64_t key) {
  return nics_[ref.nic]->memory.remove(ref.port, key) ? Status::Ok : Status::BadKey;
}

Status Fabric::join_domain(PortRef ref, std::uint32_t domain) {
  Nic& n = *nics_[ref.nic];
  Port& port = n.ports[ref.port];
  if (domain >= kDomains || n.node >> kNodeBits) return Status::BadRange;
  if (port.domain != kNoDomain) return Status::Busy;
  Status status = n.domains.join(domain, port.owner);
  if (status == Status::Ok) port.domain = domain;
  return status;
}

Status Fabric::register_global(PortRef ref, std::uint64_t address, std::uint64_t length, std::uint32_t rights,
                               std::uint64_t& global) {
  Nic& n = *nics_[ref.nic];
  std::uint32_t domain = n.ports[ref.port].domain;
  if (domain == kNoDomain) return Status::NoRight;
  Status status = check_region(n, address, length, rights);
  std::uint64_t place = 0;
  if (status == Status::Ok)
    status = n.domains.add(domain, ref.port, address, length, rights,
                           static_cast<std::uint64_t>(p_.page.value), place);
  global = global_place(n.node, place);
  return status;
}

Status Fabric::unregister_global(PortRef ref, std::uint64_t global) {
  Nic& n = *nics_[ref.nic];
  std::uint32_t domain = n.ports[ref.port].domain;
  bool gone = domain != kNoDomain && node_of(global) == n.node &&
              n.domains.remove(domain, ref.port, place_of(global));
  return gone ? Status::Ok : Status::BadKey;
}

}  // namespace weft::nic
