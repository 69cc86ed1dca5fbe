#include "guest/kernel_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <tuple>
#include <utility>

#include "base/diagnostics.hpp"

namespace weft::guest {

namespace {

constexpr int kPipeRoom = 1 << 20;  // so that a kernel never stands before a full console

/// In the new process: only calls that are safe there.
[[noreturn]] void become_kernel(const KernelLaunch& launch, char* const* arguments, char* const* environment,
                                int console, int input, int line, pid_t parent, int problem) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || chdir(launch.folder.c_str()) != 0) _exit(127);
  personality(ADDR_NO_RANDOMIZE);  // addresses must not differ from run to run
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  dup2(input >= 0 ? input : open("/dev/null", O_RDONLY), 0);
  dup2(console, 1);
  dup2(console, 2);
  if (line >= 0) {
    constexpr int kAway = 16;  // none of the others may have the number that the line gets
    line = fcntl(line, F_DUPFD_CLOEXEC, kAway);
    problem = fcntl(problem, F_DUPFD_CLOEXEC, kAway);
    dup2(line, KernelProcess::kLine);
  }
  sigset_t all;
  sigemptyset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  signal(SIGPIPE, SIG_DFL);
  execve(launch.kernel.c_str(), arguments, environment);
  int error = errno;
  [[maybe_unused]] ssize_t told = write(problem, &error, sizeof error);
  _exit(127);
}

/// Sockets: a kernel hears of what comes by a signal.
std::pair<File, File> socket_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw UserError(fmt::format("no input for a node: {}", std::strerror(errno)));
  return {File(ends[0]), File(ends[1])};
}

}  // namespace

void KernelProcess::start(const KernelLaunch& launch) {
  int console[2], problem[2];
  if (pipe2(console, O_CLOEXEC) != 0 || pipe2(problem, O_CLOEXEC) != 0)
    throw UserError(fmt::format("no pipe for the console of a node: {}", std::strerror(errno)));
  fcntl(console[0], F_SETPIPE_SZ, kPipeRoom);
  fcntl(console[0], F_SETFL, O_NONBLOCK);
  console_ = File(console[0]);
  File writing(console[1]), problem_reading(problem[0]), problem_writing(problem[1]), typed;
  File line;
  if (launch.has_input) std::tie(typed, input_) = socket_pair();
  if (launch.has_line) {
    std::tie(line, line_) = socket_pair();
    fcntl(line_.number(), F_SETFL, O_NONBLOCK);
  }

  std::vector<std::string> words = launch.arguments;
  words.insert(words.begin(), launch.kernel);
  // The C library registers memory for restartable sequences that a guest's processes do not have.
  std::vector<std::string> environment{"GLIBC_TUNABLES=glibc.pthread.rseq=0", "HOME=/", "PATH=/usr/bin:/bin",
                                       fmt::format("UML_RANDOM_SEED={}", launch.seed)};
  std::vector<char*> arguments, variables;
  for (std::string& word : words) arguments.push_back(word.data());
  for (std::string& word : environment) variables.push_back(word.data());
  arguments.push_back(nullptr);
  variables.push_back(nullptr);

  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0)
    become_kernel(launch, arguments.data(), variables.data(), writing.number(), typed.number(), line.number(),
                  parent, problem_writing.number());
  if (process_ < 0) throw UserError(fmt::format("no process for a node: {}", std::strerror(errno)));
  problem_writing.close();
  int error = 0;
  if (::read(problem_reading.number(), &error, sizeof error) == sizeof error) {
    end();
    throw UserError(fmt::format("{}: the kernel cannot be started: {}", launch.kernel, std::strerror(error)));
  }
}

void KernelProcess::reaped(int status) {
  ending_ = WIFSIGNALED(status) ? KernelEnding{0, WTERMSIG(status)} : KernelEnding{WEXITSTATUS(status), 0};
}

std::optional<KernelEnding> KernelProcess::ending() {
  if (process_ < 0 || ending_) return ending_;
  int status = 0;
  rusage usage{};
  if (wait4(process_, &status, WNOHANG, &usage) == process_) {
    peak_memory_ = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    reaped(status);
  }
  return ending_;
}

void KernelProcess::end() {
  if (process_ < 0) return;
  if (!ending_) {
    kill(process_, SIGKILL);
    int status = 0;
    rusage usage{};
    while (wait4(process_, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    peak_memory_ = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    reaped(status);
  }
  kill(-process_, SIGKILL);  // what may be left of its session
  process_ = -1;
}

double KernelProcess::processor_time() const {
  // Its processes are in its session, whoever their parent is.
  std::uint64_t ticks = 0;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    std::size_t after = text.rfind(')');
    if (after == std::string::npos) continue;
    long long session = 0;
    unsigned long long user = 0, system = 0;
    if (std::sscanf(text.c_str() + after + 1, " %*c %*d %*d %lld %*d %*d %*u %*u %*u %*u %*u %llu %llu",
                    &session, &user, &system) == 3 &&
        session == process_)
      ticks += user + system;
  }
  return static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace weft::guest
