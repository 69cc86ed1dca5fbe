#include "report/traffic_csv.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>

#include "measure/traffic/histogram.hpp"

namespace weft::report {

using measure::TrafficPoint;
using measure::TrafficResult;

namespace {

/// Figures of a distribution, or nothing where it has none.
std::string figure(const measure::Latency& latency, double value) {
  return latency.growing ? "" : fmt::format("{}", value);
}

}  // namespace

std::string points_csv(const TrafficResult& result) {
  std::string out =
      "offered,generated,accepted,refused,injected,saturated,steady,filling,packets,mean_cycles,mean_half_"
      "width_95_cycles,"
      "p50_cycles,p99_cycles,p99.9_cycles,max_cycles,network_mean_cycles,network_p99_cycles,mean_routers,"
      "jain_fairness,least_source,most_source,warmup_cycles,measured_cycles,completion_cycles,flit_hops,"
      "not_measured\n";
  for (const TrafficPoint& p : result.points) {
    if (!p.unmeasured.empty()) {
      out += fmt::format("{}{}\"{}\"\n", p.offered, std::string(25, ','), p.unmeasured);
      continue;
    }
    const measure::Latency& l = p.packet;
    out += fmt::format("{},{},{},{},{},{:d},{:d},{:d},{},{},{},{},{},{},{},", p.offered, p.generated,
                       p.accepted, p.refused, p.injected, p.saturated, p.steady, p.filling, l.packets,
                       figure(l, l.mean), figure(l, p.mean_half_width), figure(l, l.p50), figure(l, l.p99),
                       figure(l, l.p999), figure(l, l.max));
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},\n", p.network.mean, p.network.p99, p.mean_routers,
                       p.fairness, p.least_source, p.most_source, p.warmup_cycles, p.measured_cycles,
                       p.completion_cycles, p.flit_hops);
  }
  return out;
}

void links_csv(const TrafficResult& result, const machine::Machine& machine,
               const std::function<void(std::string_view)>& take) {
  constexpr std::size_t kPiece = 1 << 16;
  const topology::Graph& graph = *machine.graph;
  std::string out = "offered,from,to,utilisation\n";
  for (const TrafficPoint& point : result.points) {
    const std::string offered = fmt::format("{},", point.offered);
    for (const measure::LinkUse& link : point.links) {
      out += offered;
      out += graph.port_name(link.port);
      out += ',';
      out += graph.port_name(graph.peer(link.port));
      fmt::format_to(std::back_inserter(out), FMT_COMPILE(",{:.6f}\n"), link.utilisation);
      if (out.size() < kPiece) continue;
      take(out);
      out.clear();
    }
  }
  take(out);
}

std::string histogram_csv(const TrafficResult& result) {
  std::string out = "offered,latency,from_cycles,below_cycles,packets\n";
  for (const TrafficPoint& point : result.points)
    for (const auto& [name, latency] :
         {std::pair("packet", &point.packet), std::pair("network", &point.network)})
      for (std::size_t i = 0; i < latency->histogram.size(); ++i)
        if (latency->histogram[i] > 0)
          out += fmt::format("{},{},{},{},{}\n", point.offered, name, measure::bucket_start(i),
                             measure::bucket_start(i + 1), latency->histogram[i]);
  return out;
}

}  // namespace weft::report
