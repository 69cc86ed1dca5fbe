#include "manage/discovery.hpp"

#include <algorithm>

namespace weft::manage {

namespace {

/// One sweep over the machine.
class Sweep {
 public:
  Sweep(const Graph& graph, Chips& chips, ChipNumber first) : graph_(graph), chips_(chips) {
    found_.first = first;
    found_.number.assign(graph.routers(), kNone);
    found_.plugs.assign(graph.ports(), {});
  }

  Discovery run() {
    if (chips_.write_own_number(found_.first)) take(found_.first, kNone, 0);
    for (std::size_t next = 0; next < found_.order.size(); ++next) look_around(next);
    return std::move(found_);
  }

 private:
  /// How a chip is reached: from which, and by which of its ports.
  struct Step {
    ChipNumber before;
    std::uint16_t port;
  };

  void take(ChipNumber number, ChipNumber before, std::uint16_t port) {
    auto identity = chips_.read_identity(number);
    if (!identity) return;
    found_.number[identity->router] = number;
    found_.order.push_back(identity->router);
    steps_.push_back({before, port});
  }

  void look_around(std::size_t place) {
    const RouterId router = found_.order[place];
    const auto chip = static_cast<ChipNumber>(found_.first + place);
    for (std::uint16_t port = 0; port < graph_.port_count(router); ++port) {
      auto neighbour = chips_.read_neighbour(chip, port);
      if (!neighbour) continue;
      Plug& plug = found_.plugs[graph_.port(router, port)];
      plug.kind = neighbour->kind;
      switch (neighbour->kind) {
        case Plug::Kind::Nothing:
          break;
        case Plug::Kind::Unknown:
          ++found_.unknown;
          break;
        case Plug::Kind::Interface:
          plug.number = neighbour->number;
          found_.nodes += chips_.write_node(chip, port, neighbour->number);
          break;
        case Plug::Kind::Router:
          plug.number = graph_.port(neighbour->number, neighbour->port);
          if (!found_.reached(neighbour->number)) go_to(chip, port);
      }
    }
  }

  /// The next number is that of the router at this port: all on the way learn of it, the nearest first, for
  /// writes to those behind go through them.
  void go_to(ChipNumber from, std::uint16_t port) {
    const auto number = static_cast<ChipNumber>(found_.first + found_.order.size());
    path_.clear();
    path_.push_back({from, port});
    for (const Step* at = &step_to(from); at->before != kNone; at = &step_to(at->before))
      path_.push_back(*at);
    for (auto step = path_.rbegin(); step != path_.rend(); ++step)
      if (!chips_.write_way(step->before, number, step->port)) return;
    if (chips_.write_number(from, port, number)) take(number, from, port);
  }

  const Step& step_to(ChipNumber chip) const { return steps_[chip - found_.first]; }

  const Graph& graph_;
  Chips& chips_;
  Discovery found_;
  std::vector<Step> steps_, path_;
};

}  // namespace

Discovery discover(const Graph& graph, Chips& chips, ChipNumber first) {
  return Sweep(graph, chips, first).run();
}

Comparison compare(const Graph& graph, const topology::Faults& faults, const Discovery& found) {
  Comparison out;
  for (RouterId r = 0; r < graph.routers(); ++r) {
    if (!found.reached(r)) {
      if (!faults.router_dead(r)) out.missing.push_back(r);
      continue;
    }
    for (PortId p = graph.port_begin(r); p < graph.port_begin(r + 1); ++p)
      if (Plug expected = described(graph, faults, p); expected != found.plugs[p])
        out.differences.push_back({p, expected, found.plugs[p]});
  }
  for (const Difference& a : out.differences) {
    // Who has what belongs here, as far as that end was seen.
    auto b = std::find_if(out.differences.begin(), out.differences.end(), [&](const Difference& other) {
      return other.port > a.port && other.found == a.expected && a.found == other.expected;
    });
    if (b != out.differences.end()) out.exchanged.emplace_back(a.port, b->port);
  }
  return out;
}

}  // namespace weft::manage
