// The part of a large tree that a run used: endpoints at the bottom, the routers above them in rows by level.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "report/plot_axis.hpp"
#include "report/plot_heat.hpp"
#include "report/run_sections.hpp"
#include "report/svg.hpp"
#include "topology/tree_shape.hpp"

namespace weft::report {

using measure::LinkLoad;
using topology::EndpointId;
using topology::RouterId;

namespace {

constexpr std::size_t kMostRouters = 400;
constexpr double kWidth = 980, kLeft = 110, kRow = 92;

struct Edge {
  double share = 0;  // of its busiest direction
  std::uint64_t bytes = 0;
};

class Drawing {
 public:
  Drawing(const std::vector<LinkLoad>& used, const topology::Graph& graph, const topology::TreeShape& shape,
          const std::vector<host::RankResult>& ranks)
      : graph_(graph), shape_(shape) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      ranks_[graph.endpoint_router(ranks[rank].node)].push_back(rank);
    for (const LinkLoad& load : used) {
      RouterId a = graph.port_router(load.link), b = graph.port_router(graph.peer(load.link));
      if (shape.nodes[a].level > shape.nodes[b].level) std::swap(a, b);
      Edge& edge = edges_[{a, b}];
      edge.share = std::max(edge.share, load.share);
      edge.bytes += load.bytes;
      most_ = std::max(most_, load.share);
      routers_.insert(a);
      routers_.insert(b);
    }
  }

  std::size_t routers() const { return routers_.size(); }

  std::string svg() {
    place();
    double height = kRow * (levels_ - 1) + 56;
    std::string out = fmt::format(
        "<svg class=\"chart\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"links in use\">\n",
        kWidth + kLeft, height);
    for (const auto& [ends, edge] : edges_) out += line(ends.first, ends.second, edge);
    for (RouterId r : routers_)
      out += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\" "
          "stroke=\"#ffffff\"><title>{}</title></circle>\n",
          at_[r].x, at_[r].y, radius_[r], kInk, escape_xml(graph_.router_name(r)));
    for (const auto& [router, ranks] : ranks_)
      if (at_.contains(router))
        out += svg_text(at_[router] + Point{0, 20}, rank_list(ranks), 11, kFaintInk, Anchor::Middle);
    for (unsigned level = 1; level <= levels_; ++level)
      out += svg_text({0, y(level) + 4}, level == 1 ? "ranks below" : fmt::format("level {}", level), 12,
                      kFaintInk);
    return out + "</svg>\n";
  }

 private:
  /// As long as there is room for it.
  static std::string rank_list(const std::vector<std::size_t>& ranks) {
    constexpr std::size_t kMost = 4;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < ranks.size() && i < kMost; ++i) names.push_back(std::to_string(ranks[i]));
    return join(names, " ") + (ranks.size() > kMost ? " ..." : "");
  }

  double y(unsigned level) const { return kRow * (levels_ - level) + 20; }

  /// Each row in the order of what lies below it, evenly spaced.
  void place() {
    std::map<unsigned, std::vector<RouterId>> rows;
    for (RouterId r : routers_) {
      rows[shape_.nodes[r].level].push_back(r);
      levels_ = std::max<unsigned>(levels_, shape_.nodes[r].level);
    }
    std::map<RouterId, std::pair<double, unsigned>> below;  // sum and number of the places of its children
    for (auto& [level, row] : rows) {
      auto wish = [&](RouterId r) {
        auto found = below.find(r);
        return found == below.end() ? static_cast<double>(shape_.nodes[r].below_begin)
                                    : found->second.first / found->second.second;
      };
      std::stable_sort(row.begin(), row.end(), [&](RouterId a, RouterId b) { return wish(a) < wish(b); });
      double room = (kWidth - 20) / static_cast<double>(row.size());
      for (RouterId r : row) radius_[r] = std::clamp(room * 0.3, 1.8, 5.0);
      for (std::size_t i = 0; i < row.size(); ++i)
        at_[row[i]] = {
            kLeft + (kWidth - 20) * (static_cast<double>(i) + 0.5) / static_cast<double>(row.size()),
            y(level)};
      for (const auto& [ends, edge] : edges_)
        if (shape_.nodes[ends.first].level == level) {
          auto& [sum, count] = below[ends.second];
          sum += at_[ends.first].x;
          ++count;
        }
    }
  }

  std::string line(RouterId a, RouterId b, const Edge& edge) const {
    Point from = at_.at(a), to = at_.at(b);
    double middle = (from.y + to.y) / 2, of_most = most_ > 0 ? edge.share / most_ : 0;
    return fmt::format(
        "<path d=\"M{0:.1f} {1:.1f}C{0:.1f} {4:.1f} {2:.1f} {4:.1f} {2:.1f} {3:.1f}\" fill=\"none\" "
        "stroke=\"{5}\" "
        "stroke-width=\"{6:.1f}\"><title>{7} to {8}: {9}, {10} in use</title></path>\n",
        from.x, from.y, to.x, to.y, middle, heat_colour(edge.share), 1.4 + 3 * of_most,
        escape_xml(graph_.router_name(a)), escape_xml(graph_.router_name(b)), bytes_text(edge.bytes),
        percent(edge.share));
  }

  const topology::Graph& graph_;
  const topology::TreeShape& shape_;
  std::map<std::pair<RouterId, RouterId>, Edge> edges_;  // lower end first
  std::set<RouterId> routers_;
  std::map<RouterId, std::vector<std::size_t>> ranks_;  // by the router of their node
  std::map<RouterId, Point> at_;
  std::map<RouterId, double> radius_;
  double most_ = 0;
  unsigned levels_ = 1;
};

}  // namespace

std::string used_links_drawing(const std::vector<LinkLoad>& used, const std::vector<host::RankResult>& ranks,
                               const machine::Machine& machine) {
  const auto* shape = machine.graph->shape_as<topology::TreeShape>();
  if (!shape) return "";
  Drawing drawing(used, *machine.graph, *shape, ranks);
  return drawing.routers() > kMostRouters ? "" : drawing.svg();
}

}  // namespace weft::report
