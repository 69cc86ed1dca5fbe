#include "topology/cable.hpp"

namespace weft::topology {

DataRate CableType::rate() const {
  struct Efficiency {
    std::int64_t useful, sent;
  };
  constexpr Efficiency efficiency[] = {{1, 1}, {8, 10}, {64, 66}, {128, 130}};
  auto [useful, sent] = efficiency[static_cast<std::size_t>(coding)];
  return {raw_rate().value * useful / sent};
}

Time CableType::flight_time(Length actual) const {
  return delay + Time{delay_per_metre.value * actual.value / 1000};
}

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
          .section();
  return section;
}

}  // namespace weft::topology
