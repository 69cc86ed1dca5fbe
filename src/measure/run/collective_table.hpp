// Up to which size interfaces run collectives faster than software, by collective and members: measured by
// `weft tune`, read by `weft run --collectives auto`.
#pragma once

#include <string>
#include <vector>

#include "abi/mpi_layout.hpp"

namespace weft::measure {

/// In the order of abi::Offloaded.
inline constexpr const char* kCollectiveNames[abi::kOffloaded] = {"barrier", "broadcast", "reduce",
                                                                  "all-reduce", "gather"};

/// In the order of abi::Fallback.
inline constexpr const char* kFallbackReasons[abi::kFallbacks] = {
    "too long",
    "software is faster by the table",
    "no unit for the type",
    "no unit for the operation",
    "the interface has no operation units",
    "the communicator has two groups",
    "no sequence left in a member's interface",
    "a communicator of one",
    "persistent",
    "not waited for, and before the first call on a communicator of MPI_Comm_idup that is"};

/// In the order of abi::NotInRouters.
inline constexpr const char* kNotInRoutersReasons[abi::kNotInRouters] = {
    "this engine's routers do not; --engine flit has it", "errors pass that no link notices (nic.corruption)",
    "no room for another group in a router (router.reduction_groups, router.reduction_operands)",
    "all members on one node", "more members on a node than a sequence has inputs (nic.trigger_inputs)"};

/// What was offloaded, and what was not and why; for people.
std::vector<std::string> collectives_in_words(const abi::CollectiveSums& sums);

/// Fills in `most`; what the table does not name stays with software. Throws UserError with every error in
/// the file.
void read_collective_table(const std::string& path, abi::CollectiveModel& model);
void parse_collective_table(const std::string& text, const std::string& path, abi::CollectiveModel& model);

/// The text of a table: `bytes` is the most that is offloaded, -1: nothing is.
std::string collective_table_line(abi::Offloaded what, unsigned members, std::int64_t bytes);
inline constexpr const char* kCollectiveTableHead = "collective,members,bytes";

}  // namespace weft::measure
