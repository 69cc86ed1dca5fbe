// What a message between two processes costs in processor time, everything included: both ranks, the
// simulator and the system calls between them; and what it takes to start many ranks.
#include <algorithm>

#include "app/bench.hpp"
#include "base/diagnostics.hpp"
#include "base/own_files.hpp"
#include "base/text.hpp"
#include "network/network.hpp"
#include "run_cost.hpp"

namespace weft::bench {

namespace {

std::string example(const std::string& name) { return own_file("examples/" + name).string(); }

std::vector<std::string> on_ring(const std::string& engine, unsigned ranks,
                                 std::vector<std::string> program) {
  std::vector<std::string> out{
      "run", "torus", "--set", "topology.dims=[8]", "--engine", engine, "-n", std::to_string(ranks), "--"};
  out.insert(out.end(), program.begin(), program.end());
  return out;
}

/// Three cables from rank 0 to rank 3; the time of starting and ending is taken off by a run with few
/// messages.
void message_cost(const std::string& engine, double limit, app::BenchResults& results) {
  constexpr int kRepeats = 3, kMessages = 20'000;
  const std::string name = "message, " + engine + " engine, three cables";
  if (!results.wants(name)) return;
  constexpr double kMostRatio = 2.2;  // on the ideal engine, which computes next to nothing
  MessageCost cost;
  bool fine = true;
  for (int i = 0; i < kRepeats; ++i) {
    Cost few = run_weft(on_ring(engine, 4, {example("pingpong"), "1", "0"}), false);
    Cost many =
        run_weft(on_ring(engine, 4, {example("pingpong"), std::to_string(kMessages / 2), "0"}), false);
    fine = fine && few.fine && many.fine;
    cost.add((many.cpu - few.cpu) * 1e6 / kMessages);
  }
  Json figures{{"cpu_us_per_message", cost.us()},
               {"best", cost.best_us()},
               {"two_bare_hand_overs_us", cost.bare_us()},
               {"ratio", cost.ratio()},
               {"messages", kMessages}};
  if (limit > 0) figures["limit_us"] = limit;
  if (engine == "ideal") figures["limit_ratio"] = kMostRatio;
  if (!fine) figures["error"] = "a run failed";
  const bool within = (limit == 0 || cost.us() <= limit) && (engine != "ideal" || cost.ratio() <= kMostRatio);
  results.add({name, figures, fine && within});
}

void run(app::BenchResults& results) {
  for (const auto& [name, kind] : config::Registry<network::EngineKind>::all())
    message_cost(name, name == "ideal" ? 15 : name == "flit" ? 25 : 0, results);
  const std::string all = "256 processes of message_rate";
  if (!results.wants(all)) return;
  constexpr double kMostSeconds = 5;
  constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;
  std::vector<std::string> many{
      "run", "torus", "-n", "256", "--engine", "ideal", "--", example("message_rate"), "--count", "10"};
  Cost cost = run_weft(many, true);
  results.add({all,
               Json{{"wall_seconds", cost.wall},
                    {"cpu_seconds", cost.cpu},
                    {"memory_bytes", cost.most_bytes},
                    {"limit_seconds", kMostSeconds},
                    {"limit_bytes", kMostBytes}},
               cost.fine && cost.wall <= kMostSeconds && cost.most_bytes <= kMostBytes});
}

WEFT_REGISTER(app::Bench,
              {"run", "processor time of a message between two processes, and starting 256 of them", run,
               "cpu_us_per_message"});

}  // namespace

}  // namespace weft::bench
