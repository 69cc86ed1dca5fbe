#include "topology/cable.hpp"

namespace weft::topology {

DataRate CableType::rate_of(unsigned lanes_up, DataRate each) const {
  struct Efficiency {
    std::int64_t useful, sent;
  };
  constexpr Efficiency efficiency[] = {{1, 1}, {8, 10}, {64, 66}, {128, 130}};
  auto [useful, sent] = efficiency[static_cast<std::size_t>(coding)];
  return {(each * lanes_up).value * useful / sent};
}

Time CableType::flight_time(Length actual) const {
  return delay + lane_skew + Time{delay_per_metre.value * actual.value / 1000};
}

namespace {

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
  if (type.min_lanes > type.lanes)
    complain("min_lanes", fmt::format("the cable has {} lanes, fewer than {}", type.lanes, type.min_lanes));
}

}  // namespace

const config::Section& cable_section() {
  using config::Range;
  static const config::Section section =
      config::Schema<CableType>()
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
          .field(&CableType::training_time, "training_time",
                 "From the first training word to a link that carries packets",
                 Range<Time>{{0}, {1'000'000'000'000}})
          .field(&CableType::bit_error_rate, "bit_error_rate",
                 "Chance that a bit on the wire starts an error; 0: none", Range<double>{0, 0.01})
          .field(&CableType::error_burst, "error_burst",
                 "Bits from the first to the last that an error damages", Range<unsigned>{1, 1024})
          .choice(
              &CableType::retry, "retry",
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
          .field(&CableType::missed_beats, "missed_beats",
                 "Heartbeats missed before the link is declared dead", Range<unsigned>{1, 1000})
          .check(check_cable)
          .section();
  return section;
}

}  // namespace weft::topology
