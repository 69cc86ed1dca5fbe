// Calls that wait for files, in virtual time: for a socket, a pipe, whatever can be polled.
//
// A thread that would wait lets virtual time go on, and goes on itself at the time of whatever made its file
// ready. Files of other processes a rank has started are no such thing: those work for the rank, as it does
// itself, and virtual time waits for them.
#include "lib/files.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/children.hpp"
#include "lib/clocks.hpp"
#include "lib/launcher_libraries.hpp"
#include "lib/real.hpp"
#include "lib/storage.hpp"

namespace abi = weft::abi;
namespace lib = weft::lib;

namespace {

constexpr std::int64_t kMillisecond = 1'000'000'000;

std::uint32_t (*refresh)(const abi::Thread&) = nullptr;

std::uint32_t refreshed(const abi::Thread& thread) { return refresh ? refresh(thread) : abi::kNoPort; }

int real_poll(pollfd* files, nfds_t count, int milliseconds) {
  return static_cast<int>(syscall(SYS_poll, files, count, milliseconds));
}

/// By which an MPICH talks to its launcher: an answer comes by itself.
bool is_launchers(int file) {
  static int known = -2;
  if (known == -2) {
    const char* text = getenv("PMI_FD");
    known = text ? atoi(text) : -1;
  }
  return file >= 0 && file == known;
}

/// A pipe or a local socket, while there is a process that may be at its other end.
bool is_of_child(int file) {
  struct stat facts {};
  if (fstat(file, &facts) != 0) return false;
  bool local = S_ISFIFO(facts.st_mode);
  if (S_ISSOCK(facts.st_mode)) {
    int family = 0;
    socklen_t length = sizeof family;
    local = getsockopt(file, SOL_SOCKET, SO_DOMAIN, &family, &length) == 0 && family == AF_UNIX;
  }
  return local && lib::has_children();
}

bool does_not_wait(int file) {
  int flags = static_cast<int>(syscall(SYS_fcntl, file, F_GETFL));
  return flags < 0 || flags & O_NONBLOCK;
}

/// Then other ranks may wait for this one by the launcher, and virtual time with them.
bool mpi_starts_or_ends() {
  abi::MpiPhase phase = lib::segment()->phase.load(std::memory_order_relaxed);
  return phase == abi::MpiPhase::Starting || phase == abi::MpiPhase::Ending;
}

/// The calling thread where it may wait for this file; null where the call is left to the system.
abi::Thread* thread_for(int file, const void* caller) {
  abi::Thread* thread = lib::virtual_thread();
  if (!thread || is_launchers(file) || thread->doing.inside() || mpi_starts_or_ends() ||
      lib::of_launcher_library(caller))
    return nullptr;
  return thread;
}

/// A time-out the program has set for a socket.
std::int64_t deadline_of(const abi::Thread& thread, int file, int option) {
  timeval most{};
  socklen_t length = sizeof most;
  if (getsockopt(file, SOL_SOCKET, option, &most, &length) != 0 || (most.tv_sec == 0 && most.tv_usec == 0))
    return abi::kNoDeadline;
  return lib::saturated(lib::now(thread), most.tv_sec, most.tv_usec * 1'000'000);
}

/// Before a call that may wait for one file. True: it is to be made now. False: its time is over, and errno
/// says so.
bool ready_for(abi::Thread& thread, int file, short events, bool at_once, long call) {
  pollfd one{file, events, 0};
  if (real_poll(&one, 1, 0) != 0) {
    lib::found_file();
    return true;
  }
  if (at_once || does_not_wait(file)) {
    if (lib::look_again_at_files(thread, &one, 1, call)) real_poll(&one, 1, 0);
    return true;
  }
  std::int64_t deadline = deadline_of(thread, file, events & POLLIN ? SO_RCVTIMEO : SO_SNDTIMEO);
  int found = lib::wait_for_files(thread, &one, 1, deadline, call);
  if (found == 0) errno = EAGAIN;
  return found > 0;
}

/// All of it, as a call that waits does.
template <class Part>
ssize_t in_parts(abi::Thread& thread, int file, std::size_t length, short events, long call, Part part) {
  std::size_t done = 0;
  for (;;) {
    ssize_t moved = part(done, length - done);
    if (moved > 0) done += static_cast<std::size_t>(moved);
    if (moved == 0 || done == length) return static_cast<ssize_t>(done);
    if (moved < 0 && errno != EAGAIN) return done ? static_cast<ssize_t>(done) : -1;
    if (!ready_for(thread, file, events, false, call)) return done ? static_cast<ssize_t>(done) : -1;
  }
}

bool is_socket(int file) {
  struct stat facts {};
  return fstat(file, &facts) == 0 && S_ISSOCK(facts.st_mode);
}

ssize_t receive(int file, void* to, std::size_t length, int flags, sockaddr* from, socklen_t* from_length,
                const void* caller) {
  auto real = [&](void* at, std::size_t bytes, int how) {
    return static_cast<ssize_t>(syscall(SYS_recvfrom, file, at, bytes, how, from, from_length));
  };
  abi::Thread* thread = thread_for(file, caller);
  if (!thread) return real(to, length, flags);
  if (!ready_for(*thread, file, POLLIN, flags & MSG_DONTWAIT, SYS_recvfrom)) return -1;
  if (!(flags & MSG_WAITALL) || flags & MSG_DONTWAIT || flags & MSG_PEEK || does_not_wait(file))
    return real(to, length, flags);
  return in_parts(*thread, file, length, POLLIN, SYS_recvfrom, [&](std::size_t done, std::size_t left) {
    return real(static_cast<char*>(to) + done, left, (flags & ~MSG_WAITALL) | MSG_DONTWAIT);
  });
}

/// A thread's clock may be ahead of the others': they must not see what it sends before it is sent.
void send_in_time(abi::Thread& thread) {
  if (lib::now(thread) <= thread.safe_until) return;
  lib::enter(thread);
  lib::ask(thread, abi::Call::Sleep, abi::kNoPort, lib::now(thread), abi::kNoRank);
  lib::leave();
}

ssize_t transmit(int file, const void* from, std::size_t length, int flags, const sockaddr* to,
                 socklen_t to_length, const void* caller) {
  auto real = [&](const void* at, std::size_t bytes, int how) {
    return static_cast<ssize_t>(syscall(SYS_sendto, file, at, bytes, how, to, to_length));
  };
  abi::Thread* thread = thread_for(file, caller);
  if (thread) send_in_time(*thread);
  if (!thread || flags & MSG_DONTWAIT || does_not_wait(file)) return real(from, length, flags);
  return in_parts(*thread, file, length, POLLOUT, SYS_sendto, [&](std::size_t done, std::size_t left) {
    return real(static_cast<const char*>(from) + done, left, flags | MSG_DONTWAIT);
  });
}

/// Looks at files in virtual time: until one is ready, or for so long; less than 0: for ever.
int poll_for(pollfd* files, nfds_t count, std::int64_t picoseconds, long call, abi::Thread& thread) {
  refreshed(thread);
  int found = real_poll(files, count, 0);
  if (found != 0) lib::found_file();
  if (found != 0 || (picoseconds == 0 && thread.doing.inside())) return found;
  if (picoseconds == 0) {
    if (!lib::look_again_at_files(thread, files, count, call)) return 0;
    refreshed(thread);
    return real_poll(files, count, 0);
  }
  std::int64_t deadline = picoseconds < 0 ? abi::kNoDeadline : lib::now(thread) + picoseconds;
  return lib::wait_for_files(thread, files, count, deadline, call);
}

/// What a set of files names, in the form of poll.
nfds_t named_by(int count, const fd_set* const sets[3], pollfd* out) {
  const short events[3] = {POLLIN, POLLOUT, POLLPRI};
  nfds_t named = 0;
  for (int file = 0; file < count; ++file) {
    short wanted = 0;
    for (int i = 0; i < 3; ++i)
      if (sets[i] && FD_ISSET(file, sets[i])) wanted |= events[i];
    if (wanted) out[named++] = {file, wanted, 0};
  }
  return named;
}

int select_for(int count, fd_set* reads, fd_set* writes, fd_set* errors, std::int64_t picoseconds,
               abi::Thread& thread) {
  fd_set* sets[3] = {reads, writes, errors};
  fd_set in[3];  // select writes its answer over its question
  for (int i = 0; i < 3; ++i)
    if (sets[i]) in[i] = *sets[i];
  static thread_local pollfd named[FD_SETSIZE];
  nfds_t files = named_by(count < FD_SETSIZE ? count : FD_SETSIZE, sets, named);
  int found = poll_for(named, files, picoseconds, SYS_pselect6, thread);
  if (found < 0) return found;
  for (int i = 0; i < 3; ++i)
    if (sets[i]) *sets[i] = in[i];
  timespec none{};
  return static_cast<int>(syscall(SYS_pselect6, count, reads, writes, errors, &none, nullptr));
}

std::int64_t picoseconds_of(int milliseconds) { return milliseconds < 0 ? -1 : milliseconds * kMillisecond; }
std::int64_t picoseconds_of(const timespec* t) {
  return t ? lib::saturated(0, t->tv_sec, t->tv_nsec * 1000) : -1;
}

/// A mask of signals for the length of a wait.
class Masked {
 public:
  explicit Masked(const sigset_t* set) : set_(set) {
    if (set_) pthread_sigmask(SIG_SETMASK, set_, &before_);
  }
  ~Masked() {
    if (set_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Masked(const Masked&) = delete;
  Masked& operator=(const Masked&) = delete;

 private:
  const sigset_t* set_;
  sigset_t before_;
};

}  // namespace

namespace weft::lib {

void set_refresh(std::uint32_t (*how)(const abi::Thread& thread)) { refresh = how; }

int wait_for_files(abi::Thread& thread, pollfd* files, nfds_t count, std::int64_t deadline, long call) {
  bool any = false, of_child = false;
  for (nfds_t i = 0; i < count; ++i) {
    any |= files[i].fd >= 0;
    of_child |= deadline == abi::kNoDeadline && files[i].fd >= 0 && is_of_child(files[i].fd);
  }
  if (of_child) {
    ChildWait wait;
    return real_poll(files, count, -1);
  }
  enter(thread);
  int found = 0;
  std::uint32_t port = refreshed(thread);
  for (;;) {
    int asked = any ? ask_for_files(thread, files, count, deadline, call, port)
                    : ask(thread, abi::Call::Sleep, abi::kNoPort, deadline, abi::kNoRank);
    if (asked == -EINTR) {
      errno = EINTR;
      found = -1;
      break;
    }
    if (asked == -ENOSYS) {
      if (deadline == abi::kNoDeadline) {
        Outside outside;
        found = real_poll(files, count, -1);
        break;
      }
      ask(thread, abi::Call::Sleep, abi::kNoPort, deadline, abi::kNoRank);
    }
    port = refreshed(thread);
    if ((found = real_poll(files, count, 0)) != 0 || now(thread) >= deadline) break;
  }
  leave();
  return found;
}

}  // namespace weft::lib

extern "C" {

int poll(struct pollfd* files, nfds_t count, int timeout) {
  abi::Thread* thread = lib::virtual_thread();
  if (!thread) return real_poll(files, count, timeout);
  return poll_for(files, count, picoseconds_of(timeout), SYS_ppoll, *thread);
}

int ppoll(struct pollfd* files, nfds_t count, const struct timespec* timeout, const sigset_t* mask) {
  WEFT_REAL(ppoll);
  abi::Thread* thread = lib::virtual_thread();
  if (!thread) return next_ppoll(files, count, timeout, mask);
  Masked masked(mask);
  return poll_for(files, count, picoseconds_of(timeout), SYS_ppoll, *thread);
}

int __poll_chk(struct pollfd* files, nfds_t count, int timeout, size_t) {
  return poll(files, count, timeout);
}

int select(int count, fd_set* __restrict reads, fd_set* __restrict writes, fd_set* __restrict errors,
           struct timeval* __restrict timeout) {
  WEFT_REAL(select);
  abi::Thread* thread = lib::virtual_thread();
  if (!thread) return next_select(count, reads, writes, errors, timeout);
  std::int64_t wait = timeout ? lib::saturated(0, timeout->tv_sec, timeout->tv_usec * 1'000'000) : -1;
  return select_for(count, reads, writes, errors, wait, *thread);
}

int pselect(int count, fd_set* __restrict reads, fd_set* __restrict writes, fd_set* __restrict errors,
            const struct timespec* __restrict timeout, const sigset_t* __restrict mask) {
  WEFT_REAL(pselect);
  abi::Thread* thread = lib::virtual_thread();
  if (!thread) return next_pselect(count, reads, writes, errors, timeout, mask);
  Masked masked(mask);
  return select_for(count, reads, writes, errors, picoseconds_of(timeout), *thread);
}

// A set of files can be polled itself.
int epoll_pwait(int set, struct epoll_event* events, int most, int timeout, const sigset_t* mask) {
  WEFT_REAL(epoll_pwait);
  abi::Thread* thread = thread_for(set, __builtin_return_address(0));
  if (!thread) return next_epoll_pwait(set, events, most, timeout, mask);
  Masked masked(mask);
  pollfd one{set, POLLIN, 0};
  int found = poll_for(&one, 1, picoseconds_of(timeout), SYS_epoll_pwait, *thread);
  return found < 0 ? found : next_epoll_pwait(set, events, most, 0, nullptr);
}

int epoll_wait(int set, struct epoll_event* events, int most, int timeout) {
  if (!thread_for(set, __builtin_return_address(0))) {
    WEFT_REAL(epoll_wait);
    return next_epoll_wait(set, events, most, timeout);
  }
  return epoll_pwait(set, events, most, timeout, nullptr);
}

ssize_t read(int file, void* to, size_t length) {
  WEFT_REAL(read);
  if (lib::is_storage(file)) return lib::storage_move(abi::FileCall::Read, file, to, length, -1);
  abi::Thread* thread = thread_for(file, __builtin_return_address(0));
  if (is_launchers(file)) {
    lib::Awaited awaited(lib::virtual_thread());
    return next_read(file, to, length);
  }
  if (thread && !ready_for(*thread, file, POLLIN, false, SYS_read)) return -1;
  return next_read(file, to, length);
}

ssize_t __read_chk(int file, void* to, size_t length, size_t) { return read(file, to, length); }

ssize_t readv(int file, const struct iovec* parts, int count) {
  WEFT_REAL(readv);
  if (lib::is_storage(file))
    return lib::storage_move(abi::FileCall::ReadParts, file, parts, static_cast<size_t>(count), -1);
  abi::Thread* thread = thread_for(file, __builtin_return_address(0));
  if (thread && !ready_for(*thread, file, POLLIN, false, SYS_readv)) return -1;
  return next_readv(file, parts, count);
}

ssize_t write(int file, const void* from, size_t length) {
  WEFT_REAL(write);
  if (lib::is_storage(file)) return lib::storage_move(abi::FileCall::Write, file, from, length, -1);
  abi::Thread* thread = thread_for(file, __builtin_return_address(0));
  if (thread && is_socket(file))
    return transmit(file, from, length, 0, nullptr, 0, __builtin_return_address(0));
  return next_write(file, from, length);
}

ssize_t recv(int file, void* to, size_t length, int flags) {
  return receive(file, to, length, flags, nullptr, nullptr, __builtin_return_address(0));
}

ssize_t __recv_chk(int file, void* to, size_t length, size_t, int flags) {
  return receive(file, to, length, flags, nullptr, nullptr, __builtin_return_address(0));
}

ssize_t recvfrom(int file, void* __restrict to, size_t length, int flags, struct sockaddr* __restrict from,
                 socklen_t* __restrict from_length) {
  return receive(file, to, length, flags, from, from_length, __builtin_return_address(0));
}

ssize_t __recvfrom_chk(int file, void* __restrict to, size_t length, size_t, int flags,
                       struct sockaddr* __restrict from, socklen_t* __restrict from_length) {
  return receive(file, to, length, flags, from, from_length, __builtin_return_address(0));
}

ssize_t recvmsg(int file, struct msghdr* message, int flags) {
  WEFT_REAL(recvmsg);
  abi::Thread* thread = thread_for(file, __builtin_return_address(0));
  if (thread && !ready_for(*thread, file, POLLIN, flags & MSG_DONTWAIT, SYS_recvmsg)) return -1;
  return next_recvmsg(file, message, flags);
}

ssize_t send(int file, const void* from, size_t length, int flags) {
  return transmit(file, from, length, flags, nullptr, 0, __builtin_return_address(0));
}

ssize_t sendto(int file, const void* from, size_t length, int flags, const struct sockaddr* to,
               socklen_t to_length) {
  return transmit(file, from, length, flags, to, to_length, __builtin_return_address(0));
}

int accept4(int file, struct sockaddr* __restrict from, socklen_t* __restrict length, int flags) {
  WEFT_REAL(accept4);
  abi::Thread* thread = thread_for(file, __builtin_return_address(0));
  if (thread && !ready_for(*thread, file, POLLIN, false, SYS_accept)) return -1;
  return next_accept4(file, from, length, flags);
}

int accept(int file, struct sockaddr* __restrict from, socklen_t* __restrict length) {
  WEFT_REAL(accept);
  abi::Thread* thread = thread_for(file, __builtin_return_address(0));
  if (thread && !ready_for(*thread, file, POLLIN, false, SYS_accept)) return -1;
  return next_accept(file, from, length);
}

int socket(int family, int type, int protocol) {
  bool local = family == AF_INET || family == AF_INET6 || family == AF_UNIX;
  if (local && thread_for(-1, __builtin_return_address(0))) lib::run_apart(lib::kTalks);
  return static_cast<int>(syscall(SYS_socket, family, type, protocol));
}

int connect(int file, const struct sockaddr* to, socklen_t length) {
  WEFT_REAL(connect);
  abi::Thread* thread = thread_for(file, __builtin_return_address(0));
  if (!thread || does_not_wait(file)) return next_connect(file, to, length);
  int flags = fcntl(file, F_GETFL);
  fcntl(file, F_SETFL, flags | O_NONBLOCK);
  int result = next_connect(file, to, length), error = errno;
  fcntl(file, F_SETFL, flags);
  if (result != 0 && error == EAGAIN) {  // a local socket whose other side has no room
    lib::Outside outside;
    return next_connect(file, to, length);
  }
  errno = error;
  if (result == 0 || error != EINPROGRESS) return result;
  pollfd one{file, POLLOUT, 0};
  if (lib::wait_for_files(*thread, &one, 1, abi::kNoDeadline, SYS_connect) < 0) return -1;
  socklen_t size = sizeof error;
  getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &size);
  errno = error;
  return error ? -1 : 0;
}
}
