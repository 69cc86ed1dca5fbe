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

}  // namespace

bool Calendar::handle(Time now, const StillWaiting& still_waiting) {
  Message message;
  if (!read_all(socket(), &message, sizeof message, still_waiting)) return false;
  ++messages_;
  if (message.operation == kAcknowledge) {
    acknowledged_ = true;
    return true;
  }
  Message answer{kAcknowledge, message.sequence, 0};
  const Time told{std::max(clock_.value, nanoseconds(now) * 1000)};
  switch (message.operation) {
    case kRequest:
      // A request for the past is one for now; one beyond the end of time is none.
      request_ = message.time > kLatest
                     ? kNoRequest
                     : Time{std::max(clock_.value, static_cast<std::int64_t>(message.time) * 1000)};
      break;
    case kGet:
      clock_ = told;
      answer.time = static_cast<std::uint64_t>(clock_.value / 1000);
      break;
    case kGetDate:
      answer.time =
          static_cast<std::uint64_t>(date_) * 1'000'000'000 + static_cast<std::uint64_t>(told.value / 1000);
      break;
    default:  // its start, or a time that it was given here
      break;
  }
  if (!write_all(socket(), &answer, sizeof answer, still_waiting)) return false;
  if (message.operation == kWait) waiting_ = true;
  return true;
}

bool Calendar::run(Time from, const StillWaiting& still_waiting) {
  clock_ = Time{std::max(clock_.value, nanoseconds(from) * 1000)};
  waiting_ = acknowledged_ = false;
  request_ = kNoRequest;
  const Message message{kRun, ++sequence_, static_cast<std::uint64_t>(clock_.value / 1000)};
  if (!write_all(socket(), &message, sizeof message, still_waiting)) return false;
  while (!acknowledged_)
    if (!handle(from, still_waiting)) return false;
  return true;
}

}  // namespace weft::guest
