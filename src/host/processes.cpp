#include "host/processes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <string_view>

#include "abi/port_layout.hpp"
#include "base/diagnostics.hpp"
#include "base/text.hpp"

namespace weft::host {

using namespace abi;

std::string Ending::text() const {
  if (signal) return fmt::format("was ended by signal {} ({})", signal, strsignal(signal));
  return fmt::format("ended with exit code {}", code);
}

namespace {

/// Why a file that is there cannot be run, and what to do about it.
std::string not_a_program(const std::string& path) {
  if (std::filesystem::is_directory(path)) return path + " is a folder, not a program";
  std::string stem = path.substr(0, path.rfind('.')), end = path.substr(std::min(stem.size(), path.size()));
  for (auto [source, compiler] : {std::pair{".c", "mpicc.openmpi"},
                                  {".cc", "mpicxx.openmpi"},
                                  {".cpp", "mpicxx.openmpi"},
                                  {".f", "mpifort.openmpi"},
                                  {".f90", "mpifort.openmpi"},
                                  {".F90", "mpifort.openmpi"}})
    if (end == source)
      return fmt::format("{0} is a source; compile it first: {1} -o {2} {0}", path, compiler, stem);
  if (end == ".py") return fmt::format("{0} is not executable; run it with: python3 {0}", path);
  return path + " is not executable (chmod +x makes a script so)";
}

}  // namespace

std::string find_program(const std::string& name) {
  auto runnable = [](const std::string& path) {
    return access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path);
  };
  if (name.find('/') != std::string::npos) {
    if (runnable(name)) return name;
    if (access(name.c_str(), F_OK) == 0) throw UserError(not_a_program(name));
    throw UserError(fmt::format("{}: {}", name, std::strerror(errno)));
  }
  const char* path = getenv("PATH");
  for (const std::string& folder : split(path ? path : "/usr/bin:/bin", ':'))
    if (std::string file = folder + "/" + name; runnable(file)) return file;
  if (runnable(name))
    throw UserError(fmt::format("there is no program '{0}' on PATH; for the file here, write ./{0}", name));
  if (access(name.c_str(), F_OK) == 0) throw UserError(not_a_program(name));
  throw UserError(fmt::format("there is no program '{}' on PATH", name));
}

bool has_other_rights(const std::string& program) {
  struct stat facts {};
  if (stat(program.c_str(), &facts) != 0) return false;
  const bool user = (facts.st_mode & S_ISUID) && facts.st_uid != geteuid();
  const bool group = (facts.st_mode & S_ISGID) && (facts.st_mode & S_IXGRP) && facts.st_gid != getegid();
  return user || group ||
         (geteuid() != 0 && getxattr(program.c_str(), "security.capability", nullptr, 0) > 0);
}

