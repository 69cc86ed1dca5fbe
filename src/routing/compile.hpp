// A routing in a form that an engine evaluates by itself, without a virtual call: arithmetic on coordinates
// where the relation is that, else a table of all its answers where that is small enough. Engines that cannot
// call back (other threads of execution, other processors) run on these forms alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "routing/grid_route.hpp"
#include "routing/routing.hpp"

namespace weft::routing {

/// All answers of a relation. A row is where a packet stands: its router and, where the relation looks at it,
/// the channel it came in by. A column is where it goes: endpoints that are routed alike share one, and
/// places of first legs have columns of their own. Equal answers are stored once.
class RouteTable {
 public:
  /// The same as Routing::candidates for every state a packet can be in.
  std::span<const Candidate> candidates(const Hop& hop) const {
    std::uint32_t list = lists_[std::size_t{row(hop)} * columns_ + column(hop)];
    return {&candidates_[begin_[list]], &candidates_[begin_[list + 1]]};
  }

  std::uint32_t row(const Hop& hop) const {
    std::uint32_t first = first_row_[hop.router];
    return uses_input_ && hop.in_port != kInjected ? first + 1 + hop.in_port * classes_ + hop.in_class
                                                   : first;
  }
  std::uint32_t column(const Hop& hop) const {
    if (hop.via_leg) return first_via_ + hop.target;
    return endpoint_column_[hop.target] + (hop.second_leg ? second_leg_ : 0);
  }

  std::uint64_t rows() const { return rows_; }
  std::uint32_t columns() const { return columns_; }
  /// Different answers.
  std::size_t lists() const { return begin_.size() - 1; }
  std::uint64_t bytes() const;

 private:
  friend class TableCompiler;
  bool uses_input_ = false;
  unsigned classes_ = 1;
  std::uint64_t rows_ = 0;
  std::uint32_t columns_ = 0;
  std::uint32_t first_via_ = 0;   // column of the first intermediate place
  std::uint32_t second_leg_ = 0;  // from a destination's column to that of packets on their second leg
  std::vector<std::uint32_t> first_row_;        // by router
  std::vector<std::uint32_t> endpoint_column_;  // by endpoint
  std::vector<std::uint32_t> lists_;            // [row][column]: which answer
  std::vector<std::uint32_t> begin_;            // by answer, and the end
  std::vector<Candidate> candidates_;
};

/// One of the two forms, or why there is none.
struct Compiled {
  std::optional<GridRoute> grid;
  std::optional<RouteTable> table;
  std::string refusal;  // empty where there is a form
};

struct CompileLimits {
  std::uint64_t most_bytes = std::uint64_t{256} << 20;  // of a table
  bool may_be_grid = true;
};

/// Only where the relation is arithmetic.
std::optional<GridRoute> compile_grid(const Routing& routing);

Compiled compile(const Routing& routing, const CompileLimits& limits = {});

}  // namespace weft::routing
