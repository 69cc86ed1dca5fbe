#include "lib/disturbance.hpp"

#include <math.h>

#include "lib/segment.hpp"
#include "lib/thread_clock.hpp"

extern "C" std::uint64_t weft_random_bits(std::uint64_t seed, std::uint64_t who, std::uint64_t step);

namespace weft::lib {

namespace {

/// The next interruption of the calling thread. Lengths of interruptions and of the time between them are
/// exponential; the k-th of a thread depends on seed, rank, thread and k alone.
struct Interruption {
  std::uint64_t number = 0;  // 0: none drawn yet
  std::int64_t begin = 0, length = 0;
};
thread_local Interruption next;

std::int64_t exponential(std::int64_t mean, std::uint64_t who, std::uint64_t step) {
  double uniform =
      (static_cast<double>(weft_random_bits(segment()->disturbance.seed, who, step) >> 11) + 0.5) / 0x1p53;
  return static_cast<std::int64_t>(llround(-static_cast<double>(mean) * log(uniform)));
}

void draw(const abi::Thread& thread, std::int64_t after) {
  const abi::Disturbance& d = segment()->disturbance;
  std::uint64_t who = std::uint64_t{segment()->rank} * abi::kThreads +
                      static_cast<std::uint64_t>(&thread - abi::thread_at(segment(), 0));
  next.begin = after + exponential(d.interval, who, 2 * next.number);
  next.length = exponential(d.length, who, 2 * next.number + 1);
  ++next.number;
}

/// False where nothing interrupts.
bool ready(const abi::Thread& thread) {
  if (!segment() || segment()->disturbance.length == 0) return false;
  if (next.number == 0) draw(thread, 0);
  return true;
}

}  // namespace

std::int64_t disturbed(const abi::Thread& thread, std::int64_t picoseconds) {
  const abi::Header* header = segment();
  if (!header) return picoseconds;
  if (double slow = header->disturbance.slow; slow != 1) {
    double longer = static_cast<double>(picoseconds) * slow;
    constexpr auto kMost = static_cast<double>(abi::kLastClock);
    picoseconds = longer < kMost ? static_cast<std::int64_t>(llround(longer)) : abi::kLastClock;
  }
  if (picoseconds >= abi::kLastClock - now(thread) || !ready(thread)) return picoseconds;
  while (next.begin < now(thread) + picoseconds) {
    picoseconds += next.length;
    draw(thread, next.begin + next.length);
  }
  return picoseconds;
}

void waited_since(abi::Thread& thread, std::int64_t from) {
  if (now(thread) <= from || !ready(thread)) return;
  while (next.begin < now(thread)) {
    std::int64_t over = next.begin + next.length;
    draw(thread, over);
    jump_to(thread, over);
  }
}

}  // namespace weft::lib
