// Hears of arrivals and counts. One for each thread of an engine; all counts are whole numbers, so that
// adding them up gives the same for any number of threads.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "measure/traffic/histogram.hpp"
#include "network/packet.hpp"

namespace weft::measure {

/// Sums over packets that arrived.
struct Arrivals {
  std::uint64_t packets = 0, flits = 0;
  std::uint64_t packet_cycles = 0, network_cycles = 0;  // from creation, from leaving the source
  std::uint64_t routers = 0;                            // crossed

  Arrivals& operator+=(const Arrivals& other) {
    packets += other.packets, flits += other.flits, routers += other.routers;
    packet_cycles += other.packet_cycles, network_cycles += other.network_cycles;
    return *this;
  }
  friend Arrivals operator-(Arrivals a, const Arrivals& b) {
    a.packets -= b.packets, a.flits -= b.flits, a.routers -= b.routers;
    a.packet_cycles -= b.packet_cycles, a.network_cycles -= b.network_cycles;
    return a;
  }
  double mean_packet() const {
    return packets ? static_cast<double>(packet_cycles) / static_cast<double>(packets) : 0;
  }
  double mean_network() const {
    return packets ? static_cast<double>(network_cycles) / static_cast<double>(packets) : 0;
  }
};

class Recorder final : public network::Observer {
 public:
  explicit Recorder(std::uint32_t endpoints) : source_flits_(endpoints) {}

  void delivered(const network::Delivery& d) override {
    std::uint64_t since_created = d.delivered - d.created, since_injected = d.delivered - d.injected;
    ++arrivals_.packets;
    arrivals_.flits += d.flits;
    arrivals_.packet_cycles += since_created;
    arrivals_.network_cycles += since_injected;
    arrivals_.routers += d.hops;
    last_ = std::max(last_, d.delivered);
    packet_.add(since_created);
    network_.add(since_injected);
    source_flits_[d.source] += d.flits;
    damaged_ += d.damaged;
  }

  void delivered_all(std::span<const network::Delivery> deliveries) override {
    for (const network::Delivery& delivery : deliveries) delivered(delivery);
  }

  void lost(const network::Delivery& d) override {
    ++lost_;
    ++lost_pairs_[{d.source, d.destination}];
  }

  /// Forgets everything but the sums, which go on from the start of the run.
  void start_afresh() {
    packet_ = network_ = {};
    std::fill(source_flits_.begin(), source_flits_.end(), 0);
  }

  const Arrivals& arrivals() const { return arrivals_; }
  network::Cycle last() const { return last_; }
  const Histogram& packet() const { return packet_; }
  const Histogram& network() const { return network_; }
  /// Flits that arrived, by source.
  const std::vector<std::uint64_t>& source_flits() const { return source_flits_; }

  std::uint64_t damaged() const { return damaged_; }
  std::uint64_t lost() const { return lost_; }
  /// Packets that will never arrive, by source and destination.
  using Pairs = std::map<std::pair<network::EndpointId, network::EndpointId>, std::uint64_t>;
  const Pairs& lost_pairs() const { return lost_pairs_; }

 private:
  Arrivals arrivals_;
  network::Cycle last_ = 0;  // when the latest packet arrived
  Histogram packet_, network_;
  std::vector<std::uint64_t> source_flits_;
  std::uint64_t damaged_ = 0, lost_ = 0;
  Pairs lost_pairs_;
};

}  // namespace weft::measure
