// ExaNeSt: a chassis is a row of mezzanines seen at an angle, each a small grid of quad boards; the switch of
// a rack stands to the left of its chassis.
#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "report/layout.hpp"

namespace weft::report {

using topology::CableId;
using topology::ExanestShape;
using topology::Graph;
using topology::RouterId;

namespace {

constexpr Point kInto{46, -31};  // from a quad board to its neighbour along x

struct Steps {
  Point up, right;  // along y; from one mezzanine to the next
  double chassis, rack;
};

Steps steps_of(const ExanestShape& shape) {
  Steps steps;
  steps.up = {0, -(shape.grid_x * -kInto.y + 34)};
  steps.right = {shape.grid_x * kInto.x + 34, 0};
  steps.chassis = shape.grid_y * -steps.up.y + 46;
  steps.rack = shape.chassis_per_rack * steps.chassis + 30;
  return steps;
}

/// The network FPGA at the corner, the others of its board on a flat ring down and to the right, out of the
/// way of the cables that leave the board.
Point on_board(std::uint32_t fpga, std::uint32_t fpgas) {
  constexpr double kRing = 14, kFlat = 0.62, kDiagonal = 0.7071;
  double turn = std::numbers::pi * (1 + 2.0 * fpga / fpgas);
  double along = kRing * (1 + std::cos(turn)), across = kRing * kFlat * std::sin(turn);
  return {kDiagonal * (along - across), kDiagonal * (along + across)};
}

Point chassis_corner(const ExanestShape& shape, const Steps& steps, std::uint32_t rack,
                     std::uint32_t chassis) {
  return {0, rack * steps.rack + chassis * steps.chassis + shape.grid_y * -steps.up.y};
}

void ground_mezzanines(Layout& layout, const ExanestShape& shape, const Steps& steps, Point corner) {
  Point wide = kInto * (shape.grid_x - 1), high = steps.up * (shape.grid_y - 1);
  for (std::uint32_t z = 0; z < shape.mezzanines; ++z) {
    Point at = corner + steps.right * z;
    layout.polygon({at + Point{-11, 34}, at + wide + Point{32, 34}, at + wide + high + Point{32, -14},
                    at + high + Point{-11, -14}});
  }
}

}  // namespace

Layout lay_out_exanest(const Graph& graph, const ExanestShape& shape) {
  Layout layout(graph);
  Steps steps = steps_of(shape);
  for (std::uint32_t rack = 0; rack < shape.racks; ++rack)
    for (std::uint32_t chassis = 0; chassis < shape.chassis_per_rack; ++chassis) {
      Point corner = chassis_corner(shape, steps, rack, chassis);
      ground_mezzanines(layout, shape, steps, corner);
      layout.caption({corner.x - 11, corner.y + 49},
                     fmt::format("rack {}, chassis {}: mezzanines 0 to {}, boards of {} FPGAs", rack, chassis,
                                 shape.mezzanines - 1, shape.fpgas_per_qfdb),
                     Anchor::Start);
    }
  for (RouterId r = 0; r < graph.routers(); ++r) {
    if (shape.is_switch(r)) {
      layout.place(r, {-150, shape.rack(r) * steps.rack + (steps.rack - 30) / 2}, 13);
      continue;
    }
    Point board = chassis_corner(shape, steps, shape.rack(r), shape.chassis(r)) + kInto * shape.x(r) +
                  steps.up * shape.y(r) + steps.right * shape.z(r);
    layout.place(r, board + on_board(shape.fpga(r), shape.fpgas_per_qfdb),
                 shape.is_network_fpga(r) ? 4.6 : 3.4);
  }

  std::vector<double> places = side_by_side(graph);
  for (CableId c = 0; c < graph.cables(); ++c) {
    auto [a, b] = cable_routers(graph, c);
    Point p = layout.routers[a], q = layout.routers[b];
    Point aside = across(p, q) * (places[c] * 2.2);
    bool from_switch = shape.is_switch(a), to_switch = shape.is_switch(b);
    if (from_switch && to_switch) {
      layout.curve(c, p, (p + q) * 0.5 - Point{0.5 * std::abs(p.y - q.y), 0}, q);
    } else if (from_switch || to_switch) {
      double bend = from_switch ? 70 : -70;
      layout.curve(c, p + aside, p + Point{bend, 0}, q - Point{bend, 0}, q + aside);
    } else {
      layout.line(c, p + aside, q + aside);
    }
  }
  return layout;
}

}  // namespace weft::report
