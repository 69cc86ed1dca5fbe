// Processes that a rank starts and waits for: their sleeps take the rank's virtual time.
//
// A child is not in virtual time. While the rank does nothing but wait for it, the rank's own would stand
// still, so the child borrows it for as long as it sleeps. What it computes takes no virtual time, as what
// the rank computes.
#include "lib/children.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clocks.hpp"
#include "lib/real.hpp"

namespace abi = weft::abi;
namespace lib = weft::lib;

namespace weft::lib {

bool is_child() { return first_thread() != nullptr && !segment(); }

bool has_children() {
  siginfo_t info{};
  return syscall(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT, nullptr) == 0;
}

bool sleep_as_child(std::int64_t picoseconds) {
  const abi::Thread* first = first_thread();
  if (!first || segment()) return false;
  const std::int64_t until = now(*first) + picoseconds;
  auto real = [] {
    timespec t{};
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return t.tv_sec * kSecond + t.tv_nsec * 1000;
  };
  // The rank may not be waiting yet; one that never does lets its child sleep for as long as it says.
  const std::int64_t end = real() + picoseconds;
  do {
    if (abi::Thread* thread = borrow_thread()) {
      if (until > now(*thread)) ask(*thread, abi::Call::Sleep, abi::kNoPort, until, abi::kNoRank);
      give_thread_back();
      return true;
    }
    timespec moment{0, 200'000};
    syscall(SYS_nanosleep, &moment, nullptr);
  } while (real() < end);
  return true;
}

}  // namespace weft::lib

extern "C" {

pid_t waitpid(pid_t process, int* status, int options) {
  WEFT_REAL(waitpid);
  if (options & WNOHANG) return next_waitpid(process, status, options);
  lib::ChildWait wait;
  return next_waitpid(process, status, options);
}

pid_t wait(int* status) { return waitpid(-1, status, 0); }

pid_t wait4(pid_t process, int* status, int options, struct rusage* usage) {
  WEFT_REAL(wait4);
  if (options & WNOHANG) return next_wait4(process, status, options, usage);
  lib::ChildWait wait;
  return next_wait4(process, status, options, usage);
}

pid_t wait3(int* status, int options, struct rusage* usage) { return wait4(-1, status, options, usage); }

int waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  WEFT_REAL(waitid);
  if (options & WNOHANG) return next_waitid(type, id, info, options);
  lib::ChildWait wait;
  return next_waitid(type, id, info, options);
}

int system(const char* command) {
  WEFT_REAL(system);
  lib::ChildWait wait;
  return next_system(command);
}

int pclose(FILE* stream) {
  WEFT_REAL(pclose);
  lib::ChildWait wait;
  return next_pclose(stream);
}
}
