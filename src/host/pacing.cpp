#include "host/pacing.hpp"

#include <algorithm>

namespace weft::host {

Pacing::Pacing(Pace& pace, Segments& segments, const Scheduler& scheduler, std::vector<double> slow)
    : pace_(pace),
      segments_(segments),
      scheduler_(scheduler),
      described_(std::move(slow)),
      slow_(segments.size(), 1),
      busy_(segments.size(), 0),
      waited_(segments.size(), Time{0}),
      next_(pace.interval()) {
  described_.resize(segments.size(), 1);
  pace_.begin(slow_);
  tell_ranks();
}

void Pacing::tell_ranks() {
  for (std::size_t rank = 0; rank < segments_.size(); ++rank) {
    Disturbance& d = segments_[rank]->header().disturbance;
    d.slow = described_[rank] * slow_[rank];
    d.until = next_.value;
  }
}

void Pacing::waited(std::uint32_t rank, Time from, Time until) {
  from = std::max(from, from_);
  if (until > from) waited_[rank] = waited_[rank] + (until - from);
}

double Pacing::busy(std::uint32_t rank, Time until) const {
  Time idle = waited_[rank];
  // Nobody runs while time passes: a first thread waits since its clock, or ended then.
  const Time since = std::max(from_, scheduler_.thread({rank, 0}).request.clock);
  if (since < until) idle = idle + (until - since);
  const auto length = static_cast<double>((until - from_).value);
  return std::clamp(1 - static_cast<double>(idle.value) / length, 0.0, 1.0);
}

std::string Pacing::pass(Time until) {
  for (std::uint32_t rank = 0; rank < busy_.size(); ++rank) {
    busy_[rank] = busy(rank, until);
    waited_[rank] = Time{0};
  }
  std::string problem = pace_.pass(from_, until, busy_, slow_);
  from_ = until;
  return problem;
}

/// The first interval, and where nobody has gone on for several, the others at once.
std::string Pacing::pass_intervals(Time at) {
  const std::int64_t interval = (next_ - from_).value, passed = (at - from_).value / interval;
  const Time last{from_.value + passed * interval};
  std::string problem = pass(next_);
  if (problem.empty() && last > from_) problem = pass(last);
  next_ = last + pace_.interval();
  tell_ranks();
  return problem;
}

void Pacing::finish(Time at) {
  if (at > from_) pass(at);
}

}  // namespace weft::host
