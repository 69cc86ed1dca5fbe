// Large machines: tiers from the endpoints up, and how many cables of which type join them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "report/figures.hpp"
#include "report/picture.hpp"
#include "topology/metrics.hpp"

namespace weft::report {

using topology::CableId;
using topology::Faults;
using topology::Graph;
using topology::RouterId;
using topology::TierId;

namespace {

constexpr double kBoxWidth = 560, kBoxHeight = 84, kGap = 84;
constexpr double kJointText = 62;  // from the middle of a joint to its text

/// Cables of one type between two tiers, or within one.
struct Bundle {
  std::vector<CableId> cables;
  std::uint64_t dead = 0;
  Length shortest{INT64_MAX}, longest{0};
  std::string text(const std::string& type) const {
    std::string out = cable_count(cables.size(), type), length = length_range(shortest, longest);
    if (!length.empty()) out += fmt::format(" \u00b7 {} each", length);
    if (dead > 0) out += fmt::format(" \u00b7 {} out of order", with_commas(dead));
    return out;
  }
};

/// Rows by tier: 0 is the row next to the endpoints.
using Rows = std::vector<int>;
using Bundles =
    std::map<std::pair<int, int>, std::map<std::uint8_t, Bundle>>;  // (lower row, upper row), type

/// A tier's row is as high as its routers are cables away from endpoints; tiers of the same height take
/// turns.
Rows rows_of(const Graph& graph) {
  std::vector<std::uint32_t> away(graph.routers(), topology::kNone);
  std::vector<RouterId> queue;
  for (RouterId r = 0; r < graph.routers(); ++r)
    if (graph.endpoint_count(r) > 0) away[r] = 0, queue.push_back(r);
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (auto p = graph.port_begin(queue[i]); p < graph.port_begin(queue[i] + 1); ++p) {
      if (graph.peer(p) == topology::kNone) continue;
      RouterId next = graph.port_router(graph.peer(p));
      if (away[next] == topology::kNone) away[next] = away[queue[i]] + 1, queue.push_back(next);
    }
  std::vector<std::pair<std::uint32_t, TierId>> order;
  for (std::size_t tier = 0; tier < graph.tier_names().size(); ++tier)
    order.emplace_back(topology::kNone, tier);
  for (RouterId r = 0; r < graph.routers(); ++r) {
    auto& height = order[graph.router_tier(r)].first;
    height = std::min(height, away[r]);
  }
  std::sort(order.begin(), order.end(), [](auto a, auto b) {  // the main tier of equals above its satellites
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  Rows rows(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) rows[order[i].second] = static_cast<int>(i);
  return rows;
}

Bundles bundles_of(const Graph& graph, const Faults& faults, const Rows& rows) {
  Bundles out;
  for (CableId c = 0; c < graph.cables(); ++c) {
    auto [a, b] = cable_routers(graph, c);
    auto [lower, upper] = std::minmax(rows[graph.router_tier(a)], rows[graph.router_tier(b)]);
    Bundle& bundle = out[{lower, upper}][graph.cable_type_index(c)];
    bundle.cables.push_back(c);
    bundle.dead += !faults.usable(graph, graph.cable_ends(c).a);
    bundle.shortest = std::min(bundle.shortest, graph.cable_length(c));
    bundle.longest = std::max(bundle.longest, graph.cable_length(c));
  }
  return out;
}

double row_top(int row) { return -(kBoxHeight + kGap) * row - kBoxHeight; }

std::string box(double top, std::string_view colour, const std::string& name, const std::string& facts,
                std::uint64_t count, bool round) {
  std::string out = fmt::format(
      "<rect x=\"0\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" rx=\"10\" fill=\"#f6f8fa\" stroke=\"{}\" "
      "stroke-width=\"1.6\"/>\n",
      top, kBoxWidth, kBoxHeight, colour);
  out += svg_text({18, top + 29}, name, 17, kInk, Anchor::Start, true);
  out += svg_text({kBoxWidth - 18, top + 29}, facts, 13, kFaintInk, Anchor::End);
  // A row of samples that says "many".
  constexpr std::uint64_t kSamples = 22;
  double x = 27, y = top + 58;
  for (std::uint64_t i = 0; i < std::min(count, kSamples); ++i, x += 22)
    out += round ? fmt::format("<circle cx=\"{:.0f}\" cy=\"{:.0f}\" r=\"7\" fill=\"{}\"/>\n", x, y, colour)
                 : fmt::format(
                       "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"10\" height=\"10\" rx=\"2\" fill=\"{}\"/>\n",
                       x - 5, y - 5, colour);
  if (count > kSamples) out += svg_text({x - 2, y + 5}, "\u2026", 18, colour);
  return out;
}

/// What is written beside a bundle, in one line or two.
struct Words {
  std::string text, note;
  bool bold = false;  // the note
  double width() const { return std::max(text_width(text, 13), text_width(note, 13)); }
};

/// Texts beside bundles; one that would lie on another moves down until it does not.
class Labels {
 public:
  std::string add(Point at, const Words& words, Anchor anchor) {
    Box box{anchor == Anchor::End ? at.x - words.width() : at.x, at.y - 13, words.width(),
            words.note.empty() ? 18.0 : 36.0};
    if (!words.note.empty()) box.y -= 9;
    while (std::any_of(taken_.begin(), taken_.end(), [&](const Box& other) { return box.meets(other); }))
      box.y += 6;
    taken_.push_back(box);
    std::string out = svg_text({at.x, box.y + 17.5}, words.text, 13, kInk, anchor);
    if (!words.note.empty())
      out +=
          svg_text({at.x, box.y + 35.5}, words.note, 13, words.bold ? kInk : kFaintInk, anchor, words.bold);
    return out;
  }

 private:
  struct Box {
    double x, y, width, height;
    bool meets(const Box& other) const {
      return x < other.x + other.width && other.x < x + width && y < other.y + other.height &&
             other.y < y + height;
    }
  };
  std::vector<Box> taken_;
};

/// Lines between two boxes that stand above each other, and what they are.
std::string joint(Labels& labels, double from, double to, std::string_view colour, double centre,
                  const Words& words) {
  std::string out = fmt::format(
      "<path fill=\"none\" stroke=\"{}\" stroke-width=\"1.4\" stroke-opacity=\"0.85\" d=\"", colour);
  constexpr int kLines = 7;
  for (int i = 0; i < kLines; ++i)
    for (int j = 0; j < kLines; j += 3)
      out += fmt::format("M{:.0f} {:.0f}L{:.0f} {:.0f}", centre + 13.0 * (i - 3), from,
                         centre + 13.0 * (j - 3), to);
  return out + "\"/>\n" + labels.add({centre + kJointText, (from + to) / 2}, words, Anchor::Start);
}

/// A line along one side of the boxes, where two are not neighbours.
std::string detour(Labels& labels, double from, double to, bool right, double reach, std::string_view colour,
                   const Words& words) {
  double x = right ? kBoxWidth : 0, out_x = right ? x + reach : x - reach;
  std::string path = fmt::format(
      "<path fill=\"none\" stroke=\"{}\" stroke-width=\"3\" d=\"M{} {:.0f}C{} {:.0f} {} {:.0f} {} "
      "{:.0f}\"/>\n",
      colour, x, from, out_x, from, out_x, to, x, to);
  double edge = (x + 3 * out_x) / 4;
  return path + labels.add({right ? edge + 10 : edge - 10, (from + to) / 2}, words,
                           right ? Anchor::Start : Anchor::End);
}

/// By row: what endpoints up to it can inject, for what cables from there to rows above carry.
std::vector<double> tapers_of(const Graph& graph, const Rows& rows) {
  std::vector<double> injected(rows.size()), upwards(rows.size());
  for (RouterId r = 0; r < graph.routers(); ++r)
    injected[static_cast<std::size_t>(rows[graph.router_tier(r)])] +=
        topology::injection_rate(graph, r) * graph.endpoint_count(r);
  for (CableId c = 0; c < graph.cables(); ++c) {
    auto [a, b] = cable_routers(graph, c);
    auto [lower, upper] = std::minmax(rows[graph.router_tier(a)], rows[graph.router_tier(b)]);
    for (int row = lower; row < upper; ++row)
      upwards[static_cast<std::size_t>(row)] += static_cast<double>(graph.cable_type(c).rate().value);
  }
  std::vector<double> out(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (row > 0) injected[row] += injected[row - 1];
    out[row] = upwards[row] > 0 ? injected[row] / upwards[row] : 0;
  }
  return out;
}

}  // namespace

Drawing tiers_drawing(const Graph& graph, const Faults& faults, const Picture& picture) {
  Rows rows = rows_of(graph);
  auto parts = topology::count_parts(graph);
  Point low{0, row_top(static_cast<int>(rows.size()) - 1)}, high{kBoxWidth, kGap + kBoxHeight};
  std::string drawing;
  Labels labels;
  const std::vector<double> tapers = tapers_of(graph, rows);
  std::vector<double> routers(rows.size());  // by row
  for (RouterId r = 0; r < graph.routers(); ++r)
    ++routers[static_cast<std::size_t>(rows[graph.router_tier(r)])];
  auto beside = [&](bool right, double reach, const Words& words) {
    double edge = reach * 0.75 + 16 + words.width();
    (right ? high.x : low.x) = right ? std::max(high.x, kBoxWidth + edge) : std::min(low.x, -edge);
  };

  for (const auto& [ends, types] : bundles_of(graph, faults, rows)) {
    auto [lower, upper] = ends;
    int nth = 0;
    for (const auto& [type, bundle] : types) {
      std::string colour(colour_of(kCableColours, type));
      Words words{bundle.text(graph.cable_types()[type].name), ""};
      const auto below = static_cast<std::size_t>(lower), above = static_cast<std::size_t>(upper);
      if (picture.bundle_look) {
        BundleLook look = picture.bundle_look(bundle.cables);
        colour = look.colour;
        words = {words.text, look.note, true};
      } else if (upper > lower) {
        const auto cables = static_cast<double>(bundle.cables.size());
        words.note = fan_out_text(cables / routers[below], cables / routers[above], tapers[below]);
      }
      double shift = 22.0 * nth - 11.0 * static_cast<double>(types.size() - 1);
      if (upper == lower + 1) {
        double slot = kBoxWidth / static_cast<double>(types.size());
        double centre = types.size() == 1 ? kBoxWidth * 0.32 : slot * nth + 56;
        drawing += joint(labels, row_top(upper) + kBoxHeight, row_top(lower), colour, centre, words);
        high.x = std::max(high.x, centre + kJointText + words.width());
      } else {
        double from = row_top(lower) + (upper == lower ? 64 : 30) + shift,
               to = row_top(upper) + (upper == lower ? 20 : 54) - shift;
        double reach = upper == lower ? 60 : 40.0 + 30 * (upper - lower);
        drawing += detour(labels, from, to, true, reach, colour, words);
        beside(true, reach, words);
      }
      ++nth;
    }
  }
  for (std::size_t i = 0, tier = 0; tier < graph.tier_names().size(); ++tier) {
    if (i >= parts.tiers.size() || parts.tiers[i].name != graph.tier_names()[tier]) continue;
    const topology::TierUse& use = parts.tiers[i++];
    std::string ports = use.fewest_ports == use.most_ports
                            ? count_of(use.most_ports, "port")
                            : fmt::format("{} to {} ports", use.fewest_ports, use.most_ports);
    std::string facts =
        fmt::format("{} \u00b7 {} each, {:.4g}% in use", count_of(use.routers, "router"), ports,
                    100.0 * static_cast<double>(use.ports_used) /
                        static_cast<double>(std::max<std::uint64_t>(1, use.ports)));
    drawing += box(row_top(rows[tier]), colour_of(kTierColours, tier), use.name, facts, use.routers, true);
    if (use.endpoints == 0) continue;
    const Words words{count_of(use.endpoints, "endpoint"), ""};
    if (rows[tier] == 0) {
      drawing += joint(labels, 0, kGap, kTickColour, kBoxWidth * 0.32, words);
    } else {
      double reach = 40.0 + 30 * rows[tier];
      drawing += detour(labels, row_top(rows[tier]) + kBoxHeight / 2, kGap + kBoxHeight / 2, false, reach,
                        kTickColour, words);
      beside(false, reach, words);
    }
  }
  drawing += box(kGap, kTickColour, "endpoints", with_commas(graph.endpoints()), graph.endpoints(), false);
  return {low, high, std::move(drawing)};
}

std::string draw_tiers(const Graph& graph, const Faults& faults, const Picture& picture) {
  Drawing tiers = tiers_drawing(graph, faults, picture);
  return svg_page(picture.title, picture.about, tiers.low, tiers.high, tiers.body, picture.legend);
}

}  // namespace weft::report
