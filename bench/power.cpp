// What `weft run --power` adds to a run, in processor time of everything in it.
#include <algorithm>

#include "app/bench.hpp"
#include "base/own_files.hpp"
#include "run_cost.hpp"

namespace weft::bench {

namespace {

/// A program with and without it, in turn, so that what else the machine does troubles both alike.
void compare(const std::string& name, const std::vector<std::string>& machine,
             const std::vector<std::string>& program, const std::function<void(app::BenchCase)>& done) {
  constexpr int kRepeats = 7;
  constexpr double kMostShare = 0.03;
  std::vector<double> shares, seconds;
  bool fine = true;
  for (int i = 0; i < kRepeats; ++i) {
    std::vector<std::string> plain = machine, with = machine;
    with.push_back("--power");
    for (std::vector<std::string>* words : {&plain, &with}) {
      words->push_back("--");
      words->insert(words->end(), program.begin(), program.end());
    }
    const Cost without = run_weft(plain, false), measured = run_weft(with, false);
    fine = fine && without.fine && measured.fine;
    seconds.push_back(without.cpu);
    shares.push_back(measured.cpu / std::max(without.cpu, 1e-9) - 1);
  }
  std::sort(shares.begin(), shares.end());
  std::sort(seconds.begin(), seconds.end());
  Json figures{{"cpu_seconds", seconds[kRepeats / 2]},
               {"added_percent", 100 * shares[kRepeats / 2]},
               {"limit_percent", 100 * kMostShare}};
  if (!fine) figures["error"] = "a run failed";
  done({name, figures, fine && shares[kRepeats / 2] <= kMostShare});
}

void run(const std::function<void(app::BenchCase)>& done) {
  const std::string halo = own_file("examples/halo").string();
  compare("halo, 16 ranks of greenice, flit engine, milliseconds", {"run", "greenice", "-n", "16"},
          {halo, "64", "3000"}, done);
  compare("halo, 16 ranks of greenice, flit engine, a minute",
          {"run", "greenice", "-n", "16", "--compute", "fixed", "--set", "host.compute_fixed=2ms"},
          {halo, "64", "3000"}, done);
}

WEFT_REGISTER(app::Bench,
              {"power", "what power and heat add to a run, in processor time", run, "added_percent"});

}  // namespace

}  // namespace weft::bench
