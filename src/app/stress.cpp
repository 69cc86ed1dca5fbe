// `weft stress`: random machines, traffic and faults until something breaks.
#include "measure/stress/stress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <mutex>

#include "app/verb.hpp"
#include "base/parallel.hpp"
#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "measure/stress/proof_case.hpp"

namespace weft::app {

namespace {

using measure::StressResult;
using measure::StressScenario;

struct Options {
  std::uint64_t count = 0, seed = 1, only = 0;
  double hours = 0;
  unsigned threads = 0;
  bool show = false, proofs = false;
};

struct Totals {
  std::uint64_t scenarios = 0, packets = 0, lost = 0, duplicated = 0, corrupted = 0, out_of_order = 0,
                undeliverable = 0, flagged = 0, retries = 0, taken_back = 0, rerouted = 0, failed = 0;
  void add(const StressResult& r) {
    ++scenarios;
    packets += r.packets, lost += r.lost, duplicated += r.duplicated, corrupted += r.corrupted;
    out_of_order += r.out_of_order, undeliverable += r.undeliverable, flagged += r.flagged;
    retries += r.retries, taken_back += r.taken_back, rerouted += r.reroutings;
    failed += !r.problem.empty();
  }
};

/// Each scenario with 1 thread; every eighth with 2 as well, which must give the same to the cycle.
StressResult run_one(const StressScenario& scenario, std::uint64_t number) {
  StressResult result = measure::run_scenario(scenario, 1);
  if (number % 8 == 0 && result.problem.empty()) {
    StressResult again = measure::run_scenario(scenario, 2);
    if (again.digest != result.digest || again.cycles != result.cycles)
      result.problem = "2 threads give another result than 1";
  }
  return result;
}

void print_scenario(std::uint64_t number, const StressScenario& s, const StressResult& r) {
  fmt::print("--- scenario {}\n{}{}\n{} packets from each endpoint, up to {} flits, one in {} cycles\n",
             number, s.machine, join(s.settings, "\n"), s.packets_per_endpoint, s.longest_packet, s.spacing);
  if (!s.faults.empty()) fmt::print("faults:\n{}", s.faults);
  for (const std::string& line : r.timeline) fmt::print("  {}\n", line);
  fmt::print("{} delivered, {} undeliverable, {} flits sent again, {} taken back, {} cycles\n",
             count_of(r.delivered, "packet"), with_commas(r.undeliverable), with_commas(r.retries),
             with_commas(r.taken_back), with_commas(r.cycles));
}

/// Proofs compared with runs: `--count` cases, or one.
int stress_proofs(const Options& o) {
  const std::uint64_t first = o.only ? o.only : 1, count = o.only ? 1 : o.count;
  std::mutex guard;
  std::uint64_t hold = 0, broken = 0, refused = 0, failed = 0;
  parallel_for(count, o.threads ? o.threads : default_threads(), [&](unsigned, std::uint64_t i) {
    measure::ProofCase one = measure::make_proof_case(o.seed, first + i);
    measure::ProofOutcome outcome = measure::run_proof_case(one);
    std::lock_guard lock(guard);
    hold += outcome.holds;
    refused += outcome.refused;
    broken += outcome.broken_pairs > 0;
    failed += !outcome.problem.empty();
    if (o.only || o.show || !outcome.problem.empty())
      fmt::print("--- case {}\n{}{}\nproof: {}\nrun: {}\n", first + i, one.machine, join(one.settings, "\n"),
                 outcome.proof, outcome.run);
    if (!outcome.problem.empty())
      fmt::print("FAILED: {}; again with: weft stress --proofs --seed {} --only {}\n", outcome.problem,
                 o.seed, first + i);
  });
  fmt::print("{}: {} hold, {} with broken pairs, {} refused; {}\n", count_of(count, "case"),
             with_commas(hold), with_commas(broken), with_commas(refused),
             failed ? count_of(failed, "disagreement") + " of proof and run" : "proof and run agree in all");
  return failed ? 1 : 0;
}

int stress(Options o) {
  if (o.count == 0 && o.hours == 0) o.count = 100;
  if (o.proofs) return stress_proofs(o);
  const std::uint64_t first = o.only ? o.only : 1;
  if (o.only) o.count = 1;
  const Stopwatch start;
  auto elapsed = [&] { return start.seconds(); };
  const bool on_terminal = isatty(STDERR_FILENO) == 1;
  Totals totals;
  std::mutex guard;
  double shown = 0;
  unsigned threads = o.threads ? o.threads : default_threads();
  // In groups, so that a time limit is kept; which scenarios there are does not depend on it.
  const std::uint64_t group = 16 * threads;
  for (std::uint64_t done = 0; o.hours > 0 ? elapsed() < o.hours * 3600 : done < o.count;) {
    std::uint64_t now = o.hours > 0 ? group : std::min(group, o.count - done);
    std::vector<StressResult> results(now);
    parallel_for(now, threads, [&](unsigned, std::uint64_t i) {
      std::uint64_t number = first + done + i;
      StressScenario scenario = measure::make_scenario(o.seed, number);
      results[i] = run_one(scenario, number);
      std::lock_guard lock(guard);
      if (o.only || o.show || !results[i].problem.empty()) print_scenario(number, scenario, results[i]);
      if (!results[i].problem.empty())
        fmt::print("FAILED: {}; again with: weft stress --seed {} --only {}\n", results[i].problem, o.seed,
                   number);
    });
    for (const StressResult& r : results) totals.add(r);
    done += now;
    std::fflush(stdout);
    if (elapsed() - shown > (on_terminal ? 0.5 : 30)) {
      shown = elapsed();
      fmt::print(stderr, "{}{} scenarios, {} packets, {:.0f} s{}", on_terminal ? "\r" : "", with_commas(done),
                 with_commas(totals.packets), shown, on_terminal ? "  " : "\n");
    }
  }
  if (on_terminal && shown > 0) fmt::print(stderr, "\r{:60}\r", "");
  fmt::print("{} flits sent again, {} taken back from {}, {} with damaged payload flagged\n",
             with_commas(totals.retries), count_of(totals.taken_back, "packet"),
             count_of(totals.rerouted, "re-routed machine"), count_of(totals.flagged, "packet"));
  fmt::print("{}, {}: {} lost, {} duplicated, {} corrupted, {} out of order, {} undeliverable by cut-off{}\n",
             count_of(totals.scenarios, "scenario"), count_of(totals.packets, "packet"),
             with_commas(totals.lost), with_commas(totals.duplicated), with_commas(totals.corrupted),
             with_commas(totals.out_of_order), with_commas(totals.undeliverable),
             totals.failed ? fmt::format("; {} FAILED", count_of(totals.failed, "scenario")) : "");
  return totals.failed ? 1 : 0;
}

std::function<int()> declare_stress(CommandLine& app) {
  auto o = std::make_shared<Options>();
  app.add_option("--count", o->count, "Scenarios to run; default 100").option_text("N");
  app.add_option("--hours", o->hours, "Run for so long instead").option_text("H").not_negative();
  app.add_option("--seed", o->seed, "Which scenarios there are").option_text("N [1]");
  app.add_option("--only", o->only, "Run this scenario alone and show it").option_text("NUMBER");
  app.add_flag(
      "--proofs", o->proofs,
      "Instead: every registered topology and routing with dead cables, routers and groups; does the "
      "proof of `weft check` say what traffic between all pairs does?");
  app.add_flag("--show", o->show, "Show every scenario");
  app.add_option("--threads", o->threads, "Scenarios at the same time; 0: the cores there are")
      .option_text("N [0]")
      .range(0, 1024);
  return [o] { return stress(*o); };
}

WEFT_REGISTER(Verb,
              {"stress",
               "random machines, traffic and faults: is every packet delivered once, whole and in order?", 8,
               declare_stress});

}  // namespace

}  // namespace weft::app
