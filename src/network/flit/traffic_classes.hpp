// Classes of traffic that share ports by weights: what a port keeps for each of them.
//
// Turns among inputs, outputs and channels are a class's own: a turn that others move on would come to the
// same ones again and again.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/fair_shares.hpp"
#include "network/flit/settings.hpp"

namespace weft::network::flit {

/// What ports keep for each class, where there are several.
class TrafficClasses {
 public:
  struct Turns {
    std::uint64_t sent = 0;  // flits, ever
    std::uint16_t last_input = 0, last_output = 0;
    std::uint8_t last_channel = 0;
  };

  TrafficClasses() = default;
  TrafficClasses(const Settings& settings, std::size_t ports)
      : outputs(settings.class_weights, ports),
        inputs(settings.class_weights, ports),
        classes_(settings.traffic_classes()),
        turns_(ports * settings.traffic_classes()) {
    for (unsigned channel = 0; channel < settings.all_channels(); ++channel)
      of_channel_[channel] =
          static_cast<std::uint8_t>(settings.traffic_class_of(channel / settings.channels));
    for (std::size_t i = 0; i < turns_.size(); ++i)
      turns_[i].last_input = turns_[i].last_output = static_cast<std::uint16_t>(i / classes_);
  }

  unsigned of_channel(unsigned channel) const { return of_channel_[channel]; }
  Turns& turns(std::size_t port, unsigned c) { return turns_[port * classes_ + c]; }
  const Turns& turns(std::size_t port, unsigned c) const { return turns_[port * classes_ + c]; }

  FairShares outputs, inputs;

 private:
  unsigned classes_ = 1;
  std::array<std::uint8_t, 32> of_channel_ = {};
  std::vector<Turns> turns_;
};

}  // namespace weft::network::flit
