#include "report/mpi_protocols.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "host/simulation.hpp"
#include "report/html_page.hpp"

namespace weft::report {

namespace {

struct Named {
  const char *key, *words;
};

constexpr Named kNames[abi::kProtocols] = {{"small", "one small message"},
                                           {"fragments", "several small messages"},
                                           {"shared", "blocks of a shared pool"},
                                           {"exclusive", "blocks of the pair's ring"},
                                           {"rendezvous_get", "rendezvous, fetched by the receiver"},
                                           {"rendezvous_put", "rendezvous, put by the sender"},
                                           {"put", "one-sided put"},
                                           {"get", "one-sided get"},
                                           {"atomic", "atomic operation"},
                                           {"control", "requests, acknowledgements, credits"}};

std::string bytes_text(std::uint64_t bytes) { return to_text(DataSize{static_cast<std::int64_t>(bytes)}); }

}  // namespace

Json protocols_json(const host::RunResult& run) {
  const abi::MpiSums& sums = run.mpi;
  Json out;
  for (unsigned i = 0; i < abi::kProtocols; ++i) {
    const abi::ProtocolSums& p = sums.protocol[i];
    double cost = run.mpi_cost[i].picoseconds();
    if (p.count || cost > 0)
      out["protocols"][kNames[i].key] = {
          {"messages", p.count}, {"bytes", p.bytes}, {"processor_ns", cost / 1000}};
  }
  out["expected"] = sums.expected;
  out["unexpected"] = sums.unexpected;
  out["most_unexpected"] = sums.most_unexpected;
  out["compared"] = sums.compared;
  out["copied_bytes"] = sums.copied;
  out["reordered"] = sums.reordered;
  out["credit_stalls"] = sums.stalls;
  out["stalled_ns"] = static_cast<double>(sums.stalled_ps) / 1000;
  out["credits_grown"] = sums.credits_grown;
  out["registrations"] = sums.registrations;
  return out;
}

std::string protocols_section(const host::RunResult& run) {
  const abi::MpiSums& sums = run.mpi;
  std::vector<std::vector<std::string>> rows;
  for (unsigned i = 0; i < abi::kProtocols; ++i) {
    const abi::ProtocolSums& p = sums.protocol[i];
    double cost = run.mpi_cost[i].picoseconds();
    if (!p.count && cost == 0) continue;
    rows.push_back({kNames[i].words, with_commas(p.count), bytes_text(p.bytes), host::time_text(cost),
                    host::time_text(p.count ? cost / static_cast<double>(p.count) : 0)});
  }
  if (rows.empty()) return "";
  std::string notes = fmt::format(
      "{} of {} came before their receive, at most {} at once; {} of queues were compared, {} copied",
      with_commas(sums.unexpected), count_of(sums.expected + sums.unexpected, "message"),
      with_commas(sums.most_unexpected), count_of(sums.compared, "entry", "entries"),
      bytes_text(sums.copied));
  if (sums.reordered) notes += fmt::format("; {} put back in order", with_commas(sums.reordered));
  if (sums.stalls)
    notes += fmt::format("; {} for credit, which was raised {}", count_of(sums.stalls, "wait"),
                         count_of(sums.credits_grown, "time"));
  return html_section("protocols", "How messages travelled", notes + ".",
                      html_table({{"Protocol"},
                                  {"Messages", true},
                                  {"Data", true},
                                  {"Processors' time", true},
                                  {"of it for each", true}},
                                 rows));
}

}  // namespace weft::report
