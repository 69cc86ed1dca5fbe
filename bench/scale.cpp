// How the flit engine scales: threads, ranks, and a GPU where there is one, over machines from 8x8x8 to a
// million routers. Cycles alone: the difference of two batch sizes, so that graph, start and report drop out.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "app/bench.hpp"
#include "base/diagnostics.hpp"
#include "base/input_file.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "network/cycle_engine.hpp"
#include "run_cost.hpp"

namespace weft::bench {

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

struct Case {
  std::string name, machine;
  Words settings;
  Words loads;
  unsigned few, many;        // packets of four flits from each endpoint
  unsigned least_cores = 1;  // with fewer it would take too long
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"torus 8x8x8", "torus", {"topology.dims=[8,8,8]"}, {"0.1", "0.3"}, 300, 1500},
      {"torus 32x32x32", "torus", {"topology.dims=[32,32,32]"}, {"0.025", "0.075"}, 10, 30},
      {"tianhe2", "tianhe2", {}, {"0.08", "0.3"}, 10, 40},
      {"dragonfly of 114,582",
       "dragonfly",
       {"topology.endpoints_per_router=13", "topology.global_cables_per_router=13",
        "topology.routers_per_group=26", "router.ports=0"},
       {"0.03", "0.1"},
       4,
       12},
      {"torus 64x64x64", "torus", {"topology.dims=[64,64,64]"}, {"0.01", "0.03"}, 2, 6, 4},
      {"torus 100x100x100", "torus", {"topology.dims=[100,100,100]"}, {"0.005", "0.02"}, 2, 4, 8},
  };
  return all;
}

/// How the work is shared out.
struct Way {
  std::string name;
  unsigned workers;
  Words launcher, options;
};

bool has_device() {
  try {
    network::cycle_engine("gpu").facts(machine::build(machine::describe("torus", {})), 1);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

std::vector<Way> ways() {
  std::vector<Way> out;
  const unsigned cores = default_threads();
  for (unsigned n = 1; n <= cores; n *= 2)
    out.push_back({count_of(n, "thread"), n, {}, {"--threads", std::to_string(n)}});
  for (unsigned n = 2; n <= cores; n *= 2)
    out.push_back({count_of(n, "rank"),
                   n,
                   {"mpirun.openmpi", "--allow-run-as-root", "--bind-to", "core", "-n", std::to_string(n)},
                   {"--threads", "1"}});
  if (has_device()) out.push_back({"GPU", 1, {}, {"--engine", "gpu", "--threads", std::to_string(cores)}});
  return out;
}

struct Measured {
  double seconds = 0, hops = 0;
  std::uint64_t bytes = 0;  // of its largest process
  std::size_t result = 0;   // all but how it was made, as one number
  std::string error;
};

constexpr double kLeastShare = 0.02;
constexpr std::uint64_t kMostBytes = 4ull << 30;

double number_after(const std::string& text, const std::string& key) {
  const std::size_t at = text.find(key);
  return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + key.size(), nullptr);
}

Measured run_batch(const Case& one, const std::string& load, const Way& way, unsigned batch,
                   const fs::path& folder) {
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  Words words = way.launcher;
  for (const std::string& word : {self, std::string("traffic"), one.machine}) words.push_back(word);
  for (const std::string& setting : one.settings) words.insert(words.end(), {"--set", setting});
  words.insert(words.end(),
               {"--load", load, "--packet", "4", "--batch", std::to_string(batch), "--out", folder.string()});
  words.insert(words.end(), way.options.begin(), way.options.end());
  const Cost cost = run_command(words);
  Measured out;
  out.bytes = cost.largest_bytes;
  if (!cost.fine) {
    out.error = "it does not run: " + join(words, " ");
    return out;
  }
  // A million routers make half a gigabyte of links: two numbers are found in the text, and the rest
  // compared.
  std::string text = read_file((folder / "result.json").string(), kMostBytes);
  out.hops = number_after(text, "\"flit_hops\": ");
  const std::size_t run = std::min(text.size(), text.rfind("\"run\": "));
  const std::string about = text.substr(run);
  out.seconds =
      number_after(about.substr(std::min(about.size(), about.find("\"points\": "))), "\"seconds\": ");
  text.resize(run);
  out.result = std::hash<std::string>()(text);
  return out;
}

/// One machine and load in all ways. One thread is measured whatever is asked for: others are compared with
/// it.
void measure(const Case& one, const std::string& load, app::BenchResults& results) {
  const std::string about = fmt::format("{}, load {}, ", one.name, load);
  bool wanted = false;
  for (const Way& way : ways()) wanted |= results.wants(about + way.name);
  if (!wanted) return;
  const fs::path folder = fs::temp_directory_path() / fmt::format("weft-scale-{}", getpid());
  double alone = 0;
  std::optional<std::size_t> first;
  for (const Way& way : ways()) {
    const std::string name = about + way.name;
    if (first && !results.wants(name)) continue;
    const Measured few = run_batch(one, load, way, one.few, folder),
                   many = run_batch(one, load, way, one.many, folder);
    const std::string& error = few.error.empty() ? many.error : few.error;
    if (!error.empty()) {
      results.add({name, {{"error", error}}, false});
      continue;
    }
    const double seconds = many.seconds - few.seconds;
    if (seconds < kLeastShare * many.seconds) {  // where the start takes nearly all of it
      results.add({name,
                   {{"not_measured", "too short"}, {"same_result", many.result == first}},
                   many.result == first});
      continue;
    }
    if (!first) first = many.result, alone = seconds;
    const double speed_up = alone / seconds;
    results.add({name,
                 {{"flit_hops_per_second", (many.hops - few.hops) / seconds},
                  {"ns_per_flit_hop", 1e9 * seconds / std::max(1.0, many.hops - few.hops)},
                  {"seconds_a_packet", seconds / (one.many - one.few)},
                  {"speed_up", speed_up},
                  {"efficiency", speed_up / way.workers},
                  {"largest_process_bytes", many.bytes},
                  {"same_result", many.result == first}},
                 many.result == first});
  }
  std::error_code gone;
  fs::remove_all(folder, gone);
}

void run(app::BenchResults& results) {
  for (const Case& one : cases())
    for (const std::string& load : one.loads)
      if (default_threads() >= one.least_cores) measure(one, load, results);
}

std::vector<app::Bench::Machine> machines() {
  std::vector<app::Bench::Machine> out;
  for (const Case& one : cases()) out.push_back({one.machine, one.settings});
  return out;
}

WEFT_REGISTER(app::Bench,
              {"scale",
               "flit-hops a second on threads, on ranks and on a GPU, from 8x8x8 to a million routers", run,
               "flit_hops_per_second", machines()});

}  // namespace

}  // namespace weft::bench
