// What routers have for reductions: operation units at the joints of trees.
#pragma once

#include "machine/description.hpp"

namespace weft::machine {

struct RouterReduction {
  unsigned entries = 0;  // rounds of reductions that a router holds at once; 0: it has no units
  Time time{0};          // from the last packet of a round, whole, to the first flit of what goes on

  bool there_is() const { return entries > 0; }
};

/// Of the kinds that have none, none.
RouterReduction router_reduction(const Description& description);

}  // namespace weft::machine