namespace {

[[noreturn]] void become(const std::string& program, const Launch& launch, pid_t simulator) {
  setpgid(0, 0);
  // A program with rights of its own would not load the library, and could not be ended.
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  personality(ADDR_NO_RANDOMIZE);    // programs that look at their addresses do the same every time
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // the simulator's end, even a sudden one, is this process's end
  if (getppid() != simulator) _exit(127);
  if (launch.owner) launch.owner->store(getpid());
  dup2(launch.out, STDOUT_FILENO);
  dup2(launch.error, STDERR_FILENO);
  if (launch.rank != 0 || isatty(STDIN_FILENO)) {
    int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  }
  if (launch.kept >= 0) fcntl(launch.kept, F_SETFD, 0);
  fcntl(launch.segment, F_SETFD, 0);  // only these survive the start of the program
  fcntl(launch.bell, F_SETFD, 0);
  setenv(kSegmentVariable, std::to_string(launch.segment).c_str(), 1);
  setenv(kBellVariable, std::to_string(launch.bell).c_str(), 1);
  if (launch.calls >= 0) {
    fcntl(launch.calls, F_SETFD, 0);
    setenv(kCallsVariable, std::to_string(launch.calls).c_str(), 1);
  }
  setenv("WEFT_RANK", std::to_string(launch.rank).c_str(), 1);
  setenv("WEFT_SIZE", std::to_string(launch.ranks).c_str(), 1);
  for (const auto& [name, value] : launch.environment) setenv(name.c_str(), value.c_str(), 1);
  // Threads of OpenMP that wait for each other sleep, where they are seen; one that spins seems to compute.
  setenv("OMP_WAIT_POLICY", "passive", 0);
  setenv("KMP_BLOCKTIME", "0", 0);
  const char* others = getenv("LD_PRELOAD");
  std::string preload = others && *others ? launch.library + ":" + others : launch.library;
  setenv("LD_PRELOAD", preload.c_str(), 1);
  signal(SIGINT, SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<char*> arguments;
  for (const std::string& a : launch.command) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  std::string why = fmt::format("weft: {}: {}\n", program, std::strerror(errno));
  [[maybe_unused]] ssize_t ignored = write(STDERR_FILENO, why.data(), why.size());
  _exit(127);
}

}  // namespace

pid_t start(const std::string& program, const Launch& launch) {
  pid_t simulator = getpid();
  pid_t child = fork();
  if (child < 0)
    throw UserError(fmt::format("rank {} cannot be started: {}", launch.rank, std::strerror(errno)));
  if (child == 0) become(program, launch, simulator);
  setpgid(child, child);
  return child;
}

std::optional<Ending> ending_of(pid_t process) {
  int status = 0;
  if (waitpid(process, &status, WNOHANG) != process) return std::nullopt;
  if (WIFSIGNALED(status)) return Ending{0, WTERMSIG(status)};
  return Ending{WEXITSTATUS(status), 0};
}

void kill_rank(pid_t process) {
  kill(-process, SIGKILL);
  kill(process, SIGKILL);
}

namespace {

std::vector<pid_t> children() {
  std::vector<pid_t> out;
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    std::ifstream file(thread.path() / "children");
    for (pid_t child; file >> child;) out.push_back(child);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::vector<pid_t> adopt_orphans() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  return children();
}

void kill_orphans(const std::vector<pid_t>& but) {
  // Those of one that is ended come here in its place. One that is stuck in the system is not waited for.
  for (int round = 0; round < 1000; ++round) {
    std::vector<pid_t> left, now = children();
    std::set_difference(now.begin(), now.end(), but.begin(), but.end(), std::back_inserter(left));
    if (left.empty()) return;
    for (pid_t child : left) kill(child, SIGKILL);
    usleep(1000);
    for (pid_t child : left) waitpid(child, nullptr, WNOHANG);
  }
}

bool belongs_to(pid_t process, pid_t rank) {
  for (int depth = 0; depth < 64 && process > 1; ++depth) {
    if (process == rank) return true;
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string text;
    if (!std::getline(file, text)) return false;
    std::size_t name_end = text.rfind(')');  // the name may hold anything
    if (name_end == std::string::npos) return false;
    std::istringstream rest(text.substr(name_end + 1));
    std::string state;
    pid_t parent = 0;
    rest >> state >> parent;
    process = parent;
  }
  return false;
}

unsigned threads_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/status", process));
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with("Threads:")) return static_cast<unsigned>(std::stoul(line.substr(8)));
  return 0;
}

namespace {

/// What the system has to say about a thread; empty where it is gone or not to be asked.
std::string_view thread_file(pid_t process, pid_t thread, const char* name, std::span<char> into) {
  int file = open(fmt::format("/proc/{}/task/{}/{}", process, thread, name).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  ssize_t bytes = read(file, into.data(), into.size());
  close(file);
  return {into.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0))};
}

}  // namespace

SystemThread system_thread(pid_t process, pid_t thread) {
  char buffer[16 * 1024];
  std::string_view text = thread_file(process, thread, "status", buffer);
  auto value = [&](std::string_view name) {
    std::size_t at = text.find(name);
    return at == std::string_view::npos ? std::string_view() : text.substr(at + name.size());
  };
  auto number = [&](std::string_view name) {
    std::uint64_t out = 0;
    std::string_view digits = value(name);
    std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return out;
  };
  return {value("\nState:\t").starts_with('S'),
          number("\nvoluntary_ctxt_switches:\t") + number("\nnonvoluntary_ctxt_switches:\t")};
}

