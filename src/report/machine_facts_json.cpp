// A machine's facts as one JSON object; units are in the names of the keys.

#include "base/json.hpp"
#include "base/stopwatch.hpp"
#include "base/version.hpp"
#include "network/flit/buffers.hpp"
#include "report/machine_facts.hpp"

namespace weft::report {

using machine::Description;
using topology::Distances;
using topology::Graph;

namespace {

template <class Work>
void stage(MachineFacts& facts, std::string name, Work work) {
  const Stopwatch start;
  work();
  facts.machine.stages.push_back({std::move(name), start.seconds()});
}

Json tiers_json(const topology::Inventory& parts) {
  Json out = Json::array();
  for (const topology::TierUse& tier : parts.tiers)
    out.push_back({{"name", tier.name},
                   {"routers", tier.routers},
                   {"endpoints", tier.endpoints},
                   {"ports", tier.ports},
                   {"ports_used", tier.ports_used},
                   {"fewest_ports", tier.fewest_ports},
                   {"most_ports", tier.most_ports}});
  return out;
}

Json cables_json(const topology::Inventory& parts) {
  Json out = Json::array();
  for (const topology::CableUse& use : parts.cables)
    out.push_back({{"name", use.type->name},
                   {"cables", use.cables},
                   {"strands", use.strands},
                   {"rate_bps", use.type->rate().value},
                   {"shortest_mm", use.shortest.value},
                   {"longest_mm", use.longest.value},
                   {"total_mm", use.total.value},
                   {"longest_flight_ps", use.type->flight_time(use.longest).value}});
  return out;
}

Json buffers_json(const machine::Machine& m) {
  Json out = Json::array();
  for (const auto& b : network::flit::cable_buffers(m))
    out.push_back({{"cable", b.type},
                   {"cables", b.cables},
                   {"round_trip_cycles", b.round_trip_cycles},
                   {"round_trip_flits", b.round_trip_flits},
                   {"channels", b.channels},
                   {"own_flits", b.own_flits},
                   {"shared_flits", b.shared_flits},
                   {"port_bytes", std::uint64_t{b.port_flits()} * b.flit_bytes},
                   {"most_of_rate_one_channel", b.one_channel()},
                   {"most_of_rate", b.all_channels()}});
  return out;
}

Json distances_json(const Distances& d) {
  Json hops = Json::array();
  for (std::size_t cables = 0; cables < d.pairs.size(); ++cables)
    if (d.pairs[cables] > 0) hops.push_back({{"routers_crossed", cables + 1}, {"pairs", d.pairs[cables]}});
  return {{"exact", d.exact()},
          {"how", d.how()},
          {"diameter_cables", d.diameter()},
          {"mean_cables", d.mean()},
          {"mean_cables_between_routers", d.mean_between_routers()},
          {"unreachable_pairs", d.unreachable},
          {"measured_from_routers", d.sources},
          {"routers_with_endpoints", d.endpoint_routers},
          {"hops", hops}};
}

Json bisection_json(const MachineFacts& facts) {
  if (!facts.bisection) return nullptr;
  const topology::Bisection& cut = *facts.bisection;
  return {{"estimate", "upper bound"}, {"cables", cut.cables},
          {"rate_bps", cut.rate},      {"full_rate_bps", cut.full_rate},
          {"ratio", cut.ratio()},      {"endpoints", {cut.endpoints[0], cut.endpoints[1]}},
          {"method", cut.method},      {"metis_tried", cut.partitioned}};
}

Json zero_load_json(const MachineFacts& facts) {
  if (!facts.zero_load) return nullptr;
  const Graph& graph = *facts.machine.graph;
  return {{"from", graph.router_name(facts.distances.from)},
          {"to", graph.router_name(facts.distances.to)},
          {"routers", facts.zero_load->routers()},
          {"cables", facts.zero_load->cables},
          {"in_routers_ps", facts.zero_load->in_routers.value},
          {"in_cables_ps", facts.zero_load->in_cables.value},
          {"total_ps", facts.zero_load->total().value}};
}

}  // namespace

MachineFacts examine(machine::Machine machine) {
  MachineFacts facts{std::move(machine), {}, {}, {}, {}, {}};
  const Graph& graph = *facts.machine.graph;
  const topology::Faults& faults = *facts.machine.faults;
  stage(facts, "count parts", [&] { facts.parts = topology::count_parts(graph); });
  stage(facts, "measure distances", [&] {
    facts.distances = topology::measure_distances(graph, faults);
    facts.zero_load = topology::zero_load(graph, faults, facts.distances.from, facts.distances.to,
                                          facts.machine.description.router.latency);
  });
  stage(facts, "estimate bisection", [&] { facts.bisection = topology::estimate_bisection(graph, faults); });
  return facts;
}

std::vector<SourcedParameter> sourced_parameters(const Description& description) {
  std::vector<SourcedParameter> out;
  for (const config::Setting& setting : description.settings) {
    std::string source = setting.origin.source.empty() ? "default" : "set, no source given";
    for (const auto& [key, words] : description.sources)
      if (key == setting.key) source = words;
    // What the description says of its own value does not hold for one from the command line.
    if (setting.origin.source.starts_with("--set")) source = "--set";
    out.push_back({setting.key, setting.value, std::move(source)});
  }
  return out;
}

Json facts_json(const MachineFacts& facts) {
  const Description& d = facts.machine.description;
  const Graph& graph = *facts.machine.graph;
  Json stages = Json::object(), parameters = Json::array();
  for (const machine::Stage& stage : facts.machine.stages) stages[stage.name] = stage.seconds;
  for (const SourcedParameter& p : sourced_parameters(d))
    parameters.push_back({{"key", p.key}, {"value", p.value}, {"source", p.source}});
  Json devices = Json::array();
  for (const machine::Device& device : d.devices)
    devices.push_back({{"name", device.name}, {"kind", device.kind->name}, {"nodes", device.nodes}});
  Json out{{"name", d.identity.name},
           {"about", d.identity.about},
           {"topology", d.topology->name},
           {"routing", d.routing->name},
           {"endpoints", graph.endpoints()},
           {"routers", graph.routers()},
           {"ports", graph.ports()},
           {"cables", graph.cables()},
           {"total_rate_bps", facts.parts.total_rate},
           {"tiers", tiers_json(facts.parts)},
           {"cable_types", cables_json(facts.parts)},
           {"buffers", buffers_json(facts.machine)},
           {"distance", distances_json(facts.distances)},
           {"bisection", bisection_json(facts)},
           {"zero_load", zero_load_json(facts)},
           {"picture", facts.picture.empty() ? Json(nullptr) : Json(facts.picture)},
           {"seconds", stages},
           {"files", d.files},
           {"parameters", parameters},
           {"version", version()}};
  if (!d.devices.empty()) out["devices"] = devices;
  return out;
}

}  // namespace weft::report
