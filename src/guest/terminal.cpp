#include "guest/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/output_file.hpp"

namespace weft::guest {

Terminal::Terminal(int input, int output) : input_(input), output_(output) {
  winsize size{};
  if (ioctl(output_, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col) {
    rows_ = size.ws_row;
    columns_ = size.ws_col;
  }
  if (tcgetattr(input_, &before_) != 0) return;
  termios raw = before_;
  cfmakeraw(&raw);
  raw_ = tcsetattr(input_, TCSADRAIN, &raw) == 0;
}

Terminal::~Terminal() {
  if (raw_) tcsetattr(input_, TCSADRAIN, &before_);
}

std::optional<std::string> Terminal::read() {
  char room[1024];
  const ssize_t got = ::read(input_, room, sizeof room);
  if (got > 0) return std::string(room, static_cast<std::size_t>(got));
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return "";
  if (raw_) tcsetattr(input_, TCSADRAIN, &before_);
  raw_ = false;
  input_ = -1;
  return std::nullopt;
}

void Terminal::write(std::string_view text) const { write_all(output_, text); }

std::chrono::nanoseconds Pace::wait(Clock::time_point real, Time now, Time next) {
  const auto passed = [&](Time t) { return std::chrono::nanoseconds((t.value - virtual_.value) / 1000); };
  if (!begun_ || real - real_ > passed(now)) {
    begun_ = true;
    real_ = real;
    virtual_ = now;
  }
  // Longer than anybody sits there, and far from the end of what the clock counts.
  constexpr std::chrono::nanoseconds kMost = std::chrono::hours(24 * 365);
  return std::clamp(passed(next) - (real - real_), std::chrono::nanoseconds(0), kMost);
}

}  // namespace weft::guest
