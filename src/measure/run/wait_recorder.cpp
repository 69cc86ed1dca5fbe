#include "measure/run/wait_recorder.hpp"

#include <algorithm>

namespace weft::measure {

namespace {

constexpr std::size_t kMost = 16'000'000;  // of each; half a gigabyte

std::uint32_t nanoseconds(Time time) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(time.value / 1000, 0, UINT32_MAX));
}

}  // namespace

void WaitRecorder::operation(const nic::Record& r, std::uint32_t from, std::uint32_t to) {
  if (r.status != nic::Status::Ok || from >= waits_.size() || to >= waits_.size()) return;
  if (arrivals_.size() == kMost) full_ = true;
  if (full_) return;
  using nic::Breakdown;
  using nic::Operation;
  const bool comes_back = r.operation == Operation::Get || r.operation == Operation::FetchAdd ||
                          r.operation == Operation::CompareSwap || r.operation == Operation::BoundedAdd;
  arrivals_.push_back({r.begin.value, r.end.value, static_cast<std::uint16_t>(from),
                       static_cast<std::uint16_t>(to),
                       static_cast<std::uint32_t>(std::min<std::uint64_t>(r.length, INT32_MAX)) & 0x7fffffffu,
                       comes_back, nanoseconds(r.parts.part[Breakdown::Wire]),
                       nanoseconds(r.parts.part[Breakdown::Queue] + r.parts.part[Breakdown::RemoteQueue])});
}

void WaitRecorder::wait(std::uint32_t rank, Time from, Time until) {
  if (rank >= waits_.size() || until <= from) return;
  if (count_ == kMost) full_ = true;
  if (full_) return;
  std::vector<RankWait>& mine = waits_[rank];
  // A wait that goes on where the last one ended is the same one, as far as nothing was done in between.
  if (!mine.empty() && mine.back().until == from.value) {
    mine.back().until = until.value;
    return;
  }
  ++count_;
  mine.push_back({from.value, until.value});
}

}  // namespace weft::measure
