#include "report/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "report/figures.hpp"
#include "topology/metrics.hpp"

namespace weft::report {

using topology::CableId;
using topology::Faults;
using topology::Graph;
using topology::PortId;
using topology::RouterId;

namespace {

/// Beyond these, cables of one look are one path, and the file stays small enough to open at once.
constexpr std::uint32_t kMostNotedCables = 5000;
constexpr double kLeastNumberedRadius = 8;
constexpr double kOutlineOpacity = 0.22;
constexpr std::string_view kOutlineColour = "#c6cfd8";

std::string draw_cables(const Graph& graph, const Layout& layout, const Picture& picture) {
  std::map<std::pair<bool, CableLook>, std::vector<CableId>> by_look;  // faint ones last
  const bool outlines = picture.outlines && !layout.faint_cables.empty();
  for (CableId c = 0; c < graph.cables(); ++c)
    by_look[{outlines && layout.faint_cables[c], picture.look(c)}].push_back(c);
  bool noted = graph.cables() <= kMostNotedCables && picture.note;
  std::string faint, plain, dashed;
  for (const auto& [key, cables] : by_look) {
    const auto& [is_faint, look] = key;
    std::string& out = look.dashed ? dashed : is_faint ? faint : plain;  // what is dashed lies on top
    out += fmt::format("<g fill=\"none\" stroke=\"{}\" stroke-width=\"{:g}\" stroke-opacity=\"{:g}\"{}>\n",
                       look.colour, look.width,
                       look.dashed ? 1
                       : is_faint  ? kOutlineOpacity
                       : outlines  ? 0.95
                                   : layout.cable_opacity,
                       look.dashed ? " stroke-dasharray=\"5 3\"" : "");
    if (noted) {
      for (CableId c : cables)
        out += fmt::format("<path d=\"{}\"><title>{}</title></path>\n", layout.cables[c],
                           escape_xml(picture.note(c)));
    } else {
      out += "<path d=\"";
      for (CableId c : cables) out += layout.cables[c];
      out += "\"/>\n";
    }
    out += "</g>\n";
  }
  return faint + plain + dashed;
}

std::string draw_ticks(const Layout& layout) {
  if (layout.ticks.empty()) return "";
  std::string stems, heads;
  for (auto [from, to] : layout.ticks) {
    stems += fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", from.x, from.y, to.x, to.y);
    heads += fmt::format("M{:.1f} {:.1f}h0", to.x, to.y);
  }
  double size = layout.ticks.size() <= 256 ? 5 : 3;
  return fmt::format(
      "<g fill=\"none\" stroke=\"{}\" stroke-linecap=\"round\"><path stroke-width=\"1.2\" d=\"{}\"/>"
      "<path stroke-width=\"{}\" d=\"{}\"/></g>\n",
      kTickColour, stems, size, heads);
}

std::string draw_routers(const Graph& graph, const Faults& faults, const Layout& layout, bool outlines) {
  std::string out = "<g stroke=\"#ffffff\" stroke-width=\"1\">\n", numbers;
  for (RouterId r = 0; r < graph.routers(); ++r) {
    Point at = layout.routers[r];
    bool dead = faults.router_dead(r), faint = outlines && layout.faint_routers[r];
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"", at.x, at.y, layout.radius[r]);
    out += dead ? fmt::format(" fill=\"#ffffff\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"3 2\"",
                              kDeadColour)
                : fmt::format(" fill=\"{}\"",
                              faint ? kOutlineColour : colour_of(kTierColours, graph.router_tier(r)));
    out += fmt::format("><title>{}</title></circle>\n",
                       escape_xml(graph.router_name(r) + (dead ? ", out of order" : "")));
    if (layout.radius[r] >= kLeastNumberedRadius) {
      double font = layout.radius[r] * 0.95;
      numbers += svg_text(at + Point{0, font * 0.36}, std::to_string(r), font,
                          dead    ? kDeadColour
                          : faint ? kFaintInk
                                  : "#ffffff",
                          Anchor::Middle);
    }
  }
  return out + "</g>\n" + numbers;
}

std::vector<LegendEntry> full_legend(const Graph& graph, const Layout& layout, const Picture& picture) {
  std::vector<LegendEntry> out = picture.legend;
  if (layout.stubs)
    out.push_back(line_entry(kFaintInk, false, "stub at the end of a row: joins the row's other end"));
  if (picture.outlines && !layout.in_full.empty())
    out.push_back({"", 0, layout.in_full + " in full; the others, in outline, are alike"});
  auto tiers = topology::count_parts(graph).tiers;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    bool plain = tiers[i].name == "router";
    std::string text = plain ? count_of(tiers[i].routers, "router")
                             : fmt::format("{} \u00d7 {}", with_commas(tiers[i].routers), tiers[i].name);
    if (layout.ticks.empty() && tiers[i].endpoints > 0)
      text += fmt::format(" with {}", count_of(tiers[i].endpoints, "endpoint"));
    out.push_back(dot_entry(colour_of(kTierColours, i), std::move(text)));
  }
  if (!layout.ticks.empty()) out.push_back(tick_entry(kTickColour, count_of(graph.endpoints(), "endpoint")));
  return out;
}

}  // namespace

