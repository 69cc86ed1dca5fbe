// Link heat maps: the layout of a machine, its cables in the colour of what they carry.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"
#include "measure/traffic/result.hpp"
#include "report/layout.hpp"

namespace weft::report {

/// From light to dark without a turn, so that the order is seen with every kind of colour vision and in grey
/// print; one step for each tenth.
inline constexpr std::string_view kHeat[] = {"#c3ced8", "#f0d88f", "#f8c75c", "#fbad45", "#fb8f3d",
                                             "#f56b33", "#e2412a", "#c0182a", "#930b2e", "#5c0a2b"};
std::string_view heat_colour(double utilisation);

/// A drawing as part of a page, as wide as it is or as there is room. SVG.
std::string figure_svg(Point low, Point high, const std::string& body);

/// A share in thousandths, as two digits of base 36: what scripts of pages read.
std::string packed_share(double share);

/// A machine's cables as paths of class h0 (idle) to h9 (full) in the order given, within its picture. SVG.
/// `step` is by cable; `note` may be empty.
std::string heat_cables(const machine::Machine& machine, const Layout& layout,
                        const std::vector<topology::CableId>& order,
                        const std::function<std::size_t(topology::CableId)>& step,
                        const std::function<std::string(topology::CableId)>& note);

/// Where a router is, in its topology's words: "(0,3)", "group 2, router 5"; else its tier.
std::string place_name(const topology::Graph& graph, topology::RouterId router);

/// The colours from idle to full, with words at both ends. SVG.
std::string heat_scale();

/// The heat map of a report at one load, with buttons for the others. HTML.
class HeatMap {
 public:
  /// `shown`: the point whose colours are drawn; the others are for the buttons.
  HeatMap(const measure::TrafficResult& result, const machine::Machine& machine,
          const measure::TrafficPoint& shown);

  std::string html() const;

 private:
  /// What a cable carries each way: from its end a, from its end b.
  struct Use {
    double there = 0, back = 0;
    double busier() const { return there > back ? there : back; }
  };
  std::vector<Use> use_at(const measure::TrafficPoint& point) const;
  std::string buttons(const std::vector<topology::CableId>& order) const;
  std::string cables(const Layout& layout, const std::vector<topology::CableId>& order) const;
  std::string tiers() const;
  std::string beside() const;

  const machine::Machine& machine_;
  const topology::Graph& graph_;
  const measure::TrafficPoint& shown_;
  std::vector<const measure::TrafficPoint*> points_;  // with a button each
  bool as_tiers_;
};

}  // namespace weft::report
