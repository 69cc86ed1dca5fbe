#include "report/machine_facts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "network/flit/buffers.hpp"
#include "report/figures.hpp"

namespace weft::report {

using machine::Description;
using machine::Machine;
using topology::Distances;

namespace {

constexpr std::size_t kColumn = 13, kWidth = 110;

/// A line of the listing: what, and the words on it; further lines stand under the words.
std::string entry(std::string_view what, std::string_view words) {
  return fmt::format("{:<{}}{}\n", what, kColumn, wrap(words, kWidth, kColumn));
}

/// Columns wide enough for their cells, the first to the left and the others to the right.
std::string columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  for (const auto& row : rows) {
    out += std::string(kColumn, ' ');
    for (std::size_t i = 0; i < row.size(); ++i)
      out += i == 0 ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("  {:>{}}", row[i], widths[i]);
    out += "\n";
  }
  return out;
}

std::string ports_text(const topology::TierUse& tier) {
  return tier.fewest_ports == tier.most_ports ? with_commas(tier.most_ports)
                                              : fmt::format("{} to {}", tier.fewest_ports, tier.most_ports);
}

std::string router_text(const topology::Inventory& parts, std::uint32_t routers) {
  std::vector<std::vector<std::string>> rows{{"tier", "routers", "ports each", "ports used", "endpoints"}};
  std::uint64_t ports = 0, used = 0;
  for (const topology::TierUse& tier : parts.tiers) {
    rows.push_back({tier.name, with_commas(tier.routers), ports_text(tier), with_commas(tier.ports_used),
                    with_commas(tier.endpoints)});
    ports += tier.ports;
    used += tier.ports_used;
  }
  std::string all = fmt::format("{} of {} ports in use", with_commas(used), with_commas(ports));
  if (parts.tiers.size() == 1)
    return entry("routers",
                 fmt::format("{}, {} ports each, {}", with_commas(routers), ports_text(parts.tiers[0]), all));
  return entry("routers", fmt::format("{} in {} tiers, {}", with_commas(routers), parts.tiers.size(), all)) +
         columns(rows);
}

std::string cable_text(const topology::Inventory& parts, std::uint32_t cables) {
  if (cables == 0) return entry("cables", "none");
  std::vector<std::vector<std::string>> rows{
      {"type", "cables", "strands", "rate", "length", "flight", "total length"}};
  Length total;
  for (const topology::CableUse& use : parts.cables) {
    bool same = use.shortest == use.longest;
    auto range = [&](auto of) {
      return same ? rounded(of(use.longest))
                  : fmt::format("{} to {}", rounded(of(use.shortest)), rounded(of(use.longest)));
    };
    rows.push_back({use.type->name, with_commas(use.cables), with_commas(use.strands),
                    rounded(use.type->rate()), range([](Length length) { return length; }),
                    range([&](Length length) { return use.type->flight_time(length); }), rounded(use.total)});
    total = total + use.total;
  }
  return entry("cables", fmt::format("{}, {} in all, {} each way together", with_commas(cables),
                                     rounded(total), rounded<DataRate>(parts.total_rate))) +
         columns(rows);
}

/// What a credit's round trip asks of the buffers behind each cable, and what they have.
std::string buffer_text(const Machine& m) {
  auto all = network::flit::cable_buffers(m);
  if (all.empty()) return "";
  const auto& router = m.description.router;
  std::vector<std::vector<std::string>> rows{
      {"cable", "cables", "round trip", "in flits", "channel", "port", "port", "rate, one channel", "all"}};
  constexpr std::size_t kMostRows = 12;
  for (const auto& b : all) {
    if (rows.size() > kMostRows) {
      rows.push_back({fmt::format("and {} more", all.size() - kMostRows), "", "", "", "", "", "", "", ""});
      break;
    }
    rows.push_back({b.type, with_commas(b.cables), fmt::format("{} cycles", b.round_trip_cycles),
                    with_commas(b.round_trip_flits), fmt::format("{} flits", b.own_flits + b.shared_flits),
                    fmt::format("{} flits", b.port_flits()),
                    rounded<DataSize>(static_cast<double>(b.port_flits()) * b.flit_bytes),
                    fmt::format("{:.0f}%", 100 * b.one_channel()),
                    fmt::format("{:.0f}%", 100 * b.all_channels())});
  }
  std::string out = entry("buffers", fmt::format("of {} behind each cable, for a credit's round trip ({})",
                                                 count_of(router.channels, "channel"),
                                                 router.buffer_flits.given ? "as described" : "auto")) +
                    columns(rows);
  for (const std::string& warning : network::flit::buffer_warnings(all)) out += entry("", warning);
  return out;
}

std::string distance_text(const Distances& d) {
  if (d.pairs.empty()) return entry("distance", "no two endpoints are joined");
  std::string mean = fmt::format("{:.4g} cables on average between two endpoints", d.mean());
  if (d.pairs[0] > 0 && d.diameter() > 0)
    mean += fmt::format(", {:.4g} between two routers with endpoints", d.mean_between_routers());
  std::string out =
      entry("distance", fmt::format("{}, {} {} ({})", mean, d.exact() ? "at most" : "the farthest seen",
                                    d.diameter(), d.how()));
  if (d.unreachable > 0)
    out += entry("", fmt::format("{} of endpoints have no path left", count_of(d.unreachable, "pair")));

  constexpr long kMostBars = 12;
  long values = std::count_if(d.pairs.begin(), d.pairs.end(), [](std::uint64_t pairs) { return pairs > 0; });
  if (values > kMostBars) return out;
  std::uint64_t all = 0, most = 0;
  for (std::uint64_t pairs : d.pairs) all += pairs, most = std::max(most, pairs);
  out += entry("hops", "routers crossed, share of the pairs of endpoints");
  for (std::size_t cables = 0; cables < d.pairs.size(); ++cables) {
    if (d.pairs[cables] == 0) continue;
    double share = static_cast<double>(d.pairs[cables]) / static_cast<double>(all);
    double bar = 40.0 * static_cast<double>(d.pairs[cables]) / static_cast<double>(most);
    std::string blocks;
    for (int i = 0; i < std::max(1, static_cast<int>(bar + 0.5)); ++i) blocks += "\u2588";
    out += fmt::format("{:{}}{:>2}  {:>8}  {}\n", "", kColumn, cables + 1,
                       fmt::format("{:.3g}%", 100 * share), blocks);
  }
  return out;
}

std::string bisection_text(const MachineFacts& facts) {
  if (facts.distances.endpoint_routers < 2)
    return entry("bisection", "none: all endpoints are on one router");
  if (!facts.bisection) return entry("bisection", "no balanced cut was found");
  const topology::Bisection& cut = *facts.bisection;
  return entry("bisection",
               fmt::format("at most {}, {} each way, {:.2f} of full bisection (estimate: {}{})",
                           count_of(cut.cables, "cable"), rounded<DataRate>(cut.rate), cut.ratio(),
                           cut.method, cut.partitioned ? "" : "; too large for METIS"));
}

std::string zero_load_text(const MachineFacts& facts) {
  if (!facts.zero_load || facts.zero_load->cables == 0) return "";
  const topology::ZeroLoad& path = *facts.zero_load;
  const topology::Graph& graph = *facts.machine.graph;
  return entry("zero load",
               fmt::format("{} between {} and {}: {} in {}, {} in {}", rounded(path.total()),
                           graph.router_name(facts.distances.from), graph.router_name(facts.distances.to),
                           rounded(path.in_routers), count_of(path.routers(), "router"),
                           rounded(path.in_cables), count_of(path.cables, "cable")));
}

std::string fault_text(const Description& d) {
  if (d.faults.dead_cables.empty() && d.faults.dead_routers.empty()) return "";
  return entry("faults", fmt::format("{} and {} out of order; distances and bisection are of what is alive",
                                     count_of(d.faults.dead_cables.size(), "cable"),
                                     count_of(d.faults.dead_routers.size(), "router")));
}

std::string stage_text(const Machine& m) {
  std::vector<std::string> times;
  for (const machine::Stage& stage : m.stages)
    times.push_back(fmt::format("{} {}", stage.name, rounded<Time>(stage.seconds * 1e12)));
  return entry("time", join(times, ", "));
}

/// A kind and those of its parameters that differ from their defaults.
std::string kind_line(const Description& description, const std::string& path, const std::string& kind,
                      const config::Section& section) {
  std::string out = kind;
  for (const config::Field& field : section.fields)
    for (const config::Setting& setting : description.settings)
      if (setting.key == path + "." + field.name && setting.value != field.default_text)
        out += fmt::format(", {} = {}", field.name, setting.value);
  return out;
}

}  // namespace

