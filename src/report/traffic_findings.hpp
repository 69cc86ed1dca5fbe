// What a sweep shows, in figures and plain words: how much the network takes, and what fills up first.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "measure/traffic/result.hpp"
#include "report/plot_axis.hpp"

namespace weft::report {

/// Links that do the same work, as words after "links": "of dimension 0" and "upwards", "within groups".
struct LinkKind {
  std::string family, direction;  // `direction` is empty where a family has only one
  std::string text() const { return direction.empty() ? family : family + ", " + direction; }
  /// In a table, where nothing comes before it: without the "of".
  std::string name() const { return text().starts_with("of ") ? text().substr(3) : text(); }
  friend auto operator<=>(const LinkKind&, const LinkKind&) = default;
};
LinkKind link_kind(const topology::Graph& graph, topology::PortId port);

struct LinkKindUse {
  LinkKind kind;
  std::uint64_t links = 0, full = 0;
  double mean = 0, busiest = 0;
};
/// A link that carries this much is full: allocation and framing leave little more.
inline constexpr double kFull = 0.9;

std::vector<LinkKindUse> use_by_kind(const topology::Graph& graph, const measure::TrafficPoint& point);

/// The busiest links first; equals by port.
std::vector<const measure::LinkUse*> hottest_links(const measure::TrafficPoint& point, std::size_t most);

/// The points a report speaks of; nullptr where there is none.
struct Findings {
  const measure::TrafficPoint* lowest = nullptr;      // of all loads
  const measure::TrafficPoint* last_taken = nullptr;  // the highest load before the first that is too much
  const measure::TrafficPoint* too_much = nullptr;    // the first saturated or stalled one
  const measure::TrafficPoint* best = nullptr;        // with the most accepted
  const measure::TrafficPoint* stalled = nullptr;
  /// The one to look at closely: where it first jams, or the highest load there is.
  const measure::TrafficPoint* focus = nullptr;
};
Findings find(const measure::TrafficResult& result);

/// Units of a run, as people read them.
struct Units {
  double cycle_ns, flit_bytes;
  double gigabytes(double load) const { return cycle_ns > 0 ? load * flit_bytes / cycle_ns : 0; }
  std::string load(double load) const;      // "0.2", "0.1571"
  std::string rate(double load) const;      // "0.5 GB/s"
  std::string cycles(double cycles) const;  // "114.3", "66,207"
  std::string time(double cycles) const;    // "731 ns", "424 µs"
};
Units units_of(const measure::TrafficResult& result);

/// One paragraph: what the network takes, what saturates first, and how latency behaves.
std::string summary_in_words(const measure::TrafficResult& result, const machine::Machine& machine);

}  // namespace weft::report
