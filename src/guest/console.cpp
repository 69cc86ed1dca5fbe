#include "guest/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace weft::guest {

namespace {

constexpr std::string_view kLastWord = "] reboot: System halted";  // of every kernel

}  // namespace

/// Without reading: a read of an empty pipe would send its kernel a signal, as if there were room again.
bool Console::has_more(int pipe) {
  int bytes = 0;
  return ioctl(pipe, FIONREAD, &bytes) == 0 && bytes > 0;
}

bool Console::gather(int pipe) {
  char room[65'536];
  for (;;) {
    ssize_t got = ::read(pipe, room, sizeof room);
    if (got > 0) {
      text_.append(room, static_cast<std::size_t>(got));
    } else if (got == 0) {
      return false;
    } else if (errno != EINTR) {
      return true;
    }
  }
}

void Console::pass_on(const std::function<void(std::string_view line)>& print, bool all) {
  std::size_t begin = 0;
  for (;;) {
    std::size_t end = text_.find('\n', begin);
    if (end == std::string::npos && text_.size() - begin > kLongestLine) end = begin + kLongestLine;
    if (end == std::string::npos && all && begin < text_.size()) end = text_.size();
    if (end == std::string::npos || begin >= text_.size()) break;
    std::string_view line = std::string_view(text_).substr(begin, end - begin);
    begin = end < text_.size() && text_[end] == '\n' ? end + 1 : end;
    while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.ends_with(kLastWord)) continue;
    keep(line);
    print(prefix_ + std::string(line) + "\n");
  }
  text_.erase(0, begin);
}

void Console::pass_on_raw(const std::function<void(std::string_view text)>& print) {
  if (std::size_t last = text_.find(kLastWord); last != std::string::npos)
    text_.erase(std::min(text_.rfind('[', last), last));
  if (text_.empty()) return;
  print(text_);
  for (std::size_t begin = 0, end; begin < text_.size(); begin = end + 1) {
    end = std::min(text_.find('\n', begin), text_.size());
    keep(std::string_view(text_).substr(begin, end - begin));
  }
  text_.clear();
}

void Console::keep(std::string_view line) {
  constexpr std::string_view kPanic = "] Kernel panic - not syncing: ";
  if (std::size_t at = line.find(kPanic); at != std::string_view::npos && panic_.empty())
    panic_ = line.substr(at + kPanic.size());
  last_.emplace_back(line);
  if (last_.size() > kKept) last_.pop_front();
}

}  // namespace weft::guest
