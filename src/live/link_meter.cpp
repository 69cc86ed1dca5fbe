#include "live/link_meter.hpp"

#include <algorithm>
#include <map>

#include "report/layout.hpp"
#include "report/picture.hpp"
#include "report/plot_heat.hpp"
#include "report/traffic_findings.hpp"

namespace weft::live {

using topology::kNone;
using topology::PortId;

// What does not change is found once: who looks every second would pay for it every second.
LinkMeter::LinkMeter(const machine::Machine& machine)
    : graph_(*machine.graph), kind_of_(graph_.ports()), use_(graph_.ports()), sent_(graph_.ports()) {
  struct Found {
    std::uint32_t number;
    std::uint64_t links = 0;
  };
  std::map<report::LinkKind, Found> found;
  for (PortId p = 0; p < graph_.ports(); ++p) {
    if (graph_.peer(p) == kNone) continue;
    Found& kind =
        found.try_emplace(report::link_kind(graph_, p), Found{static_cast<std::uint32_t>(found.size())})
            .first->second;
    ++kind.links;
    kind_of_[p] = kind.number;
  }
  std::vector<std::uint32_t> place(found.size());
  for (const auto& [kind, counted] : found) {
    place[counted.number] = static_cast<std::uint32_t>(kinds_.size());
    kinds_.push_back({kind.name(), counted.links});
  }
  for (PortId p = 0; p < graph_.ports(); ++p)
    if (graph_.peer(p) != kNone) kind_of_[p] = place[kind_of_[p]];
  if (graph_.routers() <= report::kMostDrawnRouters) return;
  report::Picture picture;
  picture.bundle_look = [this](std::span<const topology::CableId> bundle) {
    bundles_.emplace_back(bundle.begin(), bundle.end());
    return report::BundleLook{};
  };
  report::tiers_drawing(graph_, *machine.faults, picture);
}

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

/// The busiest first; equals by port.
std::vector<PortId> LinkMeter::busiest() const {
  constexpr std::size_t kNamed = 8;
  std::vector<PortId> out;
  const auto before = [this](PortId a, PortId b) { return use_[a] != use_[b] ? use_[a] > use_[b] : a < b; };
  for (PortId p = 0; p < graph_.ports(); ++p) {
    if (graph_.peer(p) == kNone || use_[p] <= 0) continue;
    if (out.size() == kNamed && !before(p, out.back())) continue;
    out.insert(std::upper_bound(out.begin(), out.end(), p, before), p);
    if (out.size() > kNamed) out.pop_back();
  }
  return out;
}

/// The mean of each, in the busier direction of its cables.
Json LinkMeter::bundles() const {
  Json out = Json::array();
  for (const auto& bundle : bundles_) {
    double sum = 0;
    for (topology::CableId c : bundle)
      sum += std::max(use_[graph_.cable_ends(c).a], use_[graph_.cable_ends(c).b]);
    out.push_back(sum / static_cast<double>(bundle.size()));
  }
  return out;
}

Json LinkMeter::json() const {
  std::string packed;
  if (graph_.routers() <= report::kMostDrawnRouters)
    for (topology::CableId c = 0; c < graph_.cables(); ++c)
      packed += report::packed_share(use_[graph_.cable_ends(c).a]) +
                report::packed_share(use_[graph_.cable_ends(c).b]);
  std::vector<double> sum(kinds_.size()), most(kinds_.size());
  for (PortId p = 0; p < graph_.ports(); ++p) {
    if (graph_.peer(p) == kNone) continue;
    sum[kind_of_[p]] += use_[p];
    most[kind_of_[p]] = std::max(most[kind_of_[p]], static_cast<double>(use_[p]));
  }
  Json out{{"use", packed}};
  if (!bundles_.empty()) out["bundles"] = bundles();
  out["kinds"] = Json::array();
  for (std::size_t i = 0; i < kinds_.size(); ++i)
    out["kinds"].push_back({{"name", kinds_[i].name},
                            {"links", kinds_[i].links},
                            {"mean", sum[i] / static_cast<double>(kinds_[i].links)},
                            {"busiest", most[i]}});
  out["busiest"] = Json::array();
  for (PortId p : busiest())
    out["busiest"].push_back({{"from", graph_.port_name(p)},
                              {"to", graph_.port_name(graph_.peer(p))},
                              {"share", static_cast<double>(use_[p])}});
  return out;
}

}  // namespace weft::live
