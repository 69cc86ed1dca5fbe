#include "lib/spin.hpp"

#include <errno.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "lib/instruction.hpp"
#include "lib/rank_thread.hpp"

namespace weft::lib {

#if defined(__x86_64__)

namespace {

constexpr greg_t kTrapFlag = 0x100, kResumeFlag = 0x10000;
constexpr unsigned kMostSteps = 400;  // a step takes up to 20 us
constexpr unsigned kMostStores = 16;

/// Memory that an instruction is about to write to, as it is.
struct Stored {
  std::uint64_t at;
  unsigned bytes;
  std::uint8_t before[16];
};

bool read_own(std::uint64_t at, void* to, unsigned bytes) {
  iovec local{to, bytes}, remote{reinterpret_cast<void*>(at), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

/// Follows a thread step by step until it comes back to where it was.
class Stepper {
 public:
  enum class Finding { NotYet, Computes, Waits };

  void begin(bool hard) {
    hard_ = hard;
    steps_ = 0;
    times_waited = 0;
    start_at(nullptr, 1);
  }

  Finding step(const gregset_t& now);

  /// It has waited, and what it reads may have changed: it is to go round once more.
  void begin_again(const gregset_t& now) {
    unsigned round = since_anchor_;
    steps_ = 0;
    start_at(&now, round + 1);
    watch(now);
  }

  bool active = false;
  unsigned times_waited = 0;

 private:
  void start_at(const gregset_t* now, unsigned window) {
    anchored_ = now != nullptr;
    if (now) memcpy(anchor_, *now, sizeof anchor_);
    window_ = window;
    since_anchor_ = stored_ = passes_ = alike_ = paused_rounds_ = 0;
    paused_ = too_much_ = looks_elsewhere_ = false;
    places_ = 0;
  }
  static bool same_registers(const gregset_t& a, const gregset_t& b) {
    for (int i = REG_R8; i <= REG_RIP; ++i)
      if (a[i] != b[i]) return false;
    return ((a[REG_EFL] ^ b[REG_EFL]) & ~(kTrapFlag | kResumeFlag)) == 0;
  }
  bool memory_is_as_before() const {
    for (unsigned i = 0; i < stored_; ++i) {
      std::uint8_t now[16];
      if (!read_own(store_[i].at, now, store_[i].bytes) ||
          memcmp(now, store_[i].before, store_[i].bytes) != 0)
        return false;
    }
    return true;
  }
  void add_to_places(std::uint64_t word) { places_ = (places_ ^ word) * 0x9e3779b97f4a7c15; }
  bool only_counts(const gregset_t& now);
  /// False where the instruction is none of a loop that waits.
  bool watch(const gregset_t& now);

  bool hard_ = false, anchored_ = false, paused_ = false, too_much_ = false;
  bool looks_elsewhere_ = false;  // not only at its own stack
  std::uint64_t places_ = 0;      // where this round has looked, and what it went by, in one number
  std::uint64_t tested_ = 0;      // what the last instruction that has an outcome was about
  unsigned steps_ = 0, since_anchor_ = 0, window_ = 1, stored_ = 0, passes_ = 0, alike_ = 0;
  unsigned paused_rounds_ = 0;
  gregset_t anchor_;
  Stored store_[kMostStores];
  // Of the last pass: registers and stored words, and by how much they had changed.
  static constexpr unsigned kWords = 1 + 16 + kMostStores;
  std::uint64_t last_[kWords], change_[kWords];
};

/// At the same place again and again, where each round looks at the same places in memory, adds the same to
/// each register and word, and decides where to go by the same values: what it counts is not what ends it.
bool Stepper::only_counts(const gregset_t& now) {
  if (!looks_elsewhere_ || too_much_) return false;
  std::uint64_t words[kWords] = {std::exchange(places_, 0)};
  unsigned count = 1;
  for (int i = REG_R8; i < REG_RIP; ++i) words[count++] = static_cast<std::uint64_t>(now[i]);
  for (unsigned i = 0; i < stored_ && count < kWords; ++i)
    if (!read_own(store_[i].at, &words[count++], store_[i].bytes < 8 ? store_[i].bytes : 8)) return false;
  bool alike = true;
  for (unsigned i = 0; i < count; ++i) {
    std::uint64_t change = words[i] - last_[i];
    alike &= change == (i == 0 ? 0 : change_[i]);
    change_[i] = change;
    last_[i] = words[i];
  }
  alike_ = alike ? alike_ + 1 : 0;
  return ++passes_ > 4 && alike_ > 2;
}

bool Stepper::watch(const gregset_t& now) {
  Instruction i = look_at_instruction(now);
  if (!i.known) return false;
  paused_ |= i.pause;
  if (i.uses_outcome) add_to_places(tested_);
  if (i.has_outcome) {
    std::uint64_t word = 0;
    if (hard_ && i.tested && i.reads_at && !read_own(i.reads_at, &word, i.tested < 8 ? i.tested : 8))
      return false;
    tested_ = i.operands * 31 + word;
  }
  if (i.reads_at) {
    add_to_places(i.reads_at);
    auto stack = static_cast<std::uint64_t>(now[REG_RSP]);
    looks_elsewhere_ |= !i.stores && (i.reads_at < stack - 128 || i.reads_at > stack + 0x10000);
  }
  if (i.stores == 0) return true;
  for (unsigned s = 0; s < stored_; ++s)
    if (store_[s].at == i.stores_at && store_[s].bytes == i.stores) return true;  // as it was at first
  if (stored_ == kMostStores || i.stores > 16) {
    too_much_ = true;
    return true;
  }
  Stored& s = store_[stored_++];
  s.at = i.stores_at;
  s.bytes = i.stores;
  return read_own(s.at, s.before, s.bytes);
}

Stepper::Finding Stepper::step(const gregset_t& now) {
  if (anchored_) {
    ++since_anchor_;
    if (now[REG_RIP] == anchor_[REG_RIP] && now[REG_RSP] == anchor_[REG_RSP]) {
      // What a loop with a PAUSE counts may differ from round to round. Where it stands may lie between its
      // look and its decision: it has decided by what it sees now only when it comes by once more.
      if (paused_ && ++paused_rounds_ == 2) return Finding::Waits;
      if (!too_much_ && same_registers(now, anchor_) && memory_is_as_before()) return Finding::Waits;
      if (hard_ && only_counts(now)) return Finding::Waits;
    }
  }
  if (++steps_ > kMostSteps) return Finding::Computes;
  if (!anchored_ || since_anchor_ == window_) start_at(&now, 2 * window_);
  return watch(now) ? Finding::NotYet : Finding::Computes;
}

thread_local Stepper stepper;

struct Counter {
  bool active = false, stepping = false, over = false;
  unsigned count = 0;
};
thread_local Counter counter;
constexpr int kCount = 2;  // value of a signal the thread sends to itself

std::uintptr_t own_begin = 0, own_end = 0;  // the library's own code, which is not to be interrupted

int find_own_code(dl_phdr_info* info, size_t, void*) {
  auto here = reinterpret_cast<std::uintptr_t>(&find_own_code);
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    std::uintptr_t begin = info->dlpi_addr + part.p_vaddr, end = begin + part.p_memsz;
    if (part.p_type != PT_LOAD || !(part.p_flags & PF_X) || here < begin || here >= end) continue;
    own_begin = begin;
    own_end = end;
    return 1;
  }
  return 0;
}

bool is_own_code(const gregset_t& registers) {
  auto at = static_cast<std::uintptr_t>(registers[REG_RIP]);
  return at >= own_begin && at < own_end;
}

void on_trap(int, siginfo_t* info, void* context);

std::atomic<unsigned> steppers;  // of the process's threads; one that waits is one of them

/// False where the signal is the program's.
bool take_trap() {
  struct sigaction now {
  }, wanted{};
  if (sigaction(SIGTRAP, nullptr, &now) != 0) return false;
  bool is_mine = now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_trap;
  if (!is_mine && now.sa_handler != SIG_DFL) return false;
  wanted.sa_sigaction = on_trap;
  wanted.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  if (!is_mine && sigaction(SIGTRAP, &wanted, nullptr) != 0) return false;
  ++steppers;
  return true;
}

void give_trap_back() {
  struct sigaction wanted {};
  wanted.sa_handler = SIG_DFL;
  if (--steppers == 0) sigaction(SIGTRAP, &wanted, nullptr);
}

void stop(gregset_t& registers) {
  registers[REG_EFL] &= ~kTrapFlag;
  stepper.active = false;
  give_trap_back();
}

void count_step(gregset_t& registers) {
  if (!counter.over && ++counter.count < kMostCounted) return;
  counter.active = false;
  registers[REG_EFL] &= ~kTrapFlag;
  give_trap_back();
}

void on_trap(int number, siginfo_t*, void* context) {
  gregset_t& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (counter.active) return count_step(registers);
  if (!stepper.active) {  // the program's own, which has no handler for it
    struct sigaction wanted {};
    wanted.sa_handler = SIG_DFL;
    sigaction(number, &wanted, nullptr);
    raise(number);
    return;
  }
  int error = errno;
  abi::Thread* thread = running_thread();
  Stepper::Finding finding =
      !thread || is_own_code(registers) ? Stepper::Finding::Computes : stepper.step(registers);
  if (finding == Stepper::Finding::Waits) {
    wait_for_memory(*thread, stepper.times_waited++);
    stepper.begin_again(registers);
  }
  if (finding == Stepper::Finding::Computes) stop(registers);
  errno = error;
}

void on_poke(int, siginfo_t* info, void* context) {
  auto* interrupted = static_cast<ucontext_t*>(context);
  gregset_t& registers = interrupted->uc_mcontext.gregs;
  int error = errno;
  if (info->si_code == SI_QUEUE && info->si_value.sival_int == kCount) {
    counter.stepping = counter.active;
    if (counter.active) registers[REG_EFL] |= kTrapFlag;
    return;
  }
  if (info->si_code == SI_QUEUE && !stepper.active && !counter.active && running_thread() &&
      !is_own_code(registers) && take_trap()) {
    stepper.active = true;
    stepper.begin(info->si_value.sival_int != 0);
    sigdelset(&interrupted->uc_sigmask, SIGTRAP);
    registers[REG_EFL] |= kTrapFlag;
  }
  errno = error;
}

}  // namespace

bool understand_pokes() {
  struct sigaction now {
  }, wanted{};
  if (sigaction(abi::kPoke, nullptr, &now) != 0 || (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN))
    return false;
  dl_iterate_phdr(find_own_code, nullptr);
  wanted.sa_sigaction = on_poke;
  wanted.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  return own_end != 0 && sigaction(abi::kPoke, &wanted, nullptr) == 0;
}

bool begin_counting() {
  if (stepper.active || counter.active || !take_trap()) return false;
  counter = {true, false, false, 0};
  sigset_t trap;
  sigemptyset(&trap);
  sigaddset(&trap, SIGTRAP);
  sigaddset(&trap, abi::kPoke);
  pthread_sigmask(SIG_UNBLOCK, &trap, nullptr);
  siginfo_t info{};
  info.si_signo = abi::kPoke;
  info.si_code = SI_QUEUE;
  info.si_value.sival_int = kCount;
  syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), abi::kPoke, &info);
  if (counter.stepping) return true;
  counter.active = false;  // the signal is the program's
  give_trap_back();
  return false;
}

unsigned end_counting() {
  counter.over = true;  // the next step is the last
  return counter.count;
}

#else

bool understand_pokes() { return false; }
bool begin_counting() { return false; }
unsigned end_counting() { return 0; }

#endif

namespace {

/// Once a process is known to be in a run.
__attribute__((constructor)) void listen() {
  if (attachment.header && understand_pokes() && segment()) segment()->poked.store(attachment.process);
}

}  // namespace

}  // namespace weft::lib
