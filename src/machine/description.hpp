// A machine as described: every section read and checked, nothing built yet.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/schema.hpp"
#include "machine/core_clock.hpp"
#include "machine/devices.hpp"
#include "machine/management.hpp"
#include "machine/mpi_parameters.hpp"
#include "machine/nic_parameters.hpp"
#include "machine/node_processors.hpp"
#include "machine/processor.hpp"
#include "machine/router_kind.hpp"
#include "machine/storage_parameters.hpp"
#include "routing/kind.hpp"
#include "topology/cable.hpp"
#include "topology/kind.hpp"

namespace weft::power {
struct Body;
}

namespace weft::machine {

struct Identity {
  std::string name = "unnamed";
  std::string about;
};

/// How long it takes from a link that reports itself dead to routes around it.
struct ReroutingParameters {
  enum class By : std::uint8_t { Times, Manager } by = By::Times;
  std::uint32_t manager = 0;
  Time report{1'000'000};
  Time compute{5'000'000};
  Time prove{0};
  Time write_per_router{50'000};
  Time quiet{1'000'000};
  Time longest_drain{200'000'000};
};

struct FaultParameters {
  std::vector<std::string> dead_cables;
  std::vector<std::uint32_t> dead_routers;
};

struct Description {
  // Out of line: what they do to each member would be compiled in every file that holds one.
  Description();
  Description(const Description& other);
  Description(Description&& other) noexcept;
  Description& operator=(const Description& other);
  Description& operator=(Description&& other) noexcept;
  ~Description();

  Identity identity;
  std::vector<topology::CableType> cables;
  const topology::TopologyKind* topology = nullptr;
  std::shared_ptr<void> topology_parameters;
  const routing::RoutingKind* routing = nullptr;
  std::shared_ptr<void> routing_parameters;
  const RouterKind* router_kind = nullptr;
  std::shared_ptr<void> router_parameters;  // of its kind, as written
  RouterParameters router;                  // what every kind has, as it is in force
  FaultParameters faults;
  ReroutingParameters rerouting;
  NicParameters nic;
  HostParameters host;
  std::vector<Device> devices;
  MpiParameters mpi;
  ProcessorParameters processor;
  std::vector<NodeProcessor> node_processors;  // of nodes that have another
  ManagementParameters management;
  StorageParameters storage;
  CoreParameters core;
  std::shared_ptr<const power::Body> body;  // how it is packed, powered and cooled; always there

  std::vector<config::Setting> settings;                     // every parameter, as it is in force
  std::vector<std::pair<std::string, std::string>> sources;  // key -> where its value comes from
  std::vector<std::string> files;                            // the profile and what it builds on

  const ProcessorParameters& processor_of(std::uint32_t node) const;
  /// How many times as long a node's processor takes for what [processor] does.
  double slowness_of(std::uint32_t node) const;

  /// Where a key was written, for messages found after reading.
  Origin origin(std::string_view key) const;
};

/// A section with a fixed set of keys, for help and the reference page.
struct FixedSection {
  std::string name, about;
  const config::Section* section;
};
const std::vector<FixedSection>& fixed_sections();

/// Reads a machine: a profile's name or a file's path, with `section.key=value` settings laid over it.
/// Throws UserError with every error found.
Description describe(const std::string& name_or_path, const std::vector<std::string>& settings);

/// The same from text, for tests and tools; `source` names it in messages.
Description describe_text(std::string_view text, const std::string& source,
                          const std::vector<std::string>& settings);

struct ProfileInfo {
  std::string name, path, about;
};
/// The profiles there are, by name.
std::vector<ProfileInfo> profiles();

}  // namespace weft::machine
