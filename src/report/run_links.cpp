#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "machine/collective_network.hpp"
#include "report/html_page.hpp"
#include "report/picture.hpp"
#include "report/plot_axis.hpp"
#include "report/plot_heat.hpp"
#include "report/run_sections.hpp"
#include "topology/tree_shape.hpp"

namespace weft::report {

using measure::LinkLoad;
using topology::CableId;

namespace {

constexpr std::size_t kMostRows = 10;
constexpr std::string_view kUnused = "#dde4ea";

/// The whole machine. Colours are of the load, as on every page; widths go from the least to the most that
/// any link between routers carried.
std::string whole_machine(const std::vector<LinkLoad>& used, double most, const machine::Machine& machine) {
  const topology::Graph& graph = *machine.graph;
  Layout layout = lay_out(graph);
  std::vector<double> share(graph.cables());
  for (const LinkLoad& load : used)
    share[graph.port_cable(load.link)] = std::max(share[graph.port_cable(load.link)], load.share);
  std::vector<CableId> order(graph.cables());
  for (CableId c = 0; c < graph.cables(); ++c) order[c] = c;
  std::stable_sort(order.begin(), order.end(), [&](CableId a, CableId b) { return share[a] < share[b]; });
  std::string cables = "<g fill=\"none\">\n";
  for (CableId c : order) {
    auto [a, b] = graph.cable_ends(c);
    double of_most = most > 0 ? share[c] / most : 0;
    cables += fmt::format(
        "<path d=\"{}\" stroke=\"{}\" stroke-width=\"{:.1f}\"><title>{} to {}: {}</title></path>\n",
        layout.cables[c], share[c] > 0 ? heat_colour(share[c]) : kUnused,
        share[c] > 0 ? 1.6 + 2.4 * of_most : 1.0, graph.port_name(a), graph.port_name(b),
        share[c] > 0 ? percent(share[c]) + " in use" : "not used");
  }
  constexpr double kMargin = 10;
  double width = layout.high.x - layout.low.x + 2 * kMargin,
         height = layout.high.y - layout.low.y + 2 * kMargin;
  return fmt::format(
      "<svg viewBox=\"{:.0f} {:.0f} {:.0f} {:.0f}\" width=\"{:.0f}\" role=\"img\" aria-label=\"links by "
      "use\">\n{}</svg>\n",
      layout.low.x - kMargin, layout.low.y - kMargin, width, height, width,
      draw_around(graph, *machine.faults, layout, cables + "</g>\n"));
}

std::string busiest_table(const std::vector<LinkLoad>& used, const measure::LinkLoads& loads,
                          const topology::Graph& graph) {
  std::vector<std::vector<std::string>> rows;
  for (const LinkLoad& load : used) {
    if (rows.size() == kMostRows) break;
    rows.push_back({fmt::format("<span class=\"link\">{}</span>", escape_xml(loads.links().name(load.link))),
                    escape_xml(fmt::format("{} \u2192 {}", place_name(graph, graph.port_router(load.link)),
                                           place_name(graph, graph.port_router(graph.peer(load.link))))),
                    bytes_text(load.bytes), html_bar(load.share, heat_colour(load.share), true)});
  }
  return html_table({{"Link"}, {"Place"}, {"Carried", true}, {"In use, of the whole run"}}, rows);
}

struct Names {
  const char *id, *title, *what;
};

std::string section(const measure::ProgramResult& result, const measure::RunDetails& details,
                    measure::LinkLoads& loads, const machine::Machine& machine, const Names& names) {
  std::vector<LinkLoad> used = loads.between(details.transfers.all(), Time{0}, result.run.end);
  std::erase_if(used, [&](const LinkLoad& load) { return !loads.between_routers(load.link); });
  if (used.empty()) return "";
  const topology::Graph& graph = *machine.graph;
  std::string figure;
  if (graph.routers() <= kMostDrawnRouters)
    figure = whole_machine(used, used.front().share, machine);
  else
    figure = used_links_drawing(used, result.run.ranks, machine);
  std::string lead = fmt::format(
      "{} laid on the links of its routes: {} between routers were used. The busiest was {} in use on "
      "average over the run.{}",
      names.what, count_of(used.size(), "link"), percent(used.front().share),
      figure.empty() ? "" : " Colours are of this use; the wider a line, the nearer to the busiest.");
  if (details.transfers.left_out())
    lead += fmt::format(" The last {} are not counted.", count_of(details.transfers.left_out(), "transfer"));
  std::string drawn = figure.empty() ? "" : fmt::format("<figure>\n{}{}</figure>\n", figure, heat_scale());
  return html_section(
      names.id, names.title, lead,
      fmt::format("<div class=\"map wide\">\n{}<aside><div class=\"at\"><div><h3>The busiest links</h3>\n{}"
                  "</div></div></aside>\n</div>\n",
                  drawn, busiest_table(used, loads, graph)));
}

}  // namespace

std::string links_section(const measure::ProgramResult& result, const measure::RunDetails& details,
                          measure::LinkLoads& loads, const machine::Machine& machine) {
  return section(result, details, loads, machine, {"links", "What the links carried", "Data"});
}

std::string collective_links_section(const measure::ProgramResult& result, const measure::RunDetails& details,
                                     const machine::Machine& machine) {
  auto described = machine::collective_network(machine.description);
  if (!described) return "";
  const machine::Machine beside = machine::build(std::move(*described));
  measure::LinkLoads loads(beside, measure::LinkLoads::Carries::ControlPackets);
  return section(
      result, details, loads, beside,
      {"collective-links", "What the links of the network for collectives carried", "Control packets"});
}

}  // namespace weft::report
