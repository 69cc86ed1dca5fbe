// What a run of this program costs: time, processor time of everything in it, and memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace weft::bench {

struct Cost {
  bool fine = false;
  double wall = 0, cpu = 0;
  double own_cpu = 0;               // of that process without those it has started
  std::uint64_t most_bytes = 0;     // of all processes together
  std::uint64_t below_bytes = 0;    // of those it has started, the simulator left out
  std::uint64_t largest_bytes = 0;  // of the largest of all processes
};

/// Runs this program with other arguments. `weigh`: also looks at the memory of all it has started now and
/// then.
Cost run_weft(std::vector<std::string> arguments, bool weigh);
/// Runs a command, of words.
Cost run_command(std::vector<std::string> words, bool weigh = false);

/// What an option adds to a run: medians of several.
struct Added {
  bool fine = false;
  double seconds = 0, share = 0;  // without it, and what it adds to that
  Json figures(double most_share) const;
};
/// `weft` with these words and a program, with the option and without it in turn, so that what else the
/// machine does troubles both alike.
Added compare_runs(const std::vector<std::string>& words, const std::vector<std::string>& option,
                   const std::vector<std::string>& program);

/// Microseconds of processor time that two bare hand-overs take, there and back between two processes on one
/// core by futex: what a message costs at least where its two ranks and the simulator take turns.
double two_hand_overs_us();

/// A message's cost, median of several, beside two bare hand-overs taken in turn with them.
class MessageCost {
 public:
  void add(double us) {
    messages_.push_back(us);
    bare_.push_back(two_hand_overs_us());
  }
  double us() const { return median(messages_); }
  double best_us() const;
  double bare_us() const { return median(bare_); }
  double ratio() const { return us() / bare_us(); }

 private:
  static double median(std::vector<double> values);
  std::vector<double> messages_, bare_;
};

}  // namespace weft::bench
