// Queries over a distributed table, with and without NVM in the nodes (000_6c87cd3b5848a22e.txt,
// section 6.2.1, figures 12 and 13): a master and three workers on four boards; what a query makes for itself
// goes to the file system's disk, or stays in NVM of the worker's node.
#include <fmt/format.h>

#include "base/random.hpp"
#include "measure/validate/figure.hpp"
#include "workload/replay.hpp"

namespace weft::measure {

namespace {

constexpr unsigned kQueries = 22, kManyIntermediates = 8;  // q08 "generates a lot of intermediates"

/// Bytes a worker writes and reads again. The paper does not say them: drawn, from 64 KiB to 2 MiB.
std::uint64_t intermediates(unsigned query) {
  constexpr std::uint64_t kLeast = 64 << 10, kMost = 2 << 20;
  if (query == kManyIntermediates) return 8 * kMost;
  return kLeast + random_bits(17, query, 0) % (kMost - kLeast);
}

/// Devices of the description: its disk for the file system, its flash as a node's NVM.
std::vector<std::string> devices(const machine::StorageParameters& s) {
  const machine::StorageDeviceParameters& d = s.device;
  const auto time = [](const char* key, Time t) { return fmt::format("{}={}ps", key, t.value); };
  const auto rate = [](const char* key, std::int64_t r) { return fmt::format("{}={}bps", key, r); };
  return {time("request_time", s.request_time),
          time("access", d.seek + Time{d.rotation.value / 2}),
          rate("device", d.disk_rate.value),
          time("nvm_access", d.command_time + d.read_time),
          rate("nvm", d.channel_rate.value * d.channels),
          "queries=1"};
}

double seconds(const machine::Machine& m, unsigned query, const char* cache) {
  workload::ReplayText text;
  workload::JobText job;
  job.workload = "query";
  job.settings = devices(m.description.storage);
  job.settings.push_back(fmt::format("transient={}B", intermediates(query)));
  job.settings.push_back(fmt::format("cache={}", cache));
  text.jobs = {job};
  return static_cast<double>(workload::replay(m, text).run.completion.value) * 1e-12;
}

void queries(Trial& trial) {
  const machine::Machine m = trial.machine();
  Plot plot{.title = "Execution times of queries, with and without NVM",
            .machine = trial.machine_name(),
            .about =
                "22 queries whose intermediate results are drawn, those of q08 by far the largest; a time in "
                "the paper's figure is not said in numbers.",
            .x_label = "query",
            .y_label = "milliseconds",
            .log_y = true,
            .series = {{"without NVM", Series::Look::Fit, {}}, {"with NVM", Series::Look::Ours, {}}}};
  unsigned faster = 0;
  for (unsigned q = 1; q <= kQueries; ++q) {
    const double without = seconds(m, q, "none"), with = seconds(m, q, "nvm");
    faster += with < without;
    plot.series[0].points.emplace_back(q, without * 1e3);
    plot.series[1].points.emplace_back(q, with * 1e3);
  }
  trial.plots.push_back(std::move(plot));
  trial.give(
      "V-EXN-17", "", faster,
      "the direction alone: the paper says no sizes and few times; sizes of intermediate results and both "
      "devices are assumed");
}

WEFT_REGISTER(ExperimentKind,
              {"exanest-trenz/queries",
               33,
               "exanest-trenz",
               {{"V-EXN-17",
                 "",
                 "queries of 22 that are faster with a cache in NVM",
                 "of 22",
                 kQueries,
                 points_off(0),
                 Basis::Predicted,
                 true,
                 "figure 13: \"For all queries, their execution times are shorter with the NVM\"",
                 {"V-EXN-01"}}},
               queries});

}  // namespace

}  // namespace weft::measure
