// The user's terminal as the console of a node: what is typed goes there byte by byte, and what the node
// prints comes back as it is.
#pragma once

#include <termios.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/quantity.hpp"

namespace weft::guest {

class Terminal {
 public:
  /// Raw as long as it lives, if it is a terminal; a pipe or a file will do as well.
  Terminal(int input, int output);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Where something may be to read; -1 once it has ended.
  int input() const { return input_; }
  /// What was typed since; nothing at its end.
  std::optional<std::string> read();
  void write(std::string_view text) const;
  unsigned rows() const { return rows_; }
  unsigned columns() const { return columns_; }

 private:
  int input_, output_;
  bool raw_ = false;
  termios before_{};
  unsigned rows_ = 24, columns_ = 80;
};

/// Keeps virtual time from passing faster than that of whoever sits before the terminal. It may be slower:
/// what was lost is not made up for.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;
  /// How long, from `real` on, until virtual time may be `next`, where it is `now`.
  std::chrono::nanoseconds wait(Clock::time_point real, Time now, Time next);

 private:
  bool begun_ = false;
  Clock::time_point real_;
  Time virtual_{0};
};

}  // namespace weft::guest
