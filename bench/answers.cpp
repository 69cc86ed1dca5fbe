// What a report with its answer (`weft run --out`) adds to a run of MPI, in processor time of everything in
// it.
#include <unistd.h>

#include <filesystem>

#include "app/bench.hpp"
#include "base/own_files.hpp"
#include "run_cost.hpp"

namespace weft::bench {

namespace {

/// A program with and without it.
void compare(const std::string& name, const std::vector<std::string>& machine,
             const std::vector<std::string>& program, app::BenchResults& results) {
  if (!results.wants(name)) return;
  constexpr double kMostShare = 0.05;
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("weft-bench-answers-" + std::to_string(getpid()))).string();
  const Added added = compare_runs(machine, {"--out", folder}, program);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  results.add({name, added.figures(kMostShare), added.fine && added.share <= kMostShare});
}

void run(app::BenchResults& results) {
  compare("barriers of 16 ranks on a torus, flit engine",
          {"run", "torus", "--set", "topology.dims=[4,4]", "-n", "16"},
          {own_file("validation/barrier").string(), "1000"}, results);
  compare("messages of two ranks, ideal engine", {"run", "torus", "--engine", "ideal", "-n", "2"},
          {own_file("validation/pairs").string(), "latency", "20000", "64"}, results);
}

WEFT_REGISTER(app::Bench, {"answers", "what a report and its answer add to a run of MPI, in processor time",
                           run, "added_percent"});

}  // namespace

}  // namespace weft::bench
