#include "run_cost.hpp"

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

}  // namespace

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
  if (!weigh) {
    wait4(child, &status, 0, &used);
  } else {
    while (wait4(child, &status, WNOHANG, &used) == 0) {
      const std::uint64_t below = bytes_below(child);
      cost.below_bytes = std::max(cost.below_bytes, below);
      cost.most_bytes = std::max(cost.most_bytes, proportional_bytes(child) + below);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  cost.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  cost.cpu = seconds(used.ru_utime) + seconds(used.ru_stime);
  cost.largest_bytes = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
  cost.fine = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return cost;
}

}  // namespace weft::bench
