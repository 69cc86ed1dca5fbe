#include "live/board.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace weft::live {

namespace {

using namespace std::chrono_literals;

constexpr auto kFresh = 250ms;         // younger pictures are shown again: many pages cost no more than one
constexpr int kRunBetween = 100;       // times as long as a description took before the next
constexpr auto kPatience = 500ms;      // a run that is deep in its work is shown as it last was
constexpr auto kLooksBetween = 100ms;  // at what ends a pause
constexpr auto kLooksOn = 3s, kLast = 2s;  // who asked so short ago is waited for so long at the end

/// Of this thread alone: what else the computer does is no cost of ours.
std::chrono::nanoseconds processor_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

void Board::attend(std::size_t part, const std::function<std::string()>& describe,
                   const std::function<bool()>& interrupted) {
  describe_if_wanted(part, describe);
  bool counted = false;
  while (paused_.load() && !stop_.load() && !interrupted()) {
    if (!counted) show(part, describe);  // as it stands now, not as it was when somebody last asked
    std::unique_lock lock(lock_);
    if (!counted) ++waiting_;
    counted = true;
    changed_.wait_for(lock, kLooksBetween,
                      [&] { return !paused_ || stop_ || wanted_ != parts_[part].shown; });
    lock.unlock();
    describe_if_wanted(part, describe);
  }
  if (!counted) return;
  std::lock_guard lock(lock_);
  --waiting_;
}

void Board::describe_if_wanted(std::size_t part, const std::function<std::string()>& describe) {
  if (wanted_.load() != parts_[part].shown) show(part, describe);
}

void Board::show(std::size_t part, const std::function<std::string()>& describe) {
  const std::uint64_t wanted = wanted_.load();
  const auto begin = processor_time();
  std::string text = describe();
  parts_[part].shown = wanted;
  const Clock::duration cost = processor_time() - begin;
  std::lock_guard lock(lock_);
  cost_ = std::max(cost, cost_ - cost_ / 4);  // of the dearest of late
  parts_[part].known = wanted;
  parts_[part].begun = true;
  parts_[part].text = std::move(text);
  changed_.notify_all();
}

void Board::finish(std::size_t part, std::string last) {
  std::lock_guard lock(lock_);
  parts_[part].begun = parts_[part].finished = true;
  parts_[part].text = std::move(last);
  changed_.notify_all();
}

void Board::set_share(double share) {
  std::lock_guard lock(lock_);
  share_ = std::clamp(share, 0.0, 1.0);
}

void Board::end() {
  std::unique_lock lock(lock_);
  ended_ = true;
  for (Part& part : parts_) part.finished = true;
  changed_.notify_all();
  if (Clock::now() - last_asked_ < kLooksOn) changed_.wait_for(lock, kLast, [&] { return end_seen_; });
}

bool Board::all_shown() const {
  return std::all_of(parts_.begin(), parts_.end(),
                     [&](const Part& p) { return !p.begun || p.finished || p.known == wanted_.load(); }) &&
         std::any_of(parts_.begin(), parts_.end(), [](const Part& p) { return p.begun || p.finished; });
}

/// Of real time, pauses apart.
double Board::seconds() const {
  Clock::duration paused = paused_for_;
  if (paused_) paused += Clock::now() - paused_since_;
  return std::chrono::duration<double>(Clock::now() - start_ - paused).count();
}

std::string Board::head() const {
  const char* phase = ended_     ? "ended"
                      : stop_    ? "stopping"
                      : !paused_ ? "running"
                      : waiting_ ? "paused"
                                 : "pausing";
  const double passed = seconds();
  const std::string left =
      share_ > 0 && !ended_ ? fmt::format("{:.3f}", passed * (1 - share_) / share_) : "null";
  return fmt::format("\"phase\":\"{}\",\"seconds\":{:.3f},\"share\":{:.6f},\"left_seconds\":{}", phase,
                     passed, share_, left);
}

std::string Board::state() {
  std::unique_lock lock(lock_);
  const auto now = Clock::now();
  const auto pause =
      paused_ ? Clock::duration(kFresh) : std::max<Clock::duration>(kFresh, cost_ * kRunBetween);
  if (now - last_wanted_ > pause) {  // however often it is asked for
    ++wanted_;
    last_wanted_ = now;
  }
  last_asked_ = now;
  changed_.notify_all();  // also those who stay
  changed_.wait_for(lock, kPatience, [&] { return ended_ || all_shown(); });
  std::string out = "{" + head() + ",\"parts\":[";
  for (std::size_t i = 0; i < parts_.size(); ++i)
    out += (i ? "," : "") + (parts_[i].begun ? parts_[i].text : "null");
  if (ended_) {
    end_seen_ = true;
    changed_.notify_all();
  }
  return out + "]}";
}

void Board::pause(bool yes) {
  std::lock_guard lock(lock_);
  if (yes == paused_) return;
  if (yes)
    paused_since_ = Clock::now();
  else
    paused_for_ += Clock::now() - paused_since_;
  paused_ = yes;
  changed_.notify_all();
}

void Board::stop() {
  std::lock_guard lock(lock_);
  stop_ = true;
  changed_.notify_all();
}

}  // namespace weft::live