std::string topology_line(const Description& d) {
  return kind_line(d, "topology", d.topology->name, d.topology->section);
}

std::string device_text(const Description& d) {
  std::string out;
  for (const machine::Device& device : d.devices)
    out += entry("device",
                 fmt::format("{}: {}, on {}", device.name, device.kind->name,
                             device.nodes.empty() ? "every node" : count_of(device.nodes.size(), "node")));
  return out;
}

std::string facts_text(const MachineFacts& facts) {
  const Description& d = facts.machine.description;
  std::string out = d.identity.name + "\n";
  if (!d.identity.about.empty()) out += wrap(d.identity.about, kWidth, 0) + "\n";
  out += "\n";
  out += entry("topology", topology_line(d));
  out += entry("routing", kind_line(d, "routing", d.routing->name, d.routing->section));
  out += entry("endpoints", with_commas(facts.machine.graph->endpoints()));
  out += device_text(d);
  out += router_text(facts.parts, facts.machine.graph->routers());
  out += cable_text(facts.parts, facts.machine.graph->cables()) + buffer_text(facts.machine);
  out += fault_text(d) + distance_text(facts.distances) + bisection_text(facts) + zero_load_text(facts);
  out += stage_text(facts.machine);
  if (!facts.picture.empty()) out += entry("picture", facts.picture);
  return out;
}

std::string sources_text(const Description& description) {
  std::vector<SourcedParameter> all = sourced_parameters(description);
  std::size_t key = 0, value = 0;
  constexpr std::size_t kWidestValue = 30;  // longer ones push their source aside, and only theirs
  for (const SourcedParameter& p : all) {
    key = std::max(key, p.key.size());
    value = std::max(value, std::min(kWidestValue, p.value.size()));
  }
  std::string out;
  for (const SourcedParameter& p : all)
    out += fmt::format("{:<{}}  {:<{}}  {}\n", p.key, key, p.value, value, p.source);
  return out;
}

}  // namespace weft::report
