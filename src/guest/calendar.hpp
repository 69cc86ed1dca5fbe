// The clock of a kernel that lives in virtual time: a socket on which it requests times and waits for them.
// Times there are nanoseconds; the simulation counts picoseconds, so a node's time is rounded up to the next
// nanosecond when it is told, and it lags by less than one.
//
// A kernel that may run freely until a time asks for nothing before it: it is told so with each turn.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

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

  /// Reads what it says and answers, at a time of the simulation; false where the kernel is gone. A kernel
  /// that has said that it waits is answered with what it hears next.
  bool handle(Time now, const StillWaiting& still_waiting);
  /// It hears the last answer now: something else is said to it.
  bool answer(const StillWaiting& still_waiting);

  /// What has been handled may lie on the socket until it is answered; from now on it does not.
  void drop_read();

  /// Does it stand still, until it is let run?
  bool waiting() const { return waiting_; }
  /// Does it wait since a device has not answered a read? Nothing else has happened in it then.
  bool stands_still() const { return waiting_ && stands_still_; }
  /// When it wants to go on by itself; kNoRequest: never.
  Time request() const { return request_; }
  /// It stands still for something that is there now, and goes on whatever it has requested.
  void wake(Time now) { request_ = std::min(request_, std::max(clock_, now)); }
  static constexpr Time kNoRequest{std::numeric_limits<std::int64_t>::max()};
  /// The time it has been told last.
  Time clock() const { return clock_; }
  /// The time it is told where it asks: its own may be ahead of the simulation's, though not beyond what it
  /// was free until.
  Time told(Time now) const;

  /// Lets it run from a time on, at or after all it has seen; false where it is gone. Up to `free_until` it
  /// need not ask again: nothing from outside reaches it before. What it says to a device may be answered
  /// after its reaction time, and shortens this.
  bool run(Time from, Time free_until, const StillWaiting& still_waiting);
  /// The least time between what it says to a device and anything that follows from it for the node.
  void set_reaction(Time reaction) { reaction_ = reaction; }
  /// The time at which it said something to a device last.
  Time updated() const { return updated_; }

  std::uint64_t messages() const { return messages_; }

 private:
  struct Message {
    std::uint32_t operation = 0, sequence = 0;
    std::uint64_t time = 0;  // nanoseconds
  };
  static_assert(sizeof(Message) == 16);
  void take(const Message& message, Time now);

  std::int64_t date_;
  File socket_;
  bool waiting_ = false, stands_still_ = false;
  Time request_ = kNoRequest, clock_{0}, updated_{0}, free_until_{0}, reaction_{0};
  std::uint64_t messages_ = 0;
  std::vector<Message> answers_;  // not sent yet
  std::size_t read_ = 0;          // bytes handled, and still on the socket
};

/// Nanoseconds of a time, rounded up: what a kernel may be told at this time.
constexpr std::int64_t nanoseconds(Time t) { return (t.value + 999) / 1000; }

}  // namespace weft::guest
