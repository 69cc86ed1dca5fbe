#include "guest/calendar.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace weft::guest {

namespace {

// Names and numbers of the time-travel protocol of User Mode Linux.
enum Operation : std::uint32_t {
  kAcknowledge,
  kStart,
  kRequest,
  kWait,
  kGet,
  kUpdate,
  kRun,
  kFreeUntil,
  kGetDate
};

constexpr std::uint32_t kNoAnswer = 0;  // our kernels do not acknowledge it; what others say is not needed
constexpr std::uint64_t kLatest = static_cast<std::uint64_t>(kEndOfTime.value) / 1000;

Time picoseconds(std::uint64_t nanoseconds) {
  return Time{static_cast<std::int64_t>(std::min(nanoseconds, kLatest)) * 1000};
}
std::uint64_t whole_nanoseconds(Time t) { return static_cast<std::uint64_t>(t.value / 1000); }

}  // namespace

Time Calendar::told(Time now) const {
  return {std::max({clock_.value, nanoseconds(now) * 1000, nanoseconds(free_until_) * 1000})};
}

bool Calendar::handle(Time now, const StillWaiting& still_waiting) {
  std::array<std::uint8_t, 8 * sizeof(Message)> room;
  bool waits = false, any = false;
  for (bool full = true; full;) {
    drop_read();
    const ssize_t got = recv(socket(), room.data(), room.size(), MSG_DONTWAIT | MSG_PEEK);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
    const std::size_t there = got > 0 ? static_cast<std::size_t>(got) : 0;
    for (; there - read_ >= sizeof(Message); read_ += sizeof(Message)) {
      Message message;
      std::memcpy(&message, room.data() + read_, sizeof message);
      take(message, now);
      any = true;
      if (message.operation != kAcknowledge) waits = message.operation == kWait;
    }
    full = there == room.size();
  }
  return waits || !any || answer(still_waiting);
}

/// Of messages that have been looked at. To take them off the socket wakes who waits at its other end, and it
/// does so for nothing while the answer is not on its way.
void Calendar::drop_read() {
  std::array<std::uint8_t, 8 * sizeof(Message)> room;
  if (read_ > 0)
    read_ -= static_cast<std::size_t>(std::max<ssize_t>(recv(socket(), room.data(), read_, MSG_DONTWAIT), 0));
}

void Calendar::take(const Message& message, Time now) {
  ++messages_;
  if (message.operation == kAcknowledge) return;
  Message answer{kAcknowledge, message.sequence, 0};
  switch (message.operation) {
    case kRequest:
      // A request for the past is one for now; one beyond the end of time is none.
      request_ = message.time > kLatest ? kNoRequest : std::max(clock_, picoseconds(message.time));
      break;
    case kWait:
      // One that stands still for a device says what time it is there.
      stands_still_ = message.time <= kLatest;
      if (stands_still_)
        clock_ = updated_ = free_until_ =
            std::clamp(picoseconds(message.time), clock_, std::max(clock_, free_until_));
      waiting_ = true;
      break;
    case kGet:
      clock_ = told(now);
      answer.time = whole_nanoseconds(clock_);
      break;
    case kGetDate:
      answer.time = static_cast<std::uint64_t>(date_) * 1'000'000'000 + whole_nanoseconds(told(now));
      break;
    case kUpdate:
      updated_ = std::clamp(picoseconds(message.time), clock_, std::max(clock_, free_until_));
      if (later(updated_, reaction_) < free_until_) {
        // Where it is less free than it was, it hears of that before it goes on.
        free_until_ = later(updated_, reaction_);
        answers_.push_back({kFreeUntil, kNoAnswer, whole_nanoseconds(free_until_)});
      }
      break;
    default:  // its start
      break;
  }
  answers_.push_back(answer);
}

bool Calendar::answer(const StillWaiting& still_waiting) {
  if (answers_.empty()) return true;
  const bool sent = write_all(socket(), answers_.data(), answers_.size() * sizeof(Message), still_waiting);
  answers_.clear();
  drop_read();
  return sent;
}

bool Calendar::run(Time from, Time free_until, const StillWaiting& still_waiting) {
  clock_ = Time{std::max(clock_.value, nanoseconds(from) * 1000)};
  free_until_ = std::max(clock_, free_until);
  waiting_ = false;
  request_ = kNoRequest;
  if (whole_nanoseconds(free_until_) > whole_nanoseconds(clock_))
    answers_.push_back({kFreeUntil, kNoAnswer, whole_nanoseconds(free_until_)});
  answers_.push_back({kRun, kNoAnswer, whole_nanoseconds(clock_)});
  return answer(still_waiting);
}

}  // namespace weft::guest
