// Where every part of a machine stands on a page. Computed once; pictures and link heat maps draw the same
// layout.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report/point.hpp"
#include "topology/dragonfly_shape.hpp"
#include "topology/exanest_shape.hpp"
#include "topology/graph.hpp"
#include "topology/grid_shape.hpp"
#include "topology/tree_shape.hpp"

namespace weft::report {

inline constexpr double kCaptionSize = 12;

struct Caption {
  Point at;
  std::string text;
  Anchor anchor = Anchor::Middle;
};

/// A machine of more routers is drawn as tiers: nobody can read more.
inline constexpr std::uint32_t kMostDrawnRouters = 600;
/// From so many cables on, a picture shows one part of those that are alike in full.
inline constexpr std::uint32_t kManyCables = 64;

/// Coordinates in pixels, y downwards, the origin anywhere; `low` and `high` enclose everything.
class Layout {
 public:
  explicit Layout(const topology::Graph& graph)
      : routers(graph.routers()), radius(graph.routers(), 5.0), cables(graph.cables()) {}

  std::vector<Point> routers;
  std::vector<double> radius;       // by router
  std::vector<std::string> cables;  // by cable: SVG path data
  std::vector<std::pair<Point, Point>>
      ticks;  // one for each endpoint, from its router outwards; empty: no room
  std::vector<Caption> captions;
  std::vector<std::string> areas;  // backgrounds of groups: SVG path data
  double cable_opacity =
      0.9;             // less where many cables cross, so that the page darkens only where they lie close
  bool stubs = false;  // rings close by stubs at both ends, not by whole cables
  // Where many parts are alike, a plain picture shows some in full and the others as an outline.
  std::vector<bool> faint_routers, faint_cables;  // empty: none is
  std::string in_full;                            // what the others are like
  Point low{1e9, 1e9}, high{-1e9, -1e9};

  void place(topology::RouterId r, Point at, double router_radius);
  void line(topology::CableId c, Point a, Point b);
  void curve(topology::CableId c, Point a, Point toward, Point b);                    // one control point
  void curve(topology::CableId c, Point a, Point toward_a, Point toward_b, Point b);  // two
  void tick(Point from, Point to);
  void disc(Point centre, double disc_radius);
  void polygon(const std::vector<Point>& corners);
  void caption(Point at, std::string text, Anchor anchor = Anchor::Middle);
  void include(Point p);
  /// These routers stand for all others, with the cables between them or, `outwards`, all of theirs.
  void show_in_full(const topology::Graph& graph, const std::function<bool(topology::RouterId)>& routers,
                    bool outwards, std::string name);
};

/// Lays a machine of at most kMostDrawnRouters out by its shape.
Layout lay_out(const topology::Graph& graph);

Layout lay_out_grid(const topology::Graph& graph, const topology::GridShape& shape);
/// Grids of one dimension that counts.
Layout lay_out_ring(const topology::Graph& graph, const topology::GridShape& shape, unsigned dimension);
Layout lay_out_line(const topology::Graph& graph, const topology::GridShape& shape, unsigned dimension);
Layout lay_out_tree(const topology::Graph& graph, const topology::TreeShape& shape);
Layout lay_out_dragonfly(const topology::Graph& graph, const topology::DragonflyShape& shape);
Layout lay_out_exanest(const topology::Graph& graph, const topology::ExanestShape& shape);
/// Without a shape: near routers near each other on the page where cables are few, a circle where they are
/// many.
Layout lay_out_freely(const topology::Graph& graph);

// Shared by the layouts.

/// The routers at a cable's ends.
std::pair<topology::RouterId, topology::RouterId> cable_routers(const topology::Graph& graph,
                                                                topology::CableId c);

/// Cables between the same two routers lie side by side: this one's place among them, centred on 0.
std::vector<double> side_by_side(const topology::Graph& graph);

/// How a bundle of cables between two levels fans out, and how many times what it carries could come from
/// below.
std::string fan_out_text(double up_from_each, double down_from_each, double taper);

/// A unit vector a quarter turn from a to b.
Point across(Point a, Point b);

/// A tick for each endpoint of a router, in a fan around a direction.
void fan_of_ticks(Layout& layout, const topology::Graph& graph, topology::RouterId r, Point direction,
                  double length);

/// On a circle: position i of n, starting at the top.
Point on_circle(double radius, std::size_t i, std::size_t n);

}  // namespace weft::report
