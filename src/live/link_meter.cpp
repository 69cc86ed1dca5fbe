#include "live/link_meter.hpp"

#include <algorithm>

#include "report/layout.hpp"
#include "report/plot_heat.hpp"
#include "report/traffic_findings.hpp"

namespace weft::live {

using topology::kNone;
using topology::PortId;

LinkMeter::LinkMeter(const machine::Machine& machine)
    : graph_(*machine.graph), use_(graph_.ports()), sent_(graph_.ports()) {}

void LinkMeter::counted(const std::vector<std::uint64_t>& sent, const std::vector<double>& flit_time,
                        double now) {
  if (now < then_) {  // it began again
    then_ = 0;
    std::fill(sent_.begin(), sent_.end(), 0);
  }
  const double window = now - then_;
  if (window <= 0) return;
  for (PortId p = 0; p < graph_.ports(); ++p)
    if (graph_.peer(p) != kNone)
      use_[p] = static_cast<float>(
          std::min(1.0, static_cast<double>(sent[p] - sent_[p]) * flit_time[graph_.port_cable(p)] / window));
  sent_ = sent;
  then_ = now;
}

void LinkMeter::laid(const std::vector<measure::LinkLoad>& loads) {
  std::fill(use_.begin(), use_.end(), 0.0f);
  for (const measure::LinkLoad& load : loads)
    if (load.link < graph_.ports() && graph_.peer(load.link) != kNone)
      use_[load.link] = static_cast<float>(std::min(1.0, load.share));
}

Json LinkMeter::json() const {
  constexpr std::size_t kNamed = 8;
  measure::TrafficPoint point;
  for (PortId p = 0; p < graph_.ports(); ++p)
    if (graph_.peer(p) != kNone) {
      point.links.emplace_back();
      point.links.back().port = p;
      point.links.back().utilisation = use_[p];
    }
  std::string packed;
  if (graph_.routers() <= report::kMostDrawnRouters)
    for (topology::CableId c = 0; c < graph_.cables(); ++c)
      packed += report::packed_share(use_[graph_.cable_ends(c).a]) +
                report::packed_share(use_[graph_.cable_ends(c).b]);
  Json out{{"use", packed}};
  out["kinds"] = Json::array();
  for (const report::LinkKindUse& kind : report::use_by_kind(graph_, point))
    out["kinds"].push_back(
        {{"name", kind.kind.name()}, {"links", kind.links}, {"mean", kind.mean}, {"busiest", kind.busiest}});
  out["busiest"] = Json::array();
  for (const measure::LinkUse* link : report::hottest_links(point, kNamed))
    if (link->utilisation > 0)
      out["busiest"].push_back({{"from", graph_.port_name(link->port)},
                                {"to", graph_.port_name(graph_.peer(link->port))},
                                {"share", link->utilisation}});
  return out;
}

}  // namespace weft::live
