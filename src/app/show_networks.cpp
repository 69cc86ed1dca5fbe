#include "app/show_networks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/memory_left.hpp"
#include "base/text.hpp"
#include "machine/machine.hpp"
#include "report/machine_facts.hpp"

namespace weft::app {

namespace {

using machine::NetworkPart;
using machine::Networks;

void print_line(std::string_view name, const std::string& text) {
  fmt::print("{:<11}{}\n", name, wrap(text, 110, 11));
}

/// "0-15, 20" of numbers that rise.
std::string ranges_text(std::vector<std::uint32_t> nodes) {
  std::sort(nodes.begin(), nodes.end());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < nodes.size();) {
    std::size_t last = i;
    while (last + 1 < nodes.size() && nodes[last + 1] == nodes[last] + 1) ++last;
    out.push_back(last == i ? std::to_string(nodes[i]) : fmt::format("{}-{}", nodes[i], nodes[last]));
    i = last + 1;
  }
  return join(out, ", ");
}

std::string network_text(const NetworkPart& part) {
  std::string out = fmt::format("{}: {} of {}", part.name, ranges_text(part.nodes),
                                report::topology_line(part.description));
  if (part.parameters.up_to.value)
    out += fmt::format("; packets of at most {}", to_text(part.parameters.up_to));
  return out;
}

/// Senders on each of its networks have a window of their own.
std::uint64_t buffer_bytes(const Networks& networks, std::uint32_t gateway) {
  std::uint64_t out = 0;
  for (const NetworkPart& part : networks.parts) {
    if (std::find(part.nodes.begin(), part.nodes.end(), gateway) == part.nodes.end()) continue;
    const auto& nic = part.description.nic;
    out += static_cast<std::uint64_t>(part.nodes.size() - 1) * networks.gateway.window *
           static_cast<std::uint64_t>((nic.payload + nic.header).value);
  }
  return out;
}

}  // namespace

std::string gateways_in_words(const Networks& networks) {
  const machine::GatewayParameters& g = networks.gateway;
  if (networks.gateways.empty())
    return "none: packets stay in the network they start in, and no network waits for another";
  return fmt::format(
      "none between networks: a packet takes one of its node's {} in a gateway before it leaves, so gateways "
      "take at once all that comes, credits included, which need no place; they send on by a network that "
      "drains by its own proof; no packet goes through two gateways. So no network ever waits for another, "
      "and requests and answers through gateways do not wait for each other either",
      count_of(g.window, "place"));
}

Json gateways_json(const Networks& networks) {
  const machine::GatewayParameters& g = networks.gateway;
  Json nodes = Json::array();
  for (std::uint32_t node : networks.gateways)
    nodes.push_back({{"node", node}, {"buffer_bytes", buffer_bytes(networks, node)}});
  return {{"nodes", nodes},
          {"latency_ps", g.latency.value},
          {"occupancy_ps", g.occupancy.value},
          {"rate_bps", g.rate.value},
          {"window", g.window},
          {"credit_bytes", g.credit.value}};
}

int show_networks(const machine::Description& d, bool sources, bool json) {
  const Networks& networks = *machine::networks_of(d);
  Json out{{"name", d.identity.name},
           {"about", d.identity.about},
           {"endpoints", networks.nodes},
           {"networks", Json::array()},
           {"gateways", gateways_json(networks)}};
  if (!json) {
    fmt::print("{}\n{}\n\n", d.identity.name, wrap(d.identity.about, 110, 0));
    print_line("nodes", with_commas(networks.nodes));
    for (std::size_t p = 0; p < networks.parts.size(); ++p)
      print_line(p == 0 ? "networks" : "", network_text(networks.parts[p]));
    const machine::GatewayParameters& g = networks.gateway;
    if (!networks.gateways.empty()) {
      std::uint64_t most = 0;
      for (std::uint32_t node : networks.gateways) most = std::max(most, buffer_bytes(networks, node));
      print_line("gateways",
                 fmt::format("nodes {}: a packet is whole there before it goes on; {} and its size at {} in "
                             "forwarding, then {}; {} for each node, {} of buffer",
                             ranges_text(networks.gateways), to_text(g.occupancy), to_text(g.rate),
                             to_text(g.latency), count_of(g.window, "packet"),
                             memory_text(static_cast<double>(most))));
    }
  }
  for (const NetworkPart& part : networks.parts) {
    report::MachineFacts facts = report::examine(machine::build_graph(part.description));
    if (json)
      out["networks"].push_back(
          {{"name", part.name}, {"nodes", part.nodes}, {"facts", report::facts_json(facts)}});
    else
      fmt::print("\n{}", report::facts_text(facts));
  }
  if (json) {
    Json parameters = Json::array();
    for (const report::SourcedParameter& p : report::sourced_parameters(d))
      parameters.push_back({{"key", p.key}, {"value", p.value}, {"source", p.source}});
    out["parameters"] = parameters;
    fmt::print("{}\n", out.dump(2));
  } else if (sources) {
    fmt::print("\n{}", report::sources_text(d));
  }
  return 0;
}

}  // namespace weft::app
