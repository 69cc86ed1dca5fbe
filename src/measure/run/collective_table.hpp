// Up to which size interfaces run collectives faster than software, by collective and members: measured by
// `weft tune`, read by `weft run --collectives auto`.
#pragma once

#include <string>

#include "abi/mpi_layout.hpp"

namespace weft::measure {

/// In the order of abi::Offloaded.
inline constexpr const char* kCollectiveNames[abi::kOffloaded] = {"barrier", "broadcast", "reduce",
                                                                  "all-reduce", "gather"};

/// Fills in `most`; what the table does not name stays with software. Throws UserError with every error in
/// the file.
void read_collective_table(const std::string& path, abi::CollectiveModel& model);
void parse_collective_table(const std::string& text, const std::string& path, abi::CollectiveModel& model);

/// The text of a table: `bytes` is the most that is offloaded, -1: nothing is.
std::string collective_table_line(abi::Offloaded what, unsigned members, std::int64_t bytes);
inline constexpr const char* kCollectiveTableHead = "collective,members,bytes";

}  // namespace weft::measure
