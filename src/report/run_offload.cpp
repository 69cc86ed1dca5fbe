// The part of a run's page on collectives that the interfaces run.
#include <fmt/format.h>

#include "base/text.hpp"
#include "measure/run/collective_table.hpp"
#include "report/figures.hpp"
#include "report/html_page.hpp"
#include "report/run_sections.hpp"
#include "report/svg.hpp"

namespace weft::report {

std::string offload_section(const measure::ProgramResult& result) {
  const abi::CollectiveSums& sums = result.run.mpi.collectives;
  std::vector<std::vector<std::string>> rows;
  for (unsigned i = 0; i < abi::kOffloaded; ++i) {
    std::uint64_t left = 0;
    std::string why;
    for (unsigned j = 0; j < abi::kFallbacks; ++j) {
      if (!sums.fallen_back[i][j]) continue;
      left += sums.fallen_back[i][j];
      why += fmt::format("{}{}: {}", why.empty() ? "" : "<br/>", escape_xml(measure::kFallbackReasons[j]),
                         with_commas(sums.fallen_back[i][j]));
    }
    if (sums.offloaded[i] || left)
      rows.push_back({measure::kCollectiveNames[i], with_commas(sums.offloaded[i]),
                      with_commas(sums.in_routers[i]), with_commas(left), why});
  }
  if (rows.empty()) return "";
  std::string routers;
  for (unsigned i = 0; i < abi::kNotInRouters; ++i)
    if (sums.not_in_routers[i])
      routers +=
          fmt::format(" Barriers and all-reduces that routers did not combine: {}, {}.",
                      with_commas(sums.not_in_routers[i]), escape_xml(measure::kNotInRoutersReasons[i]));
  std::uint64_t packets = 0, rounds = 0;
  for (const nic::Counters& c : result.nics) {
    packets += c.control_packets;
    rounds += c.triggered;
  }
  return html_section(
      "offload", "Collectives in the interfaces",
      fmt::format(
          "Calls of all ranks. The interfaces sent {} and ran {}; {} were of kinds that no interface runs.{}",
          count_of(packets, "control packet"), count_of(rounds, "sequence"),
          count_of(sums.other, "other collective call"), routers),
      html_table({{"Collective"},
                  {"In the interfaces", true},
                  {"Combined by routers", true},
                  {"Left to the library", true},
                  {"Why"}},
                 rows));
}

}  // namespace weft::report
