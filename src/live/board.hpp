// What a run shows to those who look on, and what they ask of it.
//
// Nobody looks: the run reads two numbers in passing, and that is all. Somebody looks: the run's own thread
// describes itself at its next safe moment, so no state is read while it changes and nothing is locked on the
// way. Texts are all that leaves the run's thread; what is asked of it is to stay for a while, or to end.
// Describing takes at most a hundredth of the run's time, however often somebody asks: until then the last
// description is shown again.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace weft::live {

/// One for each run. A part belongs to one thread: a run of programs has one part, a sweep one for each load.
class Board {
 public:
  explicit Board(std::size_t parts) : parts_(parts) {}

  // --- the run's side

  /// At a moment at which the run can be described: does so if it was asked for, and stays here while the run
  /// is paused. `describe` returns JSON; `interrupted` ends a pause.
  template <class Describe, class Interrupted>
  void look(std::size_t part, const Describe& describe, const Interrupted& interrupted) {
    if (wants(part)) attend(part, describe, interrupted);
  }
  /// Would look() do anything? Costs next to nothing, so it may be asked often.
  bool wants(std::size_t part) const {
    return wanted_.load(std::memory_order_relaxed) != parts_[part].shown ||
           paused_.load(std::memory_order_relaxed);
  }
  /// The part will not change any more.
  void finish(std::size_t part, std::string last);
  /// How much of the run is done, from 0 to 1, for the time that is left; 0: nobody knows.
  void set_share(double share);
  /// The run is over. Waits for a moment if somebody looks on, who is to see its end.
  void end();
  bool stop_asked() const { return stop_.load(std::memory_order_relaxed); }

  // --- the side of those who look

  /// JSON: how it stands, and every part that has been described. Waits for fresh descriptions, not long.
  std::string state();
  void pause(bool yes);
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Part {
    std::uint64_t shown = 0;  // touched by its own thread alone
    std::uint64_t known = 0;  // the same for everybody, under the lock
    bool begun = false, finished = false;
    std::string text;
  };

  void attend(std::size_t part, const std::function<std::string()>& describe,
              const std::function<bool()>& interrupted);
  void describe_if_wanted(std::size_t part, const std::function<std::string()>& describe);
  void show(std::size_t part, const std::function<std::string()>& describe);
  bool all_shown() const;
  double seconds() const;
  std::string head() const;

  std::vector<Part> parts_;
  std::atomic<std::uint64_t> wanted_{0};
  std::atomic<bool> paused_{false}, stop_{false};

  mutable std::mutex lock_;
  std::condition_variable changed_;
  Clock::time_point start_ = Clock::now(), last_asked_{}, last_wanted_{}, paused_since_{};
  Clock::duration paused_for_{};
  Clock::duration cost_{};  // processor time that a part's last description took, of the dearest
  unsigned waiting_ = 0;    // threads that stay because of the pause
  double share_ = 0;
  bool ended_ = false, end_seen_ = false;
};

}  // namespace weft::live
