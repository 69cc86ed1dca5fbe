#include "guest/calendar.hpp"

#include <algorithm>

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

struct Message {
  std::uint32_t operation = 0, sequence = 0;
  std::uint64_t time = 0;  // nanoseconds
};
static_assert(sizeof(Message) == 16);

constexpr std::uint64_t kLatest = static_cast<std::uint64_t>(kEndOfTime.value) / 1000;

Time picoseconds(std::uint64_t nanoseconds) {
  return Time{static_cast<std::int64_t>(std::min(nanoseconds, kLatest)) * 1000};
}
std::uint64_t whole_nanoseconds(Time t) { return static_cast<std::uint64_t>(t.value / 1000); }

}  // namespace

bool Calendar::handle(Time now, const StillWaiting& still_waiting) {
  Message message;
  if (!read_all(socket(), &message, sizeof message, still_waiting)) return false;
  ++messages_;
  if (message.operation == kAcknowledge) return true;
  // Where it is less free than it was, it hears of that before it goes on.
  Message answers[2] = {{kFreeUntil, 0, 0}, {kAcknowledge, message.sequence, 0}};
  Message& answer = answers[1];
  bool less_free = false;
  // Its own clock may be ahead of the simulation's, though not beyond what it was free until.
  const Time told{std::max({clock_.value, nanoseconds(now) * 1000, nanoseconds(free_until_) * 1000})};
  switch (message.operation) {
    case kRequest:
      // A request for the past is one for now; one beyond the end of time is none.
      request_ = message.time > kLatest ? kNoRequest : std::max(clock_, picoseconds(message.time));
      break;
    case kGet:
      clock_ = told;
      answer.time = whole_nanoseconds(clock_);
      break;
    case kGetDate:
      answer.time =
          static_cast<std::uint64_t>(date_) * 1'000'000'000 + static_cast<std::uint64_t>(told.value / 1000);
      break;
    case kUpdate:
      updated_ = std::clamp(picoseconds(message.time), clock_, std::max(clock_, free_until_));
      if (later(updated_, reaction_) < free_until_) {
        less_free = true;
        free_until_ = later(updated_, reaction_);
        answers[0].sequence = ++sequence_;
        answers[0].time = whole_nanoseconds(free_until_);
      }
      break;
    default:  // its start
      break;
  }
  if (!write_all(socket(), less_free ? &answers[0] : &answer, sizeof answer * (less_free ? 2 : 1),
                 still_waiting))
    return false;
  if (message.operation == kWait) waiting_ = true;
  return true;
}

bool Calendar::run(Time from, Time free_until, const StillWaiting& still_waiting) {
  clock_ = Time{std::max(clock_.value, nanoseconds(from) * 1000)};
  free_until_ = std::max(clock_, free_until);
  waiting_ = false;
  request_ = kNoRequest;
  const bool free = whole_nanoseconds(free_until_) > whole_nanoseconds(clock_);
  Message messages[2];
  if (free) messages[0] = {kFreeUntil, ++sequence_, whole_nanoseconds(free_until_)};
  messages[1] = {kRun, ++sequence_, whole_nanoseconds(clock_)};
  // It acknowledges both, before all that it says in its turn.
  return write_all(socket(), free ? &messages[0] : &messages[1], sizeof(Message) * (free ? 2 : 1),
                   still_waiting);
}

}  // namespace weft::guest
