#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "measure/run/collective_pattern.hpp"
#include "report/figures.hpp"
#include "report/html_page.hpp"
#include "report/plot_axis.hpp"
#include "report/run_sections.hpp"
#include "report/svg.hpp"

namespace weft::report {

using measure::CallSums;
using measure::Collective;
using measure::CollectiveSums;
using measure::LinkLoad;

namespace {

constexpr std::size_t kMostCalls = 16, kMostCollectives = 12, kLinksUnder = 2;
constexpr double kWorthNaming = 0.001;  // of what a link can carry

std::string call_name(std::uint16_t call) { return abi::call_facts(call).name; }

std::string mean(const TimeSum& total, std::uint64_t count) {
  return rounded<Time>(total.picoseconds() / static_cast<double>(std::max<std::uint64_t>(1, count)));
}

/// The busiest links between routers while it ran.
std::string links_under(const Collective& c, const measure::RunDetails& details, measure::LinkLoads& loads) {
  std::string out;
  std::size_t shown = 0;
  for (const LinkLoad& load : loads.between(details.transfers.all(), c.first_came, c.ended)) {
    if (!loads.between_routers(load.link) || load.share < kWorthNaming) continue;
    out += fmt::format("{}<span class=\"link\">{} {}</span>", shown ? "<br/>" : "",
                       escape_xml(loads.links().name(load.link)), percent(load.share));
    if (++shown == kLinksUnder) break;
  }
  return out;
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, units[unit]);
}

std::string calls_section(const measure::RunDetails& details, unsigned ranks) {
  if (details.mpi.calls.empty()) return "";
  double all = 0;
  for (const CallSums& s : details.mpi.calls) all += s.total.picoseconds();
  std::vector<std::vector<std::string>> rows;
  for (const CallSums& s : details.mpi.calls) {
    if (rows.size() == kMostCalls) break;
    rows.push_back({call_name(s.call), with_commas(s.count), s.bytes ? bytes_text(s.bytes) : "",
                    mean(s.total, s.count), rounded(s.longest), mean(s.total, ranks),
                    html_bar(all > 0 ? s.total.picoseconds() / all : 0, "#0072b2")});
  }
  std::string lead =
      "Calls of all ranks; the bar is a call's part of all time spent in MPI, waiting included.";
  if (details.mpi.left_out)
    lead += fmt::format(" The last {} found no room in the log.", count_of(details.mpi.left_out, "call"));
  return html_section("calls", "What they called", lead,
                      html_table({{"Call"},
                                  {"Times", true},
                                  {"Data", true},
                                  {"Mean", true},
                                  {"Longest", true},
                                  {"For each rank", true},
                                  {"Of MPI"}},
                                 rows));
}

std::string collectives_section(const measure::ProgramResult& result, const measure::RunDetails& details,
                                measure::LinkLoads& loads) {
  if (details.mpi.collectives.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const CollectiveSums& s : details.mpi.collectives) {
    if (rows.size() == kMostCollectives) break;
    const Collective& c = s.slowest;
    rows.push_back(
        {call_name(c.call), c.bytes ? bytes_text(c.bytes) : "", with_commas(c.members), with_commas(s.count),
         mean(s.total, s.count), rounded(c.took()), rounded(c.last_came),
         fmt::format("rank {}, {} after the first", c.last_rank, rounded(c.last_came - c.first_came)),
         measure::algorithm_of(c, details.transfers.all(), result.run.ranks),
         links_under(c, details, loads)});
  }
  return html_section(
      "collectives", "The slowest collectives",
      "Time from the last rank's coming to the last one's leaving. How it ran is what the messages of the "
      "slowest show, where all ranks took part and each has a node of its own. The links are the busiest "
      "between routers meanwhile, with their use.",
      html_table({{"Collective"},
                  {"Data", true},
                  {"Ranks", true},
                  {"Times", true},
                  {"Mean", true},
                  {"Slowest", true},
                  {"Began at", true},
                  {"Came last"},
                  {"How it ran"},
                  {"Links under it"}},
                 rows));
}

}  // namespace weft::report
