// Memory that processes make known to their interface, by key or in a protection domain, and how its
// addresses are translated.
#pragma once

#include "nic/context.hpp"
#include "nic/domains.hpp"
#include "nic/memory_table.hpp"
#include "nic/physical_memory.hpp"
#include "nic/port.hpp"
#include "nic/translation.hpp"

namespace weft::nic {

/// Memory behind a range that an operation names.
struct Place {
  std::uint32_t space = 0;    // whose
  std::uint64_t address = 0;  // there
  std::uint64_t shift = 0;    // to the address that is translated
  std::uint64_t physical = 0;
};

class Registration {
 public:
  Registration(Context& context, NicId interface, PortTable& ports);

  Status add(PortNo port, std::uint64_t address, std::uint64_t length, std::uint32_t rights,
             std::uint64_t& key, std::uint64_t simulated, node::SpaceId space);
  Status move(PortNo port, std::uint64_t key, std::uint64_t address);
  Status remove(PortNo port, std::uint64_t key, std::uint64_t* length);
  Status join_domain(PortNo port, std::uint32_t domain);
  Status add_global(PortNo port, std::uint64_t address, std::uint64_t length, std::uint32_t rights,
                    std::uint64_t& global);
  Status remove_global(PortNo port, std::uint64_t global, std::uint64_t* length);
  Status move_global(PortNo port, std::uint64_t global, std::uint64_t address, std::uint64_t& length);
  Status physical_address(PortNo port, std::uint64_t key, std::uint64_t offset,
                          std::uint64_t& physical) const;
  /// All that a port has registered is gone. True where its domain is, too.
  bool close(PortNo port);
  bool has_domain(std::uint32_t domain) const { return domains_.has(domain); }

  static Time page_time(const machine::NicParameters& p, std::uint64_t address, std::uint64_t length);
  Time registration_time(Time from, std::uint64_t address, std::uint64_t length);
  Time unregistration_time(Time from, std::uint64_t length);

  /// The memory that a descriptor on a port names as its own.
  Status find_local(PortNo port, const Descriptor& d, Place& place) const;
  /// The memory here that a packet names; `port`: whom events about it are for.
  Status find_target(const Header& header, std::uint32_t rights, Place& place, std::uint32_t& port) const;
  /// How long the interface takes to translate a range of it, from `from` on.
  Time translate(const Place& place, std::uint64_t offset, std::uint64_t length, Time from, bool physical);
  std::uint64_t physical_of(const Place& place) const;

  void count(Counters& counters) const;

 private:
  Status find_physical(std::uint64_t physical, std::uint64_t length, Place& place) const;

  Context& context_;
  network::EndpointId node_;
  PortTable& ports_;
  TranslationCache translation_;
  MemoryTable memory_;
  DomainTable domains_;
  PhysicalMemory physical_;
  std::uint64_t untranslated_ = 0;
};

}  // namespace weft::nic
