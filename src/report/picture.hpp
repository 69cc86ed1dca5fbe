// Pictures of a machine: every router and cable of a small one, the tiers of a large one.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "report/layout.hpp"
#include "report/svg.hpp"
#include "topology/faults.hpp"

namespace weft::report {

/// How a cable is drawn: by its type in a plain picture, by its load in a heat map.
struct CableLook {
  std::string colour;
  double width = 1.3;
  bool dashed = false;
  friend auto operator<=>(const CableLook&, const CableLook&) = default;
};

/// How a bundle is drawn where machines are drawn as tiers, and what is said beside it.
struct BundleLook {
  std::string colour, note;
};

struct Picture {
  std::string title, about;
  std::function<CableLook(topology::CableId)> look;
  std::function<std::string(topology::CableId)> note;  // shown where the pointer rests on a cable
  std::vector<LegendEntry> legend;                     // of the cables; routers and endpoints are added
  /// The cables of one type between two tiers; empty: the colour of their type.
  std::function<BundleLook(std::span<const topology::CableId>)> bundle_look = {};
  bool outlines = false;  // parts that are like others are drawn as an outline
};

/// What is drawn, without the page around it.
struct Drawing {
  Point low, high;
  std::string body;
};

/// Cables in the colours of their types; what is dead in red dashes.
Picture plain_picture(const topology::Graph& graph, const topology::Faults& faults, std::string title,
                      std::string about);

/// Everything of a layout around and upon its cables, which come as SVG. `outlines`: what is faint is drawn
/// so.
std::string draw_around(const topology::Graph& graph, const topology::Faults& faults, const Layout& layout,
                        const std::string& cables, bool outlines = false);

std::string draw(const topology::Graph& graph, const topology::Faults& faults, const Layout& layout,
                 const Picture& picture);

/// One box for each tier, and the bundles of cables between them.
Drawing tiers_drawing(const topology::Graph& graph, const topology::Faults& faults, const Picture& picture);
std::string draw_tiers(const topology::Graph& graph, const topology::Faults& faults, const Picture& picture);

/// A plain picture of the machine, whichever way suits its size. Returns the SVG file's text.
std::string draw_machine(const topology::Graph& graph, const topology::Faults& faults, std::string title,
                         std::string about);

}  // namespace weft::report
