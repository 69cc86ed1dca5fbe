#include "measure/predict/clock_scaling.hpp"

#include "measure/lab/benchmarks.hpp"

namespace weft::measure {

ClockScaling clock_scaling(const machine::Machine& machine, bool quick) {
  ClockScaling out;
  // The sizes of the benchmark: powers of two up to 4 MiB. Relative values do not change any more beyond the
  // largest size that is run here, which stands for the others.
  const std::uint64_t largest = 4u << 20, run_up_to = quick ? 1u << 15 : 1u << 18;
  for (std::uint64_t bytes = 1; bytes <= largest; bytes *= 2) {
    out.sizes.push_back(bytes);
    if (bytes > run_up_to) {
      out.rate.push_back(out.rate.back());
      out.bandwidth.push_back(out.bandwidth.back());
      out.latency.push_back(out.latency.back());
      continue;
    }
    lab::PairSetup one, many;
    one.volume = many.volume = quick ? 1 << 15 : 1 << 17;
    many.pairs = 8;
    many.window = 16;
    one.window = 32;
    out.rate.push_back(lab::message_rate(machine, many, bytes));
    out.bandwidth.push_back(lab::message_rate(machine, one, bytes));
    out.latency.push_back(lab::library_latency_ns(machine, one, bytes));
  }
  return out;
}

std::array<double, 3> compared(const ClockScaling& at, const ClockScaling& base) {
  std::array<double, 3> sum{};
  for (std::size_t i = 0; i < at.sizes.size(); ++i) {
    sum[0] += at.rate[i] / base.rate[i];
    sum[1] += at.bandwidth[i] / base.bandwidth[i];
    sum[2] += base.latency[i] / at.latency[i];
  }
  for (double& s : sum) s /= static_cast<double>(at.sizes.size());
  return sum;
}

}  // namespace weft::measure
