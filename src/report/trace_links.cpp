#include "report/trace_links.hpp"

#include <map>
#include <set>

namespace weft::report {

void trace_links(Trace& trace, const std::vector<measure::Transfer>& transfers, Time end,
                 const machine::Machine& machine) {
  constexpr std::size_t kMostLinks = 32;
  constexpr std::int64_t kSlices = 100;
  measure::LinkLoads loads(machine);
  std::set<network::flow::LinkId> busiest;
  for (const measure::LinkLoad& load : loads.between(transfers, Time{0}, end))
    if (busiest.size() < kMostLinks) busiest.insert(load.link);
  std::map<network::flow::LinkId, double> last;  // nothing is said of what has not changed
  for (std::int64_t i = 0; i < kSlices && end.value >= kSlices; ++i) {
    const Time from{end.value * i / kSlices}, until{end.value * (i + 1) / kSlices};
    std::map<network::flow::LinkId, double> now;
    for (const measure::LinkLoad& load : loads.between(transfers, from, until - Time{1}))
      if (busiest.contains(load.link)) now[load.link] = load.share;
    for (network::flow::LinkId link : busiest)
      if (now[link] != last[link] || i == 0) trace.link(loads.links().name(link), from, now[link]);
    last = std::move(now);
  }
}

}  // namespace weft::report
