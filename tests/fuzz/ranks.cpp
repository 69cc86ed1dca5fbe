#include "ranks.hpp"

#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace weft::fuzz {

namespace {

constexpr pid_t kFirst = 1000;  // number of rank 0, as the simulator sees it

void* map(int file, std::size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) std::abort();
  return at;
}

}  // namespace

/// What stands for the operating system.
class Ranks {
 public:
  static inline std::vector<Rank*> all;
  static inline unsigned idle = 0;

  static Rank* find(pid_t process) {
    auto index = static_cast<std::size_t>(process - kFirst);
    return process >= kFirst && index < all.size() ? all[index] : nullptr;
  }

  /// Of the system, as the rank says.
  static pid_t thread(pid_t process, unsigned thread) { return find(process)->thread(thread).tid.load(); }

  static void start(unsigned rank, const host::Launch& launch) { all[rank]->attach(launch); }

  /// Runs whoever may; false where nobody may, as when time passes and nothing happens.
  static bool run() {
    bool any = false;
    for (Rank* rank : all) {
      if (rank->ending || !rank->segment_ || !rank->granted()) continue;
      rank->run();
      any = true;
    }
    idle = any ? 0 : idle + 1;
    // A rank that says it computes and never stops: somebody loses patience.
    if (idle > 32)
      for (Rank* rank : all)
        if (!rank->ending) rank->ending = host::Ending{0, SIGKILL};
    return any;
  }
};

void set_ranks(std::vector<Rank*> ranks) {
  Ranks::all = std::move(ranks);
  Ranks::idle = 0;
}

Rank::~Rank() {
  if (segment_) munmap(segment_, layout_.bytes);
  if (bell_) munmap(bell_, 4096);
}

void Rank::attach(const host::Launch& launch) {
  void* first = map(launch.segment, 4096);
  layout_ = *static_cast<abi::Header*>(first);
  munmap(first, 4096);
  segment_ = map(launch.segment, layout_.bytes);
  bell_ = map(launch.bell, 4096);
  launch.owner->store(kFirst + static_cast<int>(launch.rank));
}

bool Rank::granted() {
  bool any = !std::exchange(started_, true);
  for (unsigned i = 0; i < abi::kThreads; ++i) {
    std::uint32_t grant = thread(i).grant.load();
    any |= std::exchange(grants_[i], grant) != grant;
  }
  return any;
}

void Rank::block(abi::Call call, std::uint32_t port, std::int64_t deadline) {
  abi::Thread& l = thread();
  l.call = call;
  l.port = port;
  l.deadline = deadline;
  l.for_rank = abi::kNoRank;
  l.state.store(static_cast<std::uint32_t>(abi::ThreadState::Blocked));
  bell().running.fetch_sub(1);
}

void Rank::exit(host::Ending how) {
  thread().state.store(static_cast<std::uint32_t>(abi::ThreadState::Left));
  bell().running.fetch_sub(1);
  ending = how;
}

}  // namespace weft::fuzz

namespace weft::host {

using fuzz::Ranks;

std::string Ending::text() const { return signal ? "was ended by a signal" : "ended with an exit code"; }
std::string find_program(const std::string& name) { return name; }

pid_t start(const std::string&, const Launch& launch) {
  Ranks::start(launch.rank, launch);
  return fuzz::kFirst + static_cast<pid_t>(launch.rank);
}

std::optional<Ending> ending_of(pid_t process) { return Ranks::find(process)->ending; }
void kill_rank(pid_t process) {
  fuzz::Rank* rank = Ranks::find(process);
  if (!rank->ending) rank->ending = Ending{0, SIGKILL};
}

bool belongs_to(pid_t process, pid_t rank) { return process == rank; }
unsigned threads_of(pid_t) { return 1; }
SystemThread system_thread(pid_t, pid_t) { return {true, 0}; }
std::vector<std::pair<pid_t, SystemThread>> system_threads(pid_t process) {
  std::vector<std::pair<pid_t, SystemThread>> out{{process, {true, 0}}};
  for (unsigned i = 1; i < abi::kThreads; ++i)
    out.emplace_back(Ranks::thread(process, i), SystemThread{true, 0});
  return out;
}
bool waits_for_memory(pid_t, pid_t) { return true; }
std::vector<pid_t> adopt_orphans() { return {}; }
void kill_orphans(const std::vector<pid_t>&) {}
Activity activity_of(pid_t, pid_t) { return {Activity::Sleeps, -1}; }
std::string activity_text(const Activity&) { return "waits"; }
std::string system_call_name(long) { return "a system call"; }
std::uint64_t processor_time(pid_t, pid_t) { return 0; }
void poke(pid_t, pid_t, bool) {}
int borrow_file(pid_t, int) { return -1; }

namespace {

std::uint8_t* memory_of(pid_t process, std::uint64_t address, std::uint64_t length) {
  fuzz::Rank* rank = Ranks::find(process);
  bool there = rank && address >= fuzz::kBase && length <= fuzz::kMemory &&
               address - fuzz::kBase <= fuzz::kMemory - length;
  return there ? rank->memory.data() + (address - fuzz::kBase) : nullptr;
}

}  // namespace

bool read_memory(pid_t process, std::uint64_t address, void* to, std::uint64_t length) {
  std::uint8_t* from = memory_of(process, address, length);
  if (from) std::memcpy(to, from, length);
  return from;
}

bool write_memory(pid_t process, std::uint64_t address, const void* from, std::uint64_t length) {
  std::uint8_t* to = memory_of(process, address, length);
  if (to) std::memcpy(to, from, length);
  return to;
}

}  // namespace weft::host

// The simulator's sleep: ranks run meanwhile.
extern "C" long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& argument : a) argument = va_arg(list, long);
  va_end(list);
  if (number == SYS_futex) {
    if ((a[1] & FUTEX_CMD_MASK) != FUTEX_WAIT || weft::fuzz::Ranks::run()) return 0;
    errno = ETIMEDOUT;
    return -1;
  }
  long result;
  register long r10 asm("r10") = a[3];
  register long r8 asm("r8") = a[4];
  register long r9 asm("r9") = a[5];
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  if (result > -4096 && result < 0) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return result;
}

extern "C" int usleep(useconds_t) { return 0; }
