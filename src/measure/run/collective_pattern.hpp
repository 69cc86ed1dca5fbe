// Which algorithm a collective was run by, as far as its messages show.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/run.hpp"
#include "measure/run/mpi_profile.hpp"
#include "measure/run/transfers.hpp"

namespace weft::measure {

/// Who sent to whom, once each.
using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// The name of a pattern among `members`, numbered from 0: "ring", "binomial tree", "recursive doubling" ...;
/// "other" where it is none that is known, "" where nobody sent anything.
std::string pattern_of(Pairs pairs, std::uint32_t members);

/// What is seen of one collective: the pattern of the messages that began while it ran, or "in the
/// interfaces" where there were control packets alone. "" where that cannot be told: it was not of all ranks,
/// it comes back before it is over, or ranks share nodes.
std::string algorithm_of(const Collective& collective, const std::vector<Transfer>& transfers,
                         const std::vector<host::RankResult>& ranks);

}  // namespace weft::measure
