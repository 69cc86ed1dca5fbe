#include "host/files.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

#include "host/processes.hpp"

namespace weft::host {

BorrowedFiles::~BorrowedFiles() {
  for (const Held& held : held_) close(held.file);
  if (watch_ >= 0) close(watch_);
}

bool BorrowedFiles::borrow(pid_t process, std::uint64_t thread, std::span<const pollfd> files) {
  if (watch_ < 0) watch_ = epoll_create1(EPOLL_CLOEXEC);
  bool all = true;
  for (const pollfd& asked : files) {
    if (asked.fd < 0) continue;
    int file = borrow_file(process, asked.fd);
    if (file < 0) {
      all = false;
      break;
    }
    epoll_event event{};
    event.events = static_cast<std::uint16_t>(asked.events);
    event.data.u64 = thread;
    if (epoll_ctl(watch_, EPOLL_CTL_ADD, file, &event) != 0) {
      close(file);
      all = false;
      break;
    }
    held_.push_back({thread, file});
  }
  if (!all) give_back(thread);
  return all;
}

void BorrowedFiles::give_back(std::uint64_t thread) {
  std::erase_if(held_, [&](const Held& held) {
    if (held.thread != thread) return false;
    epoll_ctl(watch_, EPOLL_CTL_DEL, held.file, nullptr);  // its other copies would keep it in the set
    close(held.file);
    return true;
  });
}

std::vector<std::uint64_t> BorrowedFiles::ready(int milliseconds) {
  std::vector<std::uint64_t> out;
  if (held_.empty()) return out;
  std::vector<epoll_event> events(held_.size());
  int count = epoll_wait(watch_, events.data(), static_cast<int>(events.size()), milliseconds);
  for (int i = 0; i < count; ++i) out.push_back(events[static_cast<std::size_t>(i)].data.u64);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace weft::host
