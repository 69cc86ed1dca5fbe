#include "guest/file_watch.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.hpp"
#include "base/diagnostics.hpp"

namespace weft::guest {

namespace {

constexpr std::uint64_t kOnNews = std::uint64_t{1} << 31;  // beside the number of a file, which is smaller

}  // namespace

FileWatch::FileWatch() : set_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!set_) throw UserError(fmt::format("sockets of nodes cannot be watched: {}", std::strerror(errno)));
}

void FileWatch::add(std::uint32_t node, int file, Tell tell) {
  epoll_event event{};
  event.events = EPOLLIN | (tell == Tell::OnNews ? EPOLLET : 0u);
  event.data.u64 =
      std::uint64_t{node} << 32 | (tell == Tell::OnNews ? kOnNews : 0) | static_cast<std::uint32_t>(file);
  WEFT_CHECK(epoll_ctl(set_.number(), EPOLL_CTL_ADD, file, &event) == 0);
}

void FileWatch::look(int milliseconds) {
  std::array<epoll_event, 64> events;
  found_.clear();
  const int got = epoll_wait(set_.number(), events.data(), events.size(), milliseconds);
  for (int i = 0; i < got; ++i) {
    const std::uint64_t data = events[static_cast<std::size_t>(i)].data.u64;
    found_.push_back({static_cast<std::uint32_t>(data >> 32), static_cast<int>(data & (kOnNews - 1)),
                      data & kOnNews ? Tell::OnNews : Tell::WhileThere});
  }
}

void FileWatch::put_aside(const Watched& one) {
  if (one.tell == Tell::WhileThere) epoll_ctl(set_.number(), EPOLL_CTL_DEL, one.file, nullptr);
  const bool is_there = std::any_of(aside_.begin(), aside_.end(), [&](const Watched& other) {
    return other.node == one.node && other.file == one.file;
  });
  if (!is_there) aside_.push_back(one);
}

/// News are not told a second time, so they are what is ready now.
bool FileWatch::take_back(const Watched& one) {
  if (one.tell == Tell::WhileThere)
    add(one.node, one.file, one.tell);
  else
    ready_.push_back({one.node, one.file});
  return true;
}

}  // namespace weft::guest
