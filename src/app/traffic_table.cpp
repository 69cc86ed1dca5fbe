#include "app/traffic_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "report/traffic_faults.hpp"

namespace weft::app {

namespace {

using measure::TrafficPoint;
using measure::TrafficResult;

std::string state_of(const TrafficPoint& p) {
  return p.stalled               ? "STALLED"
         : !p.unmeasured.empty() ? "NOT MEASURED"
         : p.filling             ? "saturated, still filling"
         : p.saturated           ? "saturated"
         : p.steady              ? ""
                                 : "not steady";
}

std::string table(const TrafficResult& result) {
  bool batch = result.batch != 0;
  std::string out = fmt::format("{:>9} {:>10} {:>14} {:>12} {:>12} {:>9}  {}\n", "load", "accepted",
                                "mean latency", "p99", batch ? "completion" : "p99.9", "routers", "");
  for (const TrafficPoint& p : result.points) {
    if (!p.unmeasured.empty()) {
      out += fmt::format("{:>9} {:>10} {:>14} {:>12} {:>12} {:>9}  {}\n", p.offered, "-", "-", "-", "-", "-",
                         state_of(p));
      continue;
    }
    out += fmt::format("{:>9} {:>10.4f} ", p.offered, p.accepted);
    out += p.packet.growing ? fmt::format("{:>14} {:>12} {:>12}", "growing", "-", "-")
                            : fmt::format("{:>14.2f} {:>12.0f} {:>12.0f}", p.packet.mean, p.packet.p99,
                                          batch ? static_cast<double>(p.completion_cycles) : p.packet.p999);
    out += fmt::format(" {:>9.3f}  {}\n", p.mean_routers, state_of(p));
  }
  for (const TrafficPoint& p : result.points)
    if (!p.unmeasured.empty()) out += fmt::format("load {} was not measured: {}\n", p.offered, p.unmeasured);
  return out + fmt::format("loads in flits per sending endpoint and cycle, times in cycles of {:.4g} ns\n",
                           result.cycle_ns);
}

std::string hottest_link(const TrafficPoint& point, const machine::Machine& machine) {
  auto hottest = std::max_element(point.links.begin(), point.links.end(),
                                  [](const auto& a, const auto& b) { return a.utilisation < b.utilisation; });
  if (hottest == point.links.end()) return "";
  const topology::Graph& graph = *machine.graph;
  topology::PortId to = graph.peer(hottest->port);
  return fmt::format("hottest link at load {}: {} -> {} ({} -> {}), {:.0f}% used\n", point.offered,
                     graph.port_name(hottest->port), graph.port_name(to),
                     graph.router_name(graph.port_router(hottest->port)),
                     graph.router_name(graph.port_router(to)), 100 * hottest->utilisation);
}

/// Where most flits stood at a load.
std::string fullest_place(const TrafficPoint& point) {
  auto fullest = std::max_element(point.waiting.begin(), point.waiting.end(),
                                  [](const auto& a, const auto& b) { return a.flits < b.flits; });
  if (fullest == point.waiting.end() || fullest->flits == 0) return "";
  return fmt::format("most flits wait in the {}: {:.1f} on average\n", fullest->place, fullest->flits);
}

std::string summary(const TrafficResult& result, const machine::Machine& machine) {
  auto saturated =
      std::find_if(result.points.begin(), result.points.end(), [](const auto& p) { return p.saturated; });
  auto best = std::max_element(result.points.begin(), result.points.end(),
                               [](const auto& a, const auto& b) { return a.accepted < b.accepted; });
  std::string out;
  for (const TrafficPoint& p : result.points)
    if (!p.unmeasured.empty()) return out;
  if (saturated == result.points.end()) {
    out += fmt::format("the network takes all of load {}\n", result.points.back().offered);
  } else if (saturated == result.points.begin()) {
    out += fmt::format("saturated from the first load on: of {} it takes {:.4f}\n", saturated->offered,
                       saturated->accepted);
  } else {
    out += fmt::format("takes all of load {}, saturates below {}; most accepted: {:.4f}\n",
                       std::prev(saturated)->offered, saturated->offered, best->accepted);
  }
  if (result.stopped_past_saturation)
    out += fmt::format("two loads are saturated: stopped there, {} after {} left out\n",
                       count_of(result.loads.size() - result.points.size(), "load"),
                       result.points.back().offered);
  const TrafficPoint& at = saturated == result.points.end() ? result.points.back() : *saturated;
  return out + hottest_link(at, machine) + fullest_place(at);
}

std::string batch_summary(const TrafficResult& result) {
  const TrafficPoint& last = result.points.back();
  return fmt::format("{} from each of {} delivered in {} cycles, {:.4g} us\n",
                     count_of(result.batch, "packet"), count_of(result.senders, "endpoint"),
                     with_commas(last.completion_cycles),
                     static_cast<double>(last.completion_cycles) * result.cycle_ns / 1000);
}

}  // namespace

std::string traffic_table(const TrafficResult& result, const machine::Machine& machine) {
  std::string out =
      fmt::format("{}: {} on {}, {}, {} source, packets of {} flits, seed {}\n", result.machine,
                  count_of(result.endpoints, "endpoint"), count_of(machine.graph->routers(), "router"),
                  result.pattern, result.source, result.packet_flits, result.seed);
  if (result.points.empty()) return out;
  out += table(result) + report::faults_text(result, machine);
  for (const TrafficPoint& point : result.points) {
    if (!point.stalled) continue;
    out += fmt::format("at load {} nothing moves any more; who waits for whom:\n", point.offered);
    for (const std::string& line : point.stall) out += "  " + line + "\n";
    return out;
  }
  return out + (result.batch ? batch_summary(result) + hottest_link(result.points.back(), machine)
                             : summary(result, machine));
}

}  // namespace weft::app
