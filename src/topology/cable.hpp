// Cable types: what a link is made of, and what follows from it.
#pragma once

#include <string>

#include "base/quantity.hpp"
#include "config/schema.hpp"

namespace weft::topology {

enum class Coding { None, Coding8b10b, Coding64b66b, Coding128b130b };

struct CableType {
  std::string name;
  unsigned lanes = 4;
  DataRate lane_rate{6'250'000'000};
  Coding coding = Coding::Coding8b10b;
  Length length{2000};
  Time delay{80'000};
  Time delay_per_metre{5'000};
  unsigned strands = 1;

  DataRate raw_rate() const { return lane_rate * lanes; }
  /// What is left for packets after line coding, per direction.
  DataRate rate() const;
  /// From the last bit entering one end to leaving the other, for a cable of the given length.
  Time flight_time(Length actual) const;
};

const config::Section& cable_section();

}  // namespace weft::topology
