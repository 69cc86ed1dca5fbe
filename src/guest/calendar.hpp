// The clock of a kernel that lives in virtual time: a socket on which it requests times and waits for them.
// Times there are nanoseconds; the simulation counts picoseconds, so a node's time is rounded up to the next
// nanosecond when it is told, and it lags by less than one.
#pragma once

#include <cstdint>
#include <limits>

#include "base/quantity.hpp"
#include "base/virtual_time.hpp"
#include "guest/socket.hpp"

namespace weft::guest {

class Calendar {
 public:
  /// `date`: seconds since 1970 at which virtual time begins.
  explicit Calendar(std::int64_t date) : date_(date) {}

  void connect(File socket) { socket_ = std::move(socket); }
  int socket() const { return socket_.number(); }
  void disconnect() { socket_.close(); }

  /// Reads one message and answers it, at a time of the simulation; false where the kernel is gone.
  bool handle(Time now, const StillWaiting& still_waiting);

  /// Does it stand still, until it is let run?
  bool waiting() const { return waiting_; }
  /// When it wants to go on by itself; kNoRequest: never.
  Time request() const { return request_; }
  static constexpr Time kNoRequest{std::numeric_limits<std::int64_t>::max()};
  /// The time it has been told last.
  Time clock() const { return clock_; }

  /// Lets it run from a time on, at or after all it has seen; false where it is gone.
  bool run(Time from, const StillWaiting& still_waiting);

  std::uint64_t messages() const { return messages_; }

 private:
  std::int64_t date_;
  File socket_;
  bool waiting_ = false, acknowledged_ = true;
  Time request_ = kNoRequest, clock_{0};
  std::uint32_t sequence_ = 0;
  std::uint64_t messages_ = 0;
};

/// Nanoseconds of a time, rounded up: what a kernel may be told at this time.
constexpr std::int64_t nanoseconds(Time t) { return (t.value + 999) / 1000; }

}  // namespace weft::guest
