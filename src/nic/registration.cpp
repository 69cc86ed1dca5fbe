// Memory that processes make known to their interfaces, by key or in a protection domain.
#include "nic/registration.hpp"

#include <algorithm>

namespace weft::nic {

namespace {

Status check_region(std::uint64_t address, std::uint64_t length, std::uint32_t rights) {
  if (rights & ~kAllRights) return Status::NoRight;
  return length == 0 || address + length < address || (address + length) >> 56 ? Status::BadRange
                                                                               : Status::Ok;
}

}  // namespace

Registration::Registration(Context& context, NicId interface, PortTable& ports)
    : context_(context),
      node_(context.nodes[interface]),
      ports_(ports),
      translation_(context.nic),
      memory_(context.seed, node_),
      physical_(context.nic.physical_bits,
                static_cast<unsigned>(__builtin_ctzll(static_cast<std::uint64_t>(context.nic.page.value)))) {}

Status Registration::add(PortNo port, std::uint64_t address, std::uint64_t length, std::uint32_t rights,
                         std::uint64_t& key, std::uint64_t simulated, node::SpaceId space) {
  std::uint32_t owner = space == node::kNoSpace ? ports_[port].owner : space;
  if (Status status = check_region(address, length, rights); status != Status::Ok) return status;
  if (Status status = check_region(simulated, length, rights); status != Status::Ok) return status;
  std::uint64_t shift = simulated ? simulated - address : 0;
  if (!physical_.pin(owner, address, length, shift, false)) return Status::NoRoom;
  key = memory_.add(port, address, length, rights, shift, owner);
  if (!key) physical_.unpin(owner, address, length, shift);
  return key ? Status::Ok : Status::NoRoom;
}

Status Registration::move(PortNo port, std::uint64_t key, std::uint64_t address) {
  Region* region = memory_.find(port, key);
  if (!region || !region->shift) return Status::BadKey;
  const std::uint32_t owner = region->space;
  if (Status status = check_region(address, region->length, region->rights); status != Status::Ok)
    return status;
  std::uint64_t shift = region->address + region->shift - address;
  physical_.unpin(owner, region->address, region->length, region->shift);
  region->address = address;
  region->shift = shift;
  return physical_.pin(owner, address, region->length, shift, false) ? Status::Ok : Status::NoRoom;
}

Time Registration::page_time(const machine::NicParameters& p, std::uint64_t address, std::uint64_t length) {
  auto page = static_cast<std::uint64_t>(p.page.value);
  std::uint64_t pages = std::min<std::uint64_t>((address % page + length + page - 1) / page, 1u << 28);
  auto each = static_cast<std::uint64_t>(p.registration_page.value);
  auto time = static_cast<unsigned __int128>(each) * pages;
  return time > static_cast<std::uint64_t>(kEndOfTime.value) ? kPastTheEnd
                                                             : Time{static_cast<std::int64_t>(time)};
}

Time Registration::registration_time(Time from, std::uint64_t address, std::uint64_t length) {
  Time entry = context_.nic.registration;
  return later(entry, translation_.update(from + entry, page_time(context_.nic, address, length)));
}

Time Registration::unregistration_time(Time from, std::uint64_t length) {
  return context_.nic.microcontroller ? translation_.update(from, page_time(context_.nic, 0, length))
                                      : Time{0};
}

Status Registration::remove(PortNo port, std::uint64_t key, std::uint64_t* length) {
  Region gone = memory_.remove(port, key);
  if (!gone.key) return Status::BadKey;
  physical_.unpin(gone.space, gone.address, gone.length, gone.shift);
  if (length) *length = gone.length;
  return Status::Ok;
}

Status Registration::join_domain(PortNo port, std::uint32_t domain) {
  Port& joins = ports_[port];
  if (domain >= kDomains || node_ >> kNodeBits) return Status::BadRange;
  if (joins.domain != kNoDomain) return Status::Busy;
  // With a domain comes a DMA channel, where interfaces have such.
  bool fresh = !domains_.has(domain);
  if (fresh && context_.nic.channels && domains_.size() >= context_.nic.channels) return Status::NoRoom;
  Status status = domains_.join(domain, joins.owner);
  if (status == Status::Ok) joins.domain = domain;
  return status;
}

Status Registration::add_global(PortNo port, std::uint64_t address, std::uint64_t length,
                                std::uint32_t rights, std::uint64_t& global) {
  std::uint32_t domain = ports_[port].domain, owner = ports_[port].owner;
  if (domain == kNoDomain) return Status::NoRight;
  if (Status status = check_region(address, length, rights); status != Status::Ok) return status;
  bool fixed = context_.nic.global_map == machine::GlobalMap::Static;
  if (!physical_.pin(owner, address, length, 0, fixed)) return Status::NoRoom;
  std::uint64_t place = fixed ? *physical_.translate(owner, address) : 0;
  Status status = fixed ? domains_.add_at(domain, {place, length, address, port, rights})
                        : domains_.add(domain, port, address, length, rights,
                                       static_cast<std::uint64_t>(context_.nic.page.value), place);
  if (status != Status::Ok) physical_.unpin(owner, address, length, 0);
  global = global_place(node_, place);
  return status;
}

Status Registration::remove_global(PortNo port, std::uint64_t global, std::uint64_t* length) {
  std::uint32_t domain = ports_[port].domain;
  if (domain == kNoDomain || node_of(global) != node_) return Status::BadKey;
  const DomainTable::Region* region = domains_.find(domain, port, place_of(global));
  if (!region) return Status::BadKey;
  physical_.unpin(ports_[port].owner, region->address, region->length, 0);
  if (length) *length = region->length;
  domains_.remove(domain, port, place_of(global));
  return Status::Ok;
}

Status Registration::move_global(PortNo port, std::uint64_t global, std::uint64_t address,
                                 std::uint64_t& length) {
  std::uint32_t domain = ports_[port].domain, owner = ports_[port].owner;
  if (context_.nic.global_map == machine::GlobalMap::Static) return Status::NoRight;
  if (domain == kNoDomain || node_of(global) != node_) return Status::BadKey;
  DomainTable::Region* region = domains_.find(domain, port, place_of(global));
  if (!region) return Status::BadKey;
  auto page = static_cast<std::uint64_t>(context_.nic.page.value);
  if (address % page != region->place % page) return Status::BadRange;
  if (Status status = check_region(address, region->length, region->rights); status != Status::Ok)
    return status;
  if (!physical_.pin(owner, address, region->length, 0, false)) return Status::NoRoom;
  physical_.unpin(owner, region->address, region->length, 0);
  region->address = address;
  length = region->length;
  return Status::Ok;
}

Status Registration::physical_address(PortNo port, std::uint64_t key, std::uint64_t offset,
                                      std::uint64_t& physical) const {
  if (!ports_[port].kernel) return Status::NoRight;
  std::uint64_t address = 0;
  Status status = memory_.check(port, key, offset, 1, 0, address);
  if (status == Status::Ok)
    physical = physical_.translate(memory_.space(key), address + memory_.shift(key)).value_or(0);
  return status;
}

bool Registration::close(PortNo port) {
  Port& closed = ports_[port];
  for (const Region& r : memory_.remove_port(port)) physical_.unpin(r.space, r.address, r.length, r.shift);
  if (closed.domain == kNoDomain) return false;
  for (const DomainTable::Region& r : domains_.leave(closed.domain, port))
    physical_.unpin(closed.owner, r.address, r.length, 0);
  return !domains_.has(closed.domain);
}

Status Registration::find_local(PortNo port, const Descriptor& d, Place& place) const {
  if (d.flags & kPhysical) return find_physical(d.local_offset, d.length, place);
  std::uint64_t key = d.local_key, offset = d.local_offset;
  if (d.flags & kLogical) key = memory_.key_of_logical(port, 0, d.local_offset, offset);
  place.space = memory_.space(key);
  place.shift = memory_.shift(key);
  return memory_.check(port, key, offset, d.length, 0, place.address);
}

Status Registration::find_target(const Header& h, std::uint32_t rights, Place& place,
                                 std::uint32_t& port) const {
  if (h.flags & kPhysical) return find_physical(h.remote_offset, h.length, place);
  if (h.domain != kNoDomain) {
    DomainTable::Found found;
    Status status =
        domains_.check(h.domain, place_of(h.remote_key) + h.remote_offset, h.length, rights, found);
    if (status != Status::Ok) return status;
    place.address = found.address;
    place.space = found.owner;
    port = found.port;
    return status;
  }
  if (!ports_.is_open(h.target_port)) return Status::NoPort;
  std::uint64_t key = h.remote_key, offset = h.remote_offset;
  if (h.flags & kLogical) key = memory_.key_of_logical(h.target_port, key, h.remote_offset, offset);
  Status status = memory_.check(h.target_port, key, offset, h.length, rights, place.address);
  if (status != Status::Ok) return status;
  place.space = memory_.space(key);
  place.shift = memory_.shift(key);
  return status;
}

Time Registration::translate(const Place& place, std::uint64_t offset, std::uint64_t length, Time from,
                             bool physical) {
  if (!physical)
    return translation_.translate(place.space, place.address + place.shift + offset, length, from);
  ++untranslated_;
  return {0};
}

std::uint64_t Registration::physical_of(const Place& place) const {
  return physical_.translate(place.space, place.address + place.shift).value_or(0);
}

void Registration::count(Counters& counters) const {
  counters.translations = translation_.lookups();
  counters.translation_misses = translation_.misses();
  counters.table_waits = translation_.table().waits();
  counters.table_busy = translation_.table().busy();
  counters.untranslated = untranslated_;
}

/// Memory of one process behind all of a physical range.
Status Registration::find_physical(std::uint64_t physical, std::uint64_t length, Place& place) const {
  auto found = physical_.behind(physical);
  if (!found) return Status::BadKey;
  if (found->length < length) return Status::BadRange;
  place.space = found->owner;
  place.address = found->address;
  place.physical = physical;
  return Status::Ok;
}

}  // namespace weft::nic
