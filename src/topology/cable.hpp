// Cable types: what a link is made of, and what follows from it.
#pragma once

#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "config/schema.hpp"

namespace weft::topology {

enum class Coding { None, Coding8b10b, Coding64b66b, Coding128b130b };

/// What a link repairs by itself: whole packets, or (APEnet+) headers and footers, flagging damaged payload.
enum class Retry { Packet, HeaderFooter };

/// Rates a link can be trained to: lane_rate and those to fall back to.
inline constexpr unsigned kMaxLaneRates = 4;

struct CableType {
  std::string name;
  unsigned lanes = 4;
  DataRate lane_rate{6'250'000'000};
  Coding coding = Coding::Coding8b10b;
  Length length{2000};
  Time delay{80'000};
  Time delay_per_metre{5'000};
  unsigned strands = 1;

  // How it fails, and what its link protocol does about it (network/link).
  std::vector<DataRate> fallback_rates;
  unsigned min_lanes = 0;
  Time lane_skew{0};
  std::vector<unsigned> lane_order;
  std::vector<double> lane_fail_rate;
  bool scrambler = false;
  Time scrambler_delay{2'000};
  double clock_ppm = 0;
  unsigned skip_interval = 0;
  Time training_time{1'000'000};
  double bit_error_rate = 0;
  unsigned error_burst = 1;
  Retry retry = Retry::Packet;
  unsigned retry_window = 0;
  Time retry_timeout{0};
  unsigned max_retries = 16;
  Time heartbeat{1'000'000};
  unsigned missed_beats = 4;

  /// Fewest lanes it runs on before the rate of all is lowered.
  unsigned fewest_lanes() const { return min_lanes ? min_lanes : (lanes + 1) / 2; }
  /// Words between two that may be skipped, so that the ends' clocks may differ; 0: none are needed.
  unsigned words_between_skips() const;
  /// Have its lanes to be tested before it carries anything, because they are not all straight and good?
  bool trains_first() const { return !lane_order.empty() || !lane_fail_rate.empty(); }
  DataRate raw_rate() const { return lane_rate * lanes; }
  /// What is left for packets after line coding and skip words, per direction.
  DataRate rate() const { return rate_of(lanes, lane_rate); }
  /// The same with other lanes up, at another lane rate.
  DataRate rate_of(unsigned lanes_up, DataRate each) const;
  /// From the last bit entering one end to leaving the other, for a cable of the given length.
  Time flight_time(Length actual) const;
};

const config::Section& cable_section();

}  // namespace weft::topology
