#include "run_cost.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace weft::bench {

namespace {

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

/// Of all processes below one.
std::uint64_t bytes_below(pid_t process) {
  std::uint64_t bytes = 0;
  for (pid_t child : children_of(process)) bytes += proportional_bytes(child) + bytes_below(child);
  return bytes;
}

/// Of a process that has ended and is still to be waited for, in ticks of the system's clock.
double own_seconds(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t name_end = text.rfind(')');
  unsigned long long user = 0, system = 0;
  if (name_end == std::string::npos ||
      std::sscanf(text.c_str() + name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
                  &user, &system) != 2)
    return 0;
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double processor_seconds(const rusage& used) {
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Two processes that wake each other in turn, as many times each. `turn`: shared; whose it is.
void take_turns(std::atomic<std::uint32_t>& turn, std::uint32_t own, unsigned times) {
  for (unsigned i = 0; i < times; ++i) {
    while (turn.load(std::memory_order_acquire) != own)
      syscall(SYS_futex, &turn, FUTEX_WAIT, 1 - own, nullptr, nullptr, 0);
    turn.store(1 - own, std::memory_order_release);
    syscall(SYS_futex, &turn, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
}

}  // namespace

Added compare_runs(const std::vector<std::string>& words, const std::vector<std::string>& option,
                   const std::vector<std::string>& program) {
  constexpr int kRepeats = 7;
  std::vector<double> shares, seconds;
  Added out{.fine = true};
  for (int i = 0; i < kRepeats; ++i) {
    std::vector<std::string> plain = words, with = words;
    with.insert(with.end(), option.begin(), option.end());
    for (std::vector<std::string>* one : {&plain, &with}) {
      one->push_back("--");
      one->insert(one->end(), program.begin(), program.end());
    }
    const Cost without = run_weft(plain, false), measured = run_weft(with, false);
    out.fine = out.fine && without.fine && measured.fine;
    seconds.push_back(without.cpu);
    shares.push_back(measured.cpu / std::max(without.cpu, 1e-9) - 1);
  }
  std::sort(shares.begin(), shares.end());
  std::sort(seconds.begin(), seconds.end());
  out.seconds = seconds[kRepeats / 2];
  out.share = shares[kRepeats / 2];
  return out;
}

Json Added::figures(double most_share) const {
  Json out{{"cpu_seconds", seconds}, {"added_percent", 100 * share}, {"limit_percent", 100 * most_share}};
  if (!fine) out["error"] = "a run failed";
  return out;
}

double two_hand_overs_us() {
  constexpr unsigned kTimes = 20'000;
  void* shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& turn = *new (shared) std::atomic<std::uint32_t>(0);
  const pid_t first = fork();
  if (first == 0) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(std::max(0, sched_getcpu())), &one);
    sched_setaffinity(0, sizeof one, &one);
    const pid_t second = fork();
    take_turns(turn, second == 0, kTimes);
    if (second > 0) waitpid(second, nullptr, 0);
    _exit(0);
  }
  rusage used{};
  wait4(first, nullptr, 0, &used);
  munmap(shared, 4096);
  return processor_seconds(used) * 1e6 / kTimes;
}

double MessageCost::best_us() const { return *std::min_element(messages_.begin(), messages_.end()); }

double MessageCost::median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Cost run_weft(std::vector<std::string> arguments, bool weigh) {
  arguments.insert(arguments.begin(), std::filesystem::read_symlink("/proc/self/exe").string());
  return run_command(std::move(arguments), weigh);
}

Cost run_command(std::vector<std::string> words, bool weigh) {
  auto start = std::chrono::steady_clock::now();
  pid_t child = fork();
  if (child == 0) {
    int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  Cost cost;
  int status = 0;
  rusage used{};
  siginfo_t ended{};
  while (weigh && waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT | WNOHANG) == 0 &&
         ended.si_pid == 0) {
    const std::uint64_t below = bytes_below(child);
    cost.below_bytes = std::max(cost.below_bytes, below);
    cost.most_bytes = std::max(cost.most_bytes, proportional_bytes(child) + below);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  cost.own_cpu = own_seconds(child);
  wait4(child, &status, 0, &used);
  cost.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  cost.cpu = processor_seconds(used);
  cost.largest_bytes = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
  cost.fine = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return cost;
}

}  // namespace weft::bench