Picture plain_picture(const Graph& graph, const Faults& faults, std::string title, std::string about) {
  Picture picture{.title = std::move(title), .about = std::move(about), .outlines = true};
  double width = graph.cables() > 1500 ? 1.0 : 1.4;
  bool any_dead = false;
  for (CableId c = 0; c < graph.cables(); ++c) any_dead |= !faults.usable(graph, graph.cable_ends(c).a);
  picture.look = [&graph, &faults, width](CableId c) {
    if (!faults.usable(graph, graph.cable_ends(c).a)) return CableLook{std::string(kDeadColour), 2, true};
    return CableLook{std::string(colour_of(kCableColours, graph.cable_type_index(c))), width};
  };
  picture.note = [&graph](CableId c) {
    auto [a, b] = graph.cable_ends(c);
    return fmt::format("{} to {}, {} {}", graph.port_name(a), graph.port_name(b), graph.cable_type(c).name,
                       to_text(graph.cable_length(c)));
  };
  for (const topology::CableUse& use : topology::count_parts(graph).cables) {
    auto index = static_cast<std::size_t>(use.type - graph.cable_types().data());
    std::string text =
        fmt::format("{}, {}", cable_count(use.cables, use.type->name), rounded(use.type->rate()));
    if (std::string length = length_range(use.shortest, use.longest); !length.empty()) text += ", " + length;
    picture.legend.push_back(line_entry(colour_of(kCableColours, index), false, std::move(text)));
  }
  if (any_dead) picture.legend.push_back(line_entry(kDeadColour, true, "out of order"));
  return picture;
}

std::string draw_around(const Graph& graph, const Faults& faults, const Layout& layout,
                        const std::string& cables, bool outlines) {
  outlines = outlines && !layout.faint_routers.empty();
  std::string drawing;
  for (const std::string& area : layout.areas)
    drawing += fmt::format("<path d=\"{}\" fill=\"#f1f4f7\"/>\n", area);
  drawing += cables + draw_ticks(layout) + draw_routers(graph, faults, layout, outlines);
  for (const Caption& caption : layout.captions)
    drawing += svg_text(caption.at, caption.text, kCaptionSize, kFaintInk, caption.anchor);
  return drawing;
}

std::string draw(const Graph& graph, const Faults& faults, const Layout& layout, const Picture& picture) {
  return svg_page(picture.title, picture.about, layout.low, layout.high,
                  draw_around(graph, faults, layout, draw_cables(graph, layout, picture), picture.outlines),
                  full_legend(graph, layout, picture));
}

std::string draw_machine(const Graph& graph, const Faults& faults, std::string title, std::string about) {
  Picture picture = plain_picture(graph, faults, std::move(title), std::move(about));
  if (graph.routers() > kMostDrawnRouters) return draw_tiers(graph, faults, picture);
  return draw(graph, faults, lay_out(graph), picture);
}

}  // namespace weft::report
