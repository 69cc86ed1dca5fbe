// Parts of the page of a run that show what ranks did over time, what they called, and what the links
// carried.
#pragma once

#include <string>

#include "measure/run/run_details.hpp"
#include "measure/run/run_stats.hpp"

namespace weft::report {

/// A few sentences: why the run took as long, what ranks did with their time, what they called most, which
/// collective was slowest.
std::string summary_section(const measure::ProgramResult& result, const measure::RunDetails& details,
                            const machine::Machine& machine);

/// A line for each rank: computing, in MPI and waiting, over virtual time.
std::string timeline_section(const measure::ProgramResult& result, const measure::RunDetails& details);

/// Each call added up.
std::string calls_section(const measure::RunDetails& details, unsigned ranks);

/// The slowest collectives, with who came last, how they were run as far as it is seen, and the busiest links
/// meanwhile.
std::string collectives_section(const measure::ProgramResult& result, const measure::RunDetails& details,
                                measure::LinkLoads& loads);

/// Which collectives the interfaces ran, and which were left to the library and why.
std::string offload_section(const measure::ProgramResult& result);

/// The machine with its links in the colour of what they carried over the whole run, and the busiest of them.
std::string links_section(const measure::ProgramResult& result, const measure::RunDetails& details,
                          measure::LinkLoads& loads, const machine::Machine& machine);

/// The same of the network for collectives, where the machine has one.
std::string collective_links_section(const measure::ProgramResult& result, const measure::RunDetails& details,
                                     const machine::Machine& machine);

/// The links of a tree that carried anything, for machines too large to be drawn whole. SVG.
std::string used_links_drawing(const std::vector<measure::LinkLoad>& used,
                               const std::vector<host::RankResult>& ranks, const machine::Machine& machine);

/// "512 B", "32 KiB".
std::string bytes_text(std::uint64_t bytes);

}  // namespace weft::report
