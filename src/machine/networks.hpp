// A machine of several networks: [network.NAME] describes each, with the nodes that are on it; [gateway] the
// nodes that pass packets on from one to another.
//
// To everybody who asks for a description such a machine is one of the topology kind "networks", whose
// parameters are these. Node numbers, and what a program sees of its interface ([nic]: ports, queues, limits,
// order), are the machine's; what a chip and its wires do is each network's own.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "machine/description.hpp"

namespace weft::machine {

enum class GatewayShare : std::uint8_t { Pair, Source, Destination };

struct GatewayParameters {
  std::string nodes;
  Time latency{500'000};
  Time occupancy{100'000};
  DataRate rate{32'000'000'000};
  unsigned window = 32;
  DataSize credit{32};
  GatewayShare share = GatewayShare::Pair;
};

struct NetworkParameters {
  std::string about;
  std::string nodes;
  DataSize up_to{0};
};

struct NetworkPart {
  std::string name;
  NetworkParameters parameters;
  std::vector<std::uint32_t> nodes;  // of its endpoints, from the first on; those behind are nobody's
  Description description;           // as of a machine of this network alone
};

struct Networks {
  std::vector<NetworkPart> parts;
  GatewayParameters gateway;
  std::vector<std::uint32_t> gateways;  // nodes, as listed
  std::uint32_t nodes = 0;              // of the machine
};

/// Builds what is described here; registered by who can (joined.cpp), whom nothing here needs to know.
struct NetworksBuilder {
  std::string name;
  topology::TopologyKind topology;
  routing::RoutingKind routing;
};

/// The networks of a machine that has several; nothing where it has one.
const Networks* networks_of(const Description& machine);

const config::Section& network_section();
const config::Section& gateway_section();

/// Reads one network's own sections as the description of a machine; nothing where there were problems.
using ReadOne = std::function<std::optional<Description>(config::Node section, Diagnostics& problems)>;

/// Reads [network.NAME] and [gateway] in place of a topology, routing, router and cables.
void read_networks(const config::Table& root, const ReadOne& read_one, config::Reader& reader,
                   Description& machine);

/// Drops what a base says beside its network.
void keep_network_sections(config::Table& tree);

/// When all of the machine is read: interfaces of every network get what is the machine's.
void settle_networks(Description& machine);

/// One network of a machine as a machine of its own: "deep:booster". Throws UserError.
Description one_network(const Description& machine, const std::string& name);

/// Throws UserError where the machine has several networks: `who` looks at one.
void refuse_networks(const Description& machine, const std::string& who);

}  // namespace weft::machine

WEFT_DECLARE_REGISTRY(weft::machine::NetworksBuilder);
