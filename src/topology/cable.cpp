#include "topology/cable.hpp"

#include <algorithm>
#include <numeric>

#include "base/text.hpp"

namespace weft::topology {

DataRate CableType::rate_of(unsigned lanes_up, DataRate each) const {
  struct Efficiency {
    std::int64_t useful, sent;
  };
  constexpr Efficiency efficiency[] = {{1, 1}, {8, 10}, {64, 66}, {128, 130}};
  auto [useful, sent] = efficiency[static_cast<std::size_t>(coding)];
  std::int64_t coded = (each * lanes_up).value * useful / sent;
  auto between = static_cast<std::int64_t>(words_between_skips());
  return {between ? static_cast<std::int64_t>(static_cast<__int128>(coded) * between / (between + 1))
                  : coded};
}

unsigned CableType::words_between_skips() const {
  if (skip_interval || clock_ppm <= 0) return skip_interval;
  // One skip makes up for one word of drift, within the beats of a round: the words between, the skip, and
  // the skip once more where the sender is the slower one.
  return static_cast<unsigned>(std::clamp(1e6 / clock_ppm, 3.0, 4e9)) - 2;
}

Time CableType::flight_time(Length actual) const {
  Time coding_delay = scrambler ? scrambler_delay : Time{0};
  return delay + lane_skew + coding_delay + Time{delay_per_metre.value * actual.value / 1000};
}

namespace {

void check_lane_order(const CableType& type, const config::Complain& complain) {
  if (type.lane_order.empty()) return;
  std::vector<unsigned> sorted = type.lane_order, straight(type.lanes);
  std::sort(sorted.begin(), sorted.end());
  std::iota(straight.begin(), straight.end(), 0u);
  if (sorted == straight) return;
  std::string what;
  if (sorted.size() != straight.size())
    what = fmt::format("has {} of the cable's {} lanes", sorted.size(), type.lanes);
  else if (sorted.back() >= type.lanes)
    what = fmt::format("there is no wire {}", sorted.back());
  else
    what = fmt::format("wire {} has two lanes", *std::adjacent_find(sorted.begin(), sorted.end()));
  complain("lane_order", fmt::format("{}; expected each of 0 to {} once", what, type.lanes - 1));
}

void check_lane_fail_rate(const CableType& type, const config::Complain& complain) {
  std::size_t rates = 1 + type.fallback_rates.size();
  if (type.lane_fail_rate.size() > rates)
    complain("lane_fail_rate",
             fmt::format("has {} shares for {}; expected one for lane_rate and one for each "
                         "of fallback_rates",
                         type.lane_fail_rate.size(), count_of(rates, "rate")));
  double above = 1;
  for (double share : type.lane_fail_rate) {
    if (!(share >= 0 && share <= above))
      complain("lane_fail_rate",
               fmt::format("{} is not between 0 and {}; a lane that passes at a rate passes at slower ones",
                           share, above));
    above = share;
  }
}

void check_clocks(const CableType& type, const config::Complain& complain) {
  double taken = type.skip_interval ? 1e6 / (type.skip_interval + 2.0) : 1e6;
  if (type.clock_ppm > taken)
    complain("skip_interval",
             fmt::format("a skip after every {} words takes clocks that differ by {:.4g} ppm, and these "
                         "differ by {:.4g}; expected {} or less, or 0",
                         type.skip_interval, taken, type.clock_ppm,
                         static_cast<unsigned>(1e6 / type.clock_ppm) - 2));
}

void check_cable(const CableType& type, const config::Complain& complain) {
  DataRate above = type.lane_rate;
  for (DataRate rate : type.fallback_rates) {
    if (rate >= above || rate.value <= 0)
      complain("fallback_rates",
               fmt::format("{} is not below {}; expected rates from fast to slow, all below "
                           "lane_rate",
                           to_text(rate), to_text(above)));
    above = rate;
  }
  if (type.fallback_rates.size() >= kMaxLaneRates)
    complain("fallback_rates", fmt::format("has {}; expected at most {}",
                                           count_of(type.fallback_rates.size(), "rate"), kMaxLaneRates - 1));
  if (type.min_lanes > type.lanes)
    complain("min_lanes", fmt::format("the cable has {} lanes, fewer than {}", type.lanes, type.min_lanes));
  check_lane_order(type, complain);
  check_lane_fail_rate(type, complain);
  check_clocks(type, complain);
}

using CableSchema = config::Schema<CableType>;
using config::Range;

CableSchema wires_and_lanes() {
  return CableSchema()
      .field(&CableType::lanes, "lanes", "Serial lanes bonded into one link", Range<unsigned>{1, 64})
      .field(&CableType::lane_rate, "lane_rate", "Signalling rate of one lane, line coding included",
             Range<DataRate>{{1'000'000}, {1'000'000'000'000}})
      .choice(&CableType::coding, "coding", "Line coding; it takes its share of the lane rate",
              {"none", "8b10b", "64b66b", "128b130b"})
      .field(&CableType::length, "length",
             "Length of a cable of this type, unless the topology says otherwise",
             Range<Length>{{0}, {100'000'000}})
      .field(&CableType::delay, "delay", "Fixed delay of the two transceivers; the length adds its own",
             Range<Time>{{0}, {1'000'000'000}})
      .field(&CableType::delay_per_metre, "delay_per_metre", "Signal flight time of one metre",
             Range<Time>{{0}, {1'000'000}})
      .field(&CableType::strands, "strands",
             "Physical cables that carry one link (two optical cables per port in TH Express-2)",
             Range<unsigned>{1, 16})
      .field(&CableType::fallback_rates, "fallback_rates",
             "Lower rates all lanes fall back to when too few pass the lane test, from fast to slow")
      .field(&CableType::min_lanes, "min_lanes",
             "Fewest lanes the link runs on before the rate of all is lowered; 0: half of them",
             Range<unsigned>{0, 64})
      .field(&CableType::lane_skew, "lane_skew",
             "Largest difference in arrival between lanes; the elastic buffer holds back all by it",
             Range<Time>{{0}, {1'000'000}})
      .field(&CableType::lane_order, "lane_order",
             "Crossed wires: for each lane in turn, the wire it is on; both directions alike. Empty: "
             "straight")
      .field(&CableType::lane_fail_rate, "lane_fail_rate",
             "Share of lanes that fail their test at lane_rate and at each of fallback_rates in turn, "
             "drawn for each lane of each cable and direction; what is not listed is 0. Where it is "
             "given, links train before they carry packets")
      .field(&CableType::scrambler, "scrambler",
             "Scrambles what is on the wire (x^58 + x^39 + 1, self-synchronous); a wire error then "
             "damages three bits")
      .field(&CableType::scrambler_delay, "scrambler_delay",
             "Time scrambler and descrambler take together, where there is one",
             Range<Time>{{0}, {1'000'000}});
}

CableSchema&& clocks_errors_and_retries(CableSchema&& schema) {
  return std::move(schema)
      .field(&CableType::clock_ppm, "clock_ppm",
             "Largest difference of the clocks at the two ends, in parts per million; lane_rate is the "
             "slower one's",
             Range<double>{0, 10'000})
      .field(&CableType::skip_interval, "skip_interval",
             "Words between two that the receiver may drop or repeat to make up for it; they take their "
             "share of the rate. 0: as many as clock_ppm allows",
             Range<unsigned>{0, 1'000'000})
      .field(&CableType::training_time, "training_time",
             "From the first training word to a link that carries packets",
             Range<Time>{{0}, {1'000'000'000'000}})
      .field(&CableType::bit_error_rate, "bit_error_rate",
             "Chance that a bit on the wire starts an error; 0: none", Range<double>{0, 0.01})
      .field(&CableType::error_burst, "error_burst", "Bits from the first to the last that an error damages",
             Range<unsigned>{1, 1024})
      .choice(&CableType::retry, "retry",
              "What the link sends again: 'packet' whole packets (go-back-N), 'header-footer' only headers "
              "and footers, with damaged payload flagged and handed up (APEnet+)",
              {"packet", "header-footer"})
      .field(&CableType::retry_window, "retry_window",
             "Flits the replay buffer holds; 0: what two round trips need", Range<unsigned>{0, 65536})
      .field(&CableType::retry_timeout, "retry_timeout",
             "Sent again when not acknowledged for so long; 0: two round trips",
             Range<Time>{{0}, {1'000'000'000}})
      .field(&CableType::max_retries, "max_retries",
             "Retries in a row without progress before the link tests its lanes anew",
             Range<unsigned>{1, 1000})
      .field(&CableType::heartbeat, "heartbeat", "Pause between heartbeats on an idle link",
             Range<Time>{{1'000}, {1'000'000'000'000}})
      .field(&CableType::missed_beats, "missed_beats", "Heartbeats missed before the link is declared dead",
             Range<unsigned>{1, 1000});
}

}  // namespace

const config::Section& cable_section() {
  static const config::Section section =
      clocks_errors_and_retries(wires_and_lanes()).check(check_cable).section();
  return section;
}

}  // namespace weft::topology