std::vector<std::pair<pid_t, SystemThread>> system_threads(pid_t process) {
  std::vector<std::pair<pid_t, SystemThread>> out;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), gone)) {
    pid_t thread = std::atoi(entry.path().filename().c_str());
    out.emplace_back(thread, system_thread(process, thread));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

bool waits_for_memory(pid_t process, pid_t thread) {
  char buffer[256];
  return thread_file(process, thread, "syscall", buffer).starts_with(fmt::format("{} ", SYS_futex));
}

Activity activity_of(pid_t process, pid_t thread) {
  char buffer[1024];
  std::string_view text = thread_file(process, thread, "stat", buffer);
  std::size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return {};
  Activity out;
  switch (text[name_end + 2]) {
    case 'T':
    case 't':
      out.kind = Activity::Stopped;
      break;
    case 'D':
      out.kind = Activity::Stuck;
      break;
    case 'S':
    case 'I':
      out.kind = Activity::Sleeps;
      break;
    case 'R':
      out.kind = Activity::Computes;
      break;
    default:
      return out;
  }
  std::string_view call = thread_file(process, thread, "syscall", buffer);
  if (std::from_chars(call.data(), call.data() + call.size(), out.call).ec != std::errc{}) out.call = -1;
  return out;
}

std::string system_call_name(long number) {
  switch (number) {
    case SYS_read:
      return "read";
    case SYS_write:
      return "write";
    case SYS_readv:
      return "readv";
    case SYS_writev:
      return "writev";
    case SYS_recvfrom:
      return "recv";
    case SYS_recvmsg:
      return "recvmsg";
    case SYS_sendto:
      return "send";
    case SYS_sendmsg:
      return "sendmsg";
    case SYS_accept:
    case SYS_accept4:
      return "accept";
    case SYS_connect:
      return "connect";
    case SYS_ppoll:
#ifdef SYS_poll
    case SYS_poll:
#endif
      return "poll";
    case SYS_pselect6:
#ifdef SYS_select
    case SYS_select:
#endif
      return "select";
    case SYS_epoll_pwait:
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
      return "epoll_wait";
    case SYS_wait4:
      return "wait";
    case SYS_waitid:
      return "waitid";
    case SYS_flock:
      return "flock";
    case SYS_fcntl:
      return "fcntl";
    case SYS_futex:
      return "a lock or a condition";
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
      return "nanosleep";
    case SYS_rt_sigsuspend:
#ifdef SYS_pause
    case SYS_pause:
#endif
      return "pause";
    case SYS_rt_sigtimedwait:
      return "sigwait";
    default:
      return fmt::format("system call {}", number);
  }
}

std::string activity_text(const Activity& activity) {
  std::string where = activity.call >= 0 ? ", in " + system_call_name(activity.call) : "";
  switch (activity.kind) {
    case Activity::Stopped:
      return "is stopped by a signal" + where;
    case Activity::Stuck:
      return "is stuck in the system" + where;
    case Activity::Sleeps:
      if (activity.call < 0) return "sleeps in the system";
      return fmt::format(
          "waits in {}{}", system_call_name(activity.call),
          activity.call == SYS_wait4 || activity.call == SYS_waitid ? " for a process it has started" : "");
    case Activity::Computes:
      return "computes";
    case Activity::Gone:
      break;
  }
  return "is about to end";
}

std::uint64_t processor_time(pid_t process, pid_t thread) {
  char buffer[128];
  std::string_view text = thread_file(process, thread, "schedstat", buffer);
  std::uint64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

void poke(pid_t process, pid_t thread, bool hard) {
  siginfo_t info{};
  info.si_signo = kPoke;
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_int = hard;
  syscall(SYS_rt_tgsigqueueinfo, process, thread, kPoke, &info);
}

int borrow_file(pid_t process, int file) {
  int handle = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (handle < 0) return -1;
  int out = static_cast<int>(syscall(SYS_pidfd_getfd, handle, file, 0));
  close(handle);
  return out;
}

bool read_memory(pid_t process, std::uint64_t address, void* to, std::uint64_t length) {
  iovec local{to, length};
  iovec remote{reinterpret_cast<void*>(address), length};
  return process_vm_readv(process, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(length);
}

bool write_memory(pid_t process, std::uint64_t address, const void* from, std::uint64_t length) {
  iovec local{const_cast<void*>(from), length};
  iovec remote{reinterpret_cast<void*>(address), length};
  return process_vm_writev(process, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(length);
}

}  // namespace weft::host
