#include "report/traffic_faults.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "report/html_page.hpp"
#include "report/plot_chart.hpp"

namespace weft::report {

using measure::CableErrors;
using measure::FaultNote;
using measure::FaultOutcome;
using measure::FaultSlice;
using measure::TrafficPoint;
using measure::TrafficResult;

namespace {

constexpr std::size_t kCables = 12;  // with the most errors

double microseconds(const TrafficResult& result, std::uint64_t cycle) {
  return static_cast<double>(cycle) * result.cycle_ns / 1000;
}

/// Cables that had to repair or give up something, the worst first.
std::vector<CableErrors> worst_cables(const FaultOutcome& faults) {
  std::vector<CableErrors> out;
  for (const CableErrors& c : faults.cables)
    if (c.errors + c.sent_again + c.trainings + c.deaths + c.bits_damaged > 0) out.push_back(c);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.sent_again != b.sent_again ? a.sent_again > b.sent_again : a.effective < b.effective;
  });
  if (out.size() > kCables) out.resize(kCables);
  return out;
}

CableErrors sum_of(const FaultOutcome& faults) {
  CableErrors sum;
  for (const CableErrors& c : faults.cables) {
    sum.bits_damaged += c.bits_damaged, sum.errors += c.errors;
    sum.sent += c.sent, sum.sent_again += c.sent_again;
  }
  return sum;
}

std::string sum_text(const FaultOutcome& faults) {
  CableErrors sum = sum_of(faults);
  std::string out = fmt::format("{} could fail: {} damaged, {} refused, {} of {} flits sent again",
                                count_of(faults.cables.size(), "cable"), count_of(sum.bits_damaged, "bit"),
                                count_of(sum.errors, "flit"), with_commas(sum.sent_again),
                                with_commas(sum.sent + sum.sent_again));
  if (faults.taken_back)
    out +=
        fmt::format("; {} taken back and sent again by their sources", count_of(faults.taken_back, "packet"));
  if (faults.damaged)
    out += fmt::format("; {} delivered with damaged payload, flagged", count_of(faults.damaged, "packet"));
  out += faults.undeliverable ? fmt::format("; {} undeliverable", count_of(faults.undeliverable, "packet"))
                              : "; no packet lost";
  return out;
}

std::string slices_chart(const TrafficResult& result, const TrafficPoint& point) {
  const std::vector<FaultSlice>& slices = point.faults.slices;
  double highest = point.offered;
  for (const FaultSlice& slice : slices) highest = std::max(highest, slice.accepted);
  Range time = range_to(microseconds(result, slices.back().until), 8);
  Chart chart(1060, 300, "Accepted traffic over time, with the faults", time, {"time, \u00b5s", 8},
              range_to(highest * 1.1, 5), {"accepted, flits per endpoint and cycle", 5});
  std::vector<Point> line;
  double from = 0;
  for (const FaultSlice& slice : slices) {
    double until = microseconds(result, slice.until);
    line.push_back({(from + until) / 2, slice.accepted});
    from = until;
  }
  unsigned row = 0;
  for (const FaultNote& note : point.faults.timeline) {
    bool by_script =
        note.what.starts_with("cut") || note.what.starts_with("kill") || note.what.starts_with("restore");
    bool routes = note.what.starts_with("new routes");
    if (by_script || routes)
      chart.upright(microseconds(result, note.cycle), routes ? "new routes" : note.what,
                    routes ? "#009e73" : "#b3122a", row++ % 6);
  }
  chart.line(line, {"#0072b2"});
  return chart.svg();
}

}  // namespace

std::string faults_text(const TrafficResult& result, const machine::Machine& machine) {
  std::string out;
  for (const TrafficPoint& point : result.points) {
    const FaultOutcome& faults = point.faults;
    if (!faults.link_layer) continue;
    if (!faults.timeline.empty()) out += fmt::format("faults at load {}:\n", point.offered);
    for (const FaultNote& note : faults.timeline)
      out += fmt::format("{:>12.3f} us  {}\n", microseconds(result, note.cycle), note.what);
    out += wrap(fmt::format("load {}: {}", point.offered, sum_text(faults)), 110, 2) + "\n";
    for (const CableErrors& c : worst_cables(faults))
      out += fmt::format("  {:<10} {} damaged, {} sent again, {} lanes up, {:.1f}% of its rate\n",
                         machine.graph->port_name(c.port), with_commas(c.errors), with_commas(c.sent_again),
                         c.lanes_up, 100 * c.effective);
    for (const std::string& pair : faults.cut_off) out += "  undeliverable " + pair + "\n";
  }
  return out;
}

std::string faults_html(const TrafficResult& result, const machine::Machine& machine) {
  std::string out;
  for (const TrafficPoint& point : result.points) {
    const FaultOutcome& faults = point.faults;
    if (!faults.link_layer) continue;
    std::string content;
    if (!faults.slices.empty()) content += slices_chart(result, point);
    std::vector<std::vector<std::string>> rows;
    for (const FaultNote& note : faults.timeline)
      rows.push_back({fmt::format("{:.3f}", microseconds(result, note.cycle)), with_commas(note.cycle),
                      escape_xml(note.what)});
    if (!rows.empty()) content += html_table({{"\u00b5s", true}, {"Cycle", true}, {"What happened"}}, rows);
    rows.clear();
    for (const CableErrors& c : worst_cables(faults))
      rows.push_back({fmt::format("<span class=\"link\">{}</span>", machine.graph->port_name(c.port)),
                      with_commas(c.bits_damaged), with_commas(c.errors), with_commas(c.sent_again),
                      with_commas(c.timeouts), with_commas(c.trainings), with_commas(c.deaths),
                      std::to_string(c.lanes_up), html_bar(c.effective, "#0072b2")});
    if (!rows.empty())
      content += html_table({{"Cable"},
                             {"Bits damaged", true},
                             {"Flits refused", true},
                             {"Sent again", true},
                             {"Timeouts", true},
                             {"Lane tests", true},
                             {"Deaths", true},
                             {"Lanes up", true},
                             {"Effective bandwidth"}},
                            rows);
    rows.clear();
    for (const std::string& pair : faults.cut_off) rows.push_back({escape_xml(pair)});
    if (!rows.empty()) content += html_table({{"Undeliverable: no route was left"}}, rows);
    out += html_section(out.empty() ? "faults" : fmt::format("faults-{}", point.offered),
                        fmt::format("Faults at load {}", point.offered), sum_text(faults) + ".", content);
  }
  return out;
}

}  // namespace weft::report
