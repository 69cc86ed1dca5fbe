// Collectives that interfaces run and that cannot end: who has come to each, and who has not.
#pragma once

#include <string>
#include <vector>

#include "host/rank_ports.hpp"
#include "host/wait_explainer.hpp"

namespace weft::host {

/// A line for each collective that waits for a rank. What interfaces hold says which part of a tree has come;
/// what processes say they have under way tells of those who wait for data from above.
std::vector<std::string> explain_trees(const nic::Fabric& fabric, const RankPorts& ports,
                                       const Segments& segments, const WaitExplainer& explainer);

/// ", with MPI_Barrier on a communicator of 6 under way", of a rank that has ended; nothing where it had
/// none.
std::string left_under_way(const Segment& segment);

}  // namespace weft::host
