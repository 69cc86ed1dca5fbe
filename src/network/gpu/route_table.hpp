// Any routing as tables: what it answers to a packet, by where the packet stands and where it goes.
#pragma once

#include "network/gpu/plain.hpp"
#include "routing/routing.hpp"

namespace weft::network::gpu {

/// A row for each router, or for each router, input and class where the routing looks at them; a column for
/// each group of endpoints that are routed alike, or for each intermediate place. Equal answers are stored
/// once.
struct RouteTable {
  /// Throws UserError where it would take more memory than there is.
  explicit RouteTable(const routing::Routing& routing);

  std::vector<u32> answer, via_answer, later_answer;  // [row][column]: where in `candidates`
  std::vector<u32> candidates{0};                     // how many, then port << 8 | class each
  std::vector<u32> first_row, column;                 // by router, by endpoint
  std::vector<u32> via_reached;                       // bits, [router][place]
  u32 rows = 0, columns = 0, vias = 0, via_words = 0, classes = 1, escape_classes = 0;
  bool by_input = false;
  bool several_outputs = false;  // some answer names more than one
};

}  // namespace weft::network::gpu
