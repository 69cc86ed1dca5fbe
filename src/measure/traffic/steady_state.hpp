// Is a network in a steady state, and does it take what its sources make? Tests over windows of time; no
// engine here.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::measure {

/// What happened in a window of time.
struct Window {
  double mean_latency = 0;                // of the packets that arrived
  std::uint64_t made = 0, delivered = 0;  // flits
  std::uint64_t injected = 0;             // of what was made, what went into the network
  std::uint64_t cycles = 1;
};

/// Do the sources make more than the network takes? `share`: by how much, of what they make.
bool falls_behind(std::uint64_t made, std::uint64_t delivered, double share);

enum class Warmth { Undecided, Steady, Saturated };

/// Does the network take more than it delivers, so that its buffers still fill?
bool fills(std::uint64_t injected, std::uint64_t delivered);

/// Steady: two windows in a row whose mean latency is within 1.5% of the window before, with as much
/// delivered as made. Saturated: four windows in a row, the first window not among them, with more than 3% of
/// what was made not delivered, and each delivering in a cycle within 3% of the one before: throughput often
/// falls on for a while. While the network's buffers fill, windows do not count: deep buffers take in more
/// than arrives for tens of thousands of cycles, and only then does contention spread.
class WarmUpTest {
 public:
  /// `may_fill`: the test will not wait for buffers to be full.
  Warmth add(const Window& window, bool may_fill = false);
  /// The sources made more than the network took in the last window.
  bool behind() const { return behind_ > 0; }
  unsigned windows() const { return windows_; }

 private:
  Window before_;
  unsigned windows_ = 0, alike_ = 0, behind_ = 0, full_ = 0;
};

/// The half-width of the 95% confidence interval of the mean of batches (Student's t).
double half_width_95(const std::vector<double>& batch_means);

/// Whether the second half of the batches differs from the first by more than chance and 1% explain: the run
/// was still warming up in the first half.
bool drifts(const std::vector<double>& batch_means);

}  // namespace weft::measure
