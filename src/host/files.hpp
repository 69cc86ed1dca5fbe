// Files of ranks that they wait for: sockets, pipes, whatever can be polled.
//
// While a thread waits for a file, virtual time goes on without it. What other ranks do in their turn may
// make the file ready, and then it must go on at their time, not whenever the system gets round to it. So the
// simulator borrows the file (pidfd_getfd) and looks at it itself after each turn.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

namespace weft::host {

class BorrowedFiles {
 public:
  BorrowedFiles() = default;
  ~BorrowedFiles();
  BorrowedFiles(const BorrowedFiles&) = delete;
  BorrowedFiles& operator=(const BorrowedFiles&) = delete;

  /// Watches these files of a process for a thread. False where the system does not allow it.
  bool borrow(pid_t process, std::uint64_t thread, std::span<const pollfd> files);
  /// A file that is held here stays open for whoever is at its other end.
  void give_back(std::uint64_t thread);

  bool empty() const { return held_.empty(); }

  /// Threads with a file that is ready, in order, each once; waits so long for the first.
  std::vector<std::uint64_t> ready(int milliseconds);

 private:
  struct Held {
    std::uint64_t thread;
    int file;
  };
  std::vector<Held> held_;
  int watch_ = -1;
};

}  // namespace weft::host
