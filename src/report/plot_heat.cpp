#include "report/plot_heat.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/text.hpp"
#include "report/html_page.hpp"
#include "report/picture.hpp"
#include "report/plot_chart.hpp"
#include "report/traffic_findings.hpp"

namespace weft::report {

using measure::LinkUse;
using measure::TrafficPoint;
using topology::CableId;

namespace {

constexpr std::size_t kSteps = std::size(kHeat);
/// Names on cables, and colours for other loads, only as far as the file stays small enough to send to
/// somebody.
constexpr std::size_t kMostNotedCables = 5000, kMostUseBytes = 500'000, kUseBytes = 4;
constexpr double kWideMap = 760;

std::size_t heat_step(double utilisation) {
  return static_cast<std::size_t>(std::clamp(utilisation * kSteps, 0.0, kSteps - 1.0));
}

/// Heat is shown by colour and by width.
double heat_width(std::size_t step, std::size_t cables) {
  double coolest = cables > 1000 ? 1 : 2, hottest = coolest * 2.4;
  return coolest + (hottest - coolest) * static_cast<double>(step) / (kSteps - 1);
}

/// How many links carry how much; its bars are the legend of the map as well.
std::string distribution(const TrafficPoint& point) {
  constexpr std::size_t kBarsPerStep = 2, kBars = kSteps * kBarsPerStep;
  std::array<std::uint64_t, kBars> links{};
  for (const LinkUse& link : point.links)
    ++links[static_cast<std::size_t>(std::clamp(link.utilisation * kBars, 0.0, kBars - 1.0))];
  std::uint64_t most = *std::max_element(links.begin(), links.end());
  Chart chart(420, 210, "links by utilisation", {0, 100}, {"utilisation, %", 10},
              range_to(static_cast<double>(most), 4), {"links", 4});
  for (std::size_t i = 0; i < kBars; ++i) {
    double from = 100.0 * static_cast<double>(i) / kBars, to = 100.0 * static_cast<double>(i + 1) / kBars;
    if (links[i] > 0)
      chart.bar(from, to, static_cast<double>(links[i]), kHeat[i / kBarsPerStep],
                fmt::format("{} carry {:.0f} to {:.0f}%", count_of(links[i], "link"), from, to));
  }
  return chart.svg(true);
}

}  // namespace

std::string_view heat_colour(double utilisation) { return kHeat[heat_step(utilisation)]; }

std::string figure_svg(Point low, Point high, const std::string& body) {
  constexpr double kMargin = 10;
  double width = high.x - low.x + 2 * kMargin, height = high.y - low.y + 2 * kMargin;
  return fmt::format(
      "<svg viewBox=\"{:.0f} {:.0f} {:.0f} {:.0f}\" width=\"{:.0f}\" role=\"img\" aria-label=\"link heat "
      "map\">\n"
      "{}</svg>\n",
      low.x - kMargin, low.y - kMargin, width, height, width, body);
}

std::string packed_share(double share) {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  auto value = static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * 1000));
  return {kDigits[value / 36], kDigits[value % 36]};
}

std::string place_name(const topology::Graph& graph, topology::RouterId router) {
  std::string label = graph.shape() ? graph.shape()->router_label(router) : "";
  if (label.empty()) return graph.tier_names()[graph.router_tier(router)];
  bool words = label.find(' ') != std::string::npos;  // parentheses are for coordinates
  return words && label.starts_with('(') && label.ends_with(')') ? label.substr(1, label.size() - 2) : label;
}

std::string heat_scale() {
  std::string out =
      "<svg class=\"chart\" style=\"max-width:420px\" viewBox=\"0 0 420 34\" role=\"img\" "
      "aria-label=\"colours by utilisation\">\n";
  constexpr double kLeft = 74, kWidth = 328;
  for (std::size_t i = 0; i < kSteps; ++i)
    out += fmt::format("<rect x=\"{:.1f}\" y=\"2\" width=\"{:.1f}\" height=\"12\" fill=\"{}\"/>\n",
                       kLeft + kWidth * static_cast<double>(i) / kSteps, kWidth / kSteps + 0.2, kHeat[i]);
  out += svg_text({kLeft, 29}, "idle", 12, kFaintInk) +
         svg_text({kLeft + kWidth, 29}, "full", 12, kFaintInk, Anchor::End);
  return out + "</svg>\n";
}

std::string heat_cables(const machine::Machine& machine, const Layout& layout,
                        const std::vector<CableId>& order, const std::function<std::size_t(CableId)>& step,
                        const std::function<std::string(CableId)>& note) {
  const topology::Graph& graph = *machine.graph;
  bool noted = order.size() <= kMostNotedCables;
  std::string body = "<style>#cables path { fill: none; }\n";
  for (std::size_t i = 0; i < kSteps; ++i)
    body += fmt::format("#cables .h{} {{ stroke: {}; stroke-width: {:.2g}; }}\n", i, kHeat[i],
                        heat_width(i, order.size()));
  body += fmt::format("#cables .dead {{ stroke: {}; stroke-width: 1; stroke-dasharray: 4 3; }}\n</style>\n",
                      kDeadColour);
  body += "<g id=\"cables\">\n";
  for (CableId c : order) {
    auto [a, b] = graph.cable_ends(c);
    bool dead = !machine.faults->usable(graph, a);
    body += fmt::format("<path class=\"{}\" d=\"{}\"", dead ? "dead" : fmt::format("h{}", step(c)),
                        layout.cables[c]);
    body += noted ? fmt::format("><title>{} to {}: {}</title></path>\n", graph.port_name(a),
                                graph.port_name(b), note(c))
                  : "/>\n";
  }
  body += "</g>\n";
  std::string out = figure_svg(layout.low, layout.high, draw_around(graph, *machine.faults, layout, body));
  if (layout.stubs)
    out += "<figcaption>A stub at the end of a row joins the row\u2019s other end.</figcaption>\n";
  return out;
}

