// The kinds of sources: Bernoulli, bursts, and a fixed rate.
#include <algorithm>
#include <cmath>

#include "workload/pattern.hpp"
#include "workload/source.hpp"

namespace weft::workload {

SourceKind::~SourceKind() = default;

namespace {

/// Draws for one endpoint, one after the other.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint32_t endpoint, SourceState& state)
      : seed_(seed), endpoint_(endpoint), state_(state) {}
  double unit() { return unit_interval(quick_random_bits(seed_, endpoint_, state_.draws++)); }

  /// Failures before the first success of a trial per cycle: 0, 1, 2, ... with mean (1 - p) / p.
  Cycle failures(double p) { return p >= 1 ? 0 : scaled_failures(1 / std::log1p(-p)); }
  /// The same, with 1 / log(1 - p) in hand.
  Cycle scaled_failures(double scale) { return static_cast<Cycle>(std::log(1 - unit()) * scale); }

 private:
  std::uint64_t seed_;
  std::uint32_t endpoint_;
  SourceState& state_;
};

class Bernoulli : public Source {
 public:
  explicit Bernoulli(std::uint64_t seed) : seed_(stream_seed(seed, Stream::Time)) {}
  Cycle next(std::uint32_t endpoint, double rate, SourceState& state, Cycle from) const override {
    if (state.rate != rate) {
      state.rate = rate;
      state.scale = rate >= 1 ? 0 : 1 / std::log1p(-rate);
    }
    return from + Draws(seed_, endpoint, state).scaled_failures(state.scale);
  }

 private:
  std::uint64_t seed_;
};

struct OnOffParameters {
  double burst = 100;
  double peak = 1;
};

/// A Markov source of two states. While on, it is a Bernoulli source at the peak load; the lengths of both
/// states are geometric, and the mean of the pause is such that the load comes out right.
class OnOff : public Source {
 public:
  OnOff(const OnOffParameters& p, double load, std::uint64_t seed)
      : p_(p), load_(load), seed_(stream_seed(seed, Stream::Time)) {}

  Cycle next(std::uint32_t endpoint, double rate, SourceState& state, Cycle from) const override {
    Draws draws(seed_, endpoint, state);
    double rate_when_on = rate * p_.peak / load_;
    double mean_pause = p_.burst * (p_.peak - load_) / load_;
    for (;;) {
      Cycle at = from + draws.failures(rate_when_on);
      if (at < state.on_until) return at;
      // The burst ends before the next packet; sources have no memory, so the next burst starts with fresh
      // draws.
      from = std::max(from, state.on_until) + draws.failures(1 / (1 + mean_pause));
      state.on_until = from + 1 + draws.failures(1 / p_.burst);
    }
  }

 private:
  OnOffParameters p_;
  double load_;
  std::uint64_t seed_;
};

/// A packet every 1 / rate cycles; each endpoint starts at a random place in its first interval.
class FixedRate : public Source {
 public:
  explicit FixedRate(std::uint64_t seed) : seed_(stream_seed(seed, Stream::Time)) {}
  Cycle next(std::uint32_t endpoint, double rate, SourceState& state, Cycle from) const override {
    double phase = unit_interval(random_bits(seed_, endpoint, 0));
    return std::max(from, static_cast<Cycle>((phase + static_cast<double>(state.packets)) / rate));
  }

 private:
  std::uint64_t seed_;
};

WEFT_REGISTER(SourceKind,
              {"bernoulli", "in every cycle with the same chance", config::Schema<NoParameters>().section(),
               [](const void*, double, std::uint64_t seed) { return std::make_unique<Bernoulli>(seed); }});

WEFT_REGISTER(SourceKind,
              {"on-off", "bursts with pauses between them",
               config::Schema<OnOffParameters>()
                   .field(&OnOffParameters::burst, "burst", "Mean length of a burst in cycles",
                          config::Range<double>{1, 1e6})
                   .field(&OnOffParameters::peak, "peak", "Load while a burst lasts",
                          config::Range<double>{0.001, 1})
                   .section(),
               [](const void* parameters, double load, std::uint64_t seed) {
                 const auto& p = *static_cast<const OnOffParameters*>(parameters);
                 if (load > p.peak)
                   throw UserError(fmt::format("source.peak: bursts at load {} cannot give a mean load of {}",
                                               p.peak, load));
                 return std::make_unique<OnOff>(p, load, seed);
               }});

WEFT_REGISTER(SourceKind,
              {"fixed", "at equal intervals, every endpoint with a phase of its own",
               config::Schema<NoParameters>().section(),
               [](const void*, double, std::uint64_t seed) { return std::make_unique<FixedRate>(seed); }});

}  // namespace

}  // namespace weft::workload

WEFT_REGISTRY(weft::workload::SourceKind);
