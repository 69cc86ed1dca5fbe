// What a message between two processes costs in processor time, everything included: both ranks, the
// simulator and the system calls between them; and what it takes to start many ranks.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "app/bench.hpp"
#include "base/diagnostics.hpp"
#include "base/text.hpp"
#include "network/network.hpp"

namespace weft::bench {

namespace {

using nlohmann::ordered_json;

struct Cost {
  bool fine = false;
  double wall = 0, cpu = 0;
  std::uint64_t most_bytes = 0;
};

std::vector<pid_t> children_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", process));
  std::vector<pid_t> out;
  for (pid_t child; file >> child;) out.push_back(child);
  return out;
}

/// Memory of a process, shared pages by its share of them.
std::uint64_t proportional_bytes(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/smaps_rollup", process));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Pss:")) return std::stoull(line.substr(4)) * 1024;
  return 0;
}

/// Runs this program with other arguments. `weigh`: also looks at the memory of all ranks now and then.
Cost run_weft(std::vector<std::string> arguments, bool weigh) {
  std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  auto start = std::chrono::steady_clock::now();
  pid_t child = fork();
  if (child == 0) {
    int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    std::vector<char*> argv{self.data()};
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    execv(self.c_str(), argv.data());
    _exit(127);
  }
  Cost cost;
  int status = 0;
  rusage used{};
  if (!weigh) {
    wait4(child, &status, 0, &used);
  } else {
    while (wait4(child, &status, WNOHANG, &used) == 0) {
      std::uint64_t bytes = proportional_bytes(child);
      for (pid_t rank : children_of(child)) bytes += proportional_bytes(rank);
      cost.most_bytes = std::max(cost.most_bytes, bytes);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  cost.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  cost.cpu = seconds(used.ru_utime) + seconds(used.ru_stime);
  cost.fine = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return cost;
}

std::string example(const std::string& name) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "examples" / name).string();
}

std::vector<std::string> on_ring(const std::string& engine, unsigned ranks,
                                 std::vector<std::string> program) {
  std::vector<std::string> out{
      "run", "torus", "--set", "topology.dims=[8]", "--engine", engine, "-n", std::to_string(ranks), "--"};
  out.insert(out.end(), program.begin(), program.end());
  return out;
}

/// Three cables from rank 0 to rank 3; the time of starting and ending is taken off by a run with few
/// messages.
void message_cost(const std::string& engine, double limit, const std::function<void(app::BenchCase)>& done) {
  constexpr int kRepeats = 3, kMessages = 20'000;
  std::vector<double> us;
  bool fine = true;
  for (int i = 0; i < kRepeats; ++i) {
    Cost few = run_weft(on_ring(engine, 4, {example("pingpong"), "1", "0"}), false);
    Cost many =
        run_weft(on_ring(engine, 4, {example("pingpong"), std::to_string(kMessages / 2), "0"}), false);
    fine = fine && few.fine && many.fine;
    us.push_back((many.cpu - few.cpu) * 1e6 / kMessages);
  }
  std::sort(us.begin(), us.end());
  ordered_json figures{
      {"cpu_us_per_message", us[kRepeats / 2]}, {"best", us.front()}, {"messages", kMessages}};
  if (limit > 0) figures["limit_us"] = limit;
  if (!fine) figures["error"] = "a run failed";
  done({"message, " + engine + " engine, three cables", figures,
        fine && (limit == 0 || us[kRepeats / 2] <= limit)});
}

void run(const std::function<void(app::BenchCase)>& done) {
  for (const auto& [name, kind] : config::Registry<network::EngineKind>::all())
    message_cost(name, name == "ideal" ? 15 : name == "flit" ? 25 : 0, done);
  constexpr double kMostSeconds = 5;
  constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;
  std::vector<std::string> many{
      "run", "torus", "-n", "256", "--engine", "ideal", "--", example("message_rate"), "--count", "10"};
  Cost cost = run_weft(many, true);
  done({"256 processes of message_rate",
        ordered_json{{"wall_seconds", cost.wall},
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
