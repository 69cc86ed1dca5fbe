// What `weft run --power` adds to a run, in processor time of everything in it.

#include "app/bench.hpp"
#include "base/own_files.hpp"
#include "run_cost.hpp"

namespace weft::bench {

namespace {

/// A program with and without it.
void compare(const std::string& name, const std::vector<std::string>& machine,
             const std::vector<std::string>& program, app::BenchResults& results) {
  if (!results.wants(name)) return;
  constexpr double kMostShare = 0.03;
  const Added added = compare_runs(machine, {"--power"}, program);
  results.add({name, added.figures(kMostShare), added.fine && added.share <= kMostShare});
}

void run(app::BenchResults& results) {
  const std::string halo = own_file("examples/halo").string();
  compare("halo, 16 ranks of greenice, flit engine, milliseconds", {"run", "greenice", "-n", "16"},
          {halo, "64", "3000"}, results);
  compare("halo, 16 ranks of greenice, flit engine, a minute",
          {"run", "greenice", "-n", "16", "--compute", "fixed", "--set", "host.compute_fixed=2ms"},
          {halo, "64", "3000"}, results);
}

WEFT_REGISTER(app::Bench,
              {"power", "what power and heat add to a run, in processor time", run, "added_percent"});

}  // namespace

}  // namespace weft::bench
