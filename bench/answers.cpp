// What a report with its answer (`weft run --out`) adds to a run of MPI, in processor time of everything in
// it.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "app/bench.hpp"
#include "base/own_files.hpp"
#include "run_cost.hpp"

namespace weft::bench {

namespace {

/// A program with and without it, in turn, so that what else the machine does troubles both alike.
void compare(const std::string& name, const std::vector<std::string>& machine,
             const std::vector<std::string>& program, const std::function<void(app::BenchCase)>& done) {
  constexpr int kRepeats = 7;
  constexpr double kMostShare = 0.05;
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("weft-bench-answers-" + std::to_string(getpid()))).string();
  std::vector<double> shares, seconds;
  bool fine = true;
  for (int i = 0; i < kRepeats; ++i) {
    std::vector<std::string> plain = machine, with = machine;
    with.insert(with.end(), {"--out", folder});
    for (std::vector<std::string>* words : {&plain, &with}) {
      words->push_back("--");
      words->insert(words->end(), program.begin(), program.end());
    }
    const Cost without = run_weft(plain, false), measured = run_weft(with, false);
    fine = fine && without.fine && measured.fine;
    seconds.push_back(without.cpu);
    shares.push_back(measured.cpu / std::max(without.cpu, 1e-9) - 1);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  std::sort(shares.begin(), shares.end());
  std::sort(seconds.begin(), seconds.end());
  Json figures{{"cpu_seconds", seconds[kRepeats / 2]},
               {"added_percent", 100 * shares[kRepeats / 2]},
               {"limit_percent", 100 * kMostShare}};
  if (!fine) figures["error"] = "a run failed";
  done({name, figures, fine && shares[kRepeats / 2] <= kMostShare});
}

void run(const std::function<void(app::BenchCase)>& done) {
  compare("barriers of 16 ranks on a torus, flit engine",
          {"run", "torus", "--set", "topology.dims=[4,4]", "-n", "16"},
          {own_file("validation/barrier").string(), "1000"}, done);
  compare("messages of two ranks, ideal engine", {"run", "torus", "--engine", "ideal", "-n", "2"},
          {own_file("validation/pairs").string(), "latency", "20000", "64"}, done);
}

WEFT_REGISTER(app::Bench, {"answers", "what a report and its answer add to a run of MPI, in processor time",
                           run, "added_percent"});

}  // namespace

}  // namespace weft::bench
