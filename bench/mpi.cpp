// What MPI programs cost to run: starting many ranks, and the processor time of a small message, everything
// included.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "app/bench.hpp"
#include "base/diagnostics.hpp"
#include "config/registry.hpp"
#include "network/network.hpp"
#include "run_cost.hpp"

namespace weft::bench {

namespace {

/// Round trips between the first rank and the last, then an all-reduce of all.
constexpr const char* kProgram = R"(
#include <mpi.h>
#include <stdlib.h>
int main(int count, char** argument) {
  int rank, ranks, turns = atoi(argument[1]);
  char byte[8] = {0};
  double mine, sum;
  MPI_Init(&count, &argument);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int last = ranks - 1, other = last - rank;
  for (int i = 0; i < turns && (rank == 0 || rank == last); ++i) {
    if (rank == 0) MPI_Send(byte, 8, MPI_CHAR, other, 0, MPI_COMM_WORLD);
    MPI_Recv(byte, 8, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == last) MPI_Send(byte, 8, MPI_CHAR, other, 0, MPI_COMM_WORLD);
  }
  mine = rank;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return sum != ranks * (ranks - 1) / 2;
}
)";

/// Compiled as anybody compiles an MPI program; gone with the folder it is in.
class Program {
 public:
  Program() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-bench-XXXXXX").string();
    if (!mkdtemp(name.data())) throw UserError("no folder for the program of this benchmark");
    folder_ = name;
    std::ofstream(folder_ + "/p.c") << kProgram;
    std::string command = fmt::format("mpicc.openmpi -O2 -o {0}/p {0}/p.c", folder_);
    if (std::system(command.c_str()) != 0)
      throw UserError("mpicc.openmpi does not compile this benchmark's program");
  }
  ~Program() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  std::string path() const { return folder_ + "/p"; }

 private:
  std::string folder_;
};

std::vector<std::string> command(std::vector<std::string> machine, unsigned ranks, const Program& program,
                                 unsigned turns) {
  std::vector<std::string> out{"run"};
  out.insert(out.end(), machine.begin(), machine.end());
  for (const std::string& word :
       {std::string("-n"), std::to_string(ranks), std::string("--"), program.path(), std::to_string(turns)})
    out.push_back(word);
  return out;
}

/// Of a message: microseconds, and how many times two bare hand-overs. 0: none.
struct Limits {
  double us = 0, ratio = 0;
};

/// Starting and ending are taken off by a run with few messages. What MPI itself takes is in the figure.
void message_cost(const std::string& name, const std::vector<std::string>& machine, Limits limits,
                  const Program& program, app::BenchResults& results) {
  if (!results.wants("8 B message, " + name)) return;
  constexpr int kRepeats = 3;
  constexpr unsigned kTurns = 10'000, kRanks = 4;
  MessageCost cost;
  bool fine = true;
  for (int i = 0; i < kRepeats; ++i) {
    Cost few = run_weft(command(machine, kRanks, program, 1), false);
    Cost many = run_weft(command(machine, kRanks, program, kTurns), false);
    fine = fine && few.fine && many.fine;
    cost.add((many.cpu - few.cpu) * 1e6 / (2 * kTurns));
  }
  Json figures{{"cpu_us_per_message", cost.us()},
               {"best", cost.best_us()},
               {"two_bare_hand_overs_us", cost.bare_us()},
               {"ratio", cost.ratio()},
               {"messages", 2 * kTurns}};
  if (limits.us > 0) figures["limit_us"] = limits.us;
  if (limits.ratio > 0) figures["limit_ratio"] = limits.ratio;
  if (!fine) figures["error"] = "a run failed";
  const bool within =
      (limits.us == 0 || cost.us() <= limits.us) && (limits.ratio == 0 || cost.ratio() <= limits.ratio);
  results.add({"8 B message, " + name, figures, fine && within});
}

void start_cost(unsigned ranks, double most_seconds, std::uint64_t most_bytes, const Program& program,
                app::BenchResults& results) {
  const std::string name = fmt::format("{} ranks start, all-reduce and end", ranks);
  if (!results.wants(name)) return;
  Cost cost = run_weft(command({"tianhe2"}, ranks, program, 0), most_bytes != 0);
  Json figures{{"wall_seconds", cost.wall}, {"cpu_seconds", cost.cpu}};
  if (most_seconds > 0) figures["limit_cpu_seconds"] = most_seconds;
  if (most_bytes) {
    figures["memory_bytes"] = cost.most_bytes;
    figures["limit_bytes"] = most_bytes;
  }
  bool fine = cost.fine && (most_seconds == 0 || cost.cpu <= most_seconds) &&
              (most_bytes == 0 || cost.most_bytes <= most_bytes);
  results.add({name, figures, fine});
}

void run(app::BenchResults& results) {
  Program program;
  const std::vector<std::string> ring{"torus", "--set", "topology.dims=[8]", "--engine"};
  auto on_ring = [&](const char* engine) {
    std::vector<std::string> out = ring;
    out.push_back(engine);
    return out;
  };
  message_cost("ideal engine, three cables", on_ring("ideal"), {.ratio = 3.2}, program, results);
  message_cost("flit engine, three cables", on_ring("flit"), {.us = 25}, program, results);
  message_cost("flit engine, 18,432 nodes", {"tianhe2"}, {}, program, results);
  start_cost(64, 10, 0, program, results);
  start_cost(256, 0, std::uint64_t{4} << 30, program, results);
}

WEFT_REGISTER(app::Bench,
              {"mpi", "processor time of a message of an MPI program, and starting up to 256 ranks", run,
               "cpu_us_per_message"});

}  // namespace

}  // namespace weft::bench