HeatMap::HeatMap(const measure::TrafficResult& result, const machine::Machine& machine,
                 const TrafficPoint& shown)
    : machine_(machine),
      graph_(*machine.graph),
      shown_(shown),
      as_tiers_(machine.graph->routers() > kMostDrawnRouters) {
  std::size_t cables = as_tiers_ ? 1 : std::max<std::size_t>(1, graph_.cables());
  std::size_t most =
      std::max<std::size_t>(2, std::min<std::size_t>(24, kMostUseBytes / (cables * kUseBytes)));
  std::size_t step = (result.points.size() + most - 1) / most;
  for (std::size_t i = 0; i < result.points.size(); ++i)
    if (i % std::max<std::size_t>(1, step) == 0 || &result.points[i] == &shown)
      points_.push_back(&result.points[i]);
}

std::vector<HeatMap::Use> HeatMap::use_at(const TrafficPoint& point) const {
  std::vector<Use> out(graph_.cables());
  for (const LinkUse& link : point.links) {
    CableId c = graph_.port_cable(link.port);
    (graph_.cable_ends(c).a == link.port ? out[c].there : out[c].back) = link.utilisation;
  }
  return out;
}

std::string HeatMap::buttons(const std::vector<CableId>& order) const {
  if (points_.size() < 2) return "";
  std::string out = "<div class=\"loads\"><span>Load, flits per endpoint and cycle:</span>\n";
  for (const TrafficPoint* point : points_) {
    std::string use;
    if (!order.empty()) {
      auto all = use_at(*point);
      for (CableId c : order) use += packed_share(all[c].there) + packed_share(all[c].back);
    }
    out += fmt::format("<button type=\"button\" aria-pressed=\"{}\" data-use=\"{}\">{:.4g}</button>\n",
                       point == &shown_, use, point->offered);
  }
  return out + "</div>\n";
}

std::string HeatMap::cables(const Layout& layout, const std::vector<CableId>& order) const {
  auto use = use_at(shown_);
  return heat_cables(
      machine_, layout, order, [&](CableId c) { return heat_step(use[c].busier()); },
      [&](CableId c) {
        return fmt::format("{:.0f}% there, {:.0f}% back", 100 * use[c].there, 100 * use[c].back);
      });
}

std::string HeatMap::tiers() const {
  std::string out;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    auto use = use_at(*points_[i]);
    Picture picture;
    picture.bundle_look = [&](std::span<const CableId> bundle) {
      double sum = 0, most = 0;
      for (CableId c : bundle) sum += use[c].busier(), most = std::max(most, use[c].busier());
      double mean = sum / static_cast<double>(bundle.size());
      return BundleLook{std::string(heat_colour(mean)),
                        fmt::format("mean {}, busiest {}", percent(mean), percent(most))};
    };
    Drawing drawing = tiers_drawing(graph_, *machine_.faults, picture);
    out += fmt::format("<div class=\"at\" data-load=\"{}\"{}>{}</div>\n", i,
                       points_[i] == &shown_ ? "" : " hidden=\"hidden\"",
                       figure_svg(drawing.low, drawing.high, drawing.body));
  }
  return out +
         "<figcaption>Bundles of cables in the colour of their mean, the busier direction of each cable "
         "counted.</figcaption>\n";
}

std::string HeatMap::beside() const {
  std::string out = "<aside>\n";
  for (std::size_t i = 0; i < points_.size(); ++i) {
    std::vector<std::vector<std::string>> rows;
    for (const LinkKindUse& use : use_by_kind(graph_, *points_[i]))
      rows.push_back(
          {escape_xml(use.kind.name()), with_commas(use.links), percent(use.mean), percent(use.busiest)});
    out += fmt::format(
        "<div class=\"at\" data-load=\"{}\"{}>\n<div><h3>Links by utilisation, at load "
        "{:.4g}</h3>\n{}{}</div>\n"
        "<div><h3>Utilisation by kind of link</h3>\n{}</div>\n</div>\n",
        i, points_[i] == &shown_ ? "" : " hidden=\"hidden\"", points_[i]->offered, distribution(*points_[i]),
        heat_scale(), html_table({{"Links"}, {"Number", true}, {"Mean", true}, {"Busiest", true}}, rows));
  }
  return out + "</aside>\n";
}

std::string HeatMap::html() const {
  if (graph_.cables() == 0) return "<p>There are no cables between routers.</p>\n";
  bool wide = true;
  std::string figure;
  std::vector<CableId> order;
  if (as_tiers_) {
    figure = tiers();
  } else {  // the hottest last, on top of the others
    auto use = use_at(shown_);
    order.resize(graph_.cables());
    std::iota(order.begin(), order.end(), CableId{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](CableId a, CableId b) { return use[a].busier() < use[b].busier(); });
    Layout layout = lay_out(graph_);
    figure = cables(layout, order);
    wide = layout.high.x - layout.low.x > kWideMap;
  }
  return fmt::format("{}<div class=\"map{}\">\n<figure>\n{}</figure>\n{}</div>\n", buttons(order),
                     wide ? " wide" : "", figure, beside());
}

}  // namespace weft::report
