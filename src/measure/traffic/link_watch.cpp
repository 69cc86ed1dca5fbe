#include "measure/traffic/link_watch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::measure {

using topology::kNone;
using topology::PortId;

namespace {

constexpr std::size_t kMostSlices = 32;
constexpr std::size_t kMostLinksWithSlices = 32'768;

}  // namespace

LinkWatch::LinkWatch(const topology::Graph& graph, const network::CycleEngine& engine)
    : graph_(graph), engine_(engine), standing_(graph.ports()) {
  for (PortId p = 0; p < graph.ports(); ++p)
    if (graph.peer(p) != kNone) ports_.push_back(p);
  keep_slices_ = ports_.size() <= kMostLinksWithSlices;
  start();
}

void LinkWatch::start() {
  engine_.copy_sent(sent_);
  at_start_.clear();
  for (PortId p : ports_) at_start_.push_back(sent_[p]);
  at_slice_ = at_start_;
  slices_.clear();
  std::fill(standing_.begin(), standing_.end(), 0);
  samples_ = queued_ = 0;
}

void LinkWatch::sample(std::uint64_t queued) {
  ++samples_;
  queued_ += queued;
  engine_.copy_occupancy(occupancy_);
  for (PortId p = 0; p < graph_.ports(); ++p) standing_[p] += occupancy_[p];
}

void LinkWatch::end_slice(network::Cycle cycles) {
  if (!keep_slices_) return;
  if (slices_.size() == kMostSlices) {
    for (std::size_t i = 0; i < kMostSlices / 2; ++i) {
      Slice merged = std::move(slices_[2 * i]);
      const Slice& second = slices_[2 * i + 1];
      merged.cycles += second.cycles;
      for (std::size_t link = 0; link < ports_.size(); ++link) merged.sent[link] += second.sent[link];
      slices_[i] = std::move(merged);
    }
    slices_.resize(kMostSlices / 2);
  }
  // After a merge, slices of the first half are longer: the newest grows until it is as long as they are.
  bool grow = !slices_.empty() && slices_.back().cycles < slices_.front().cycles;
  if (!grow) slices_.push_back({0, std::vector<std::uint32_t>(ports_.size())});
  Slice& slice = slices_.back();
  slice.cycles += cycles;
  engine_.copy_sent(sent_);
  for (std::size_t link = 0; link < ports_.size(); ++link) {
    std::uint64_t sent = sent_[ports_[link]];
    slice.sent[link] += static_cast<std::uint32_t>(sent - at_slice_[link]);
    at_slice_[link] = sent;
  }
}

double LinkWatch::utilisation(std::size_t link, std::uint64_t flits, network::Cycle cycles) const {
  double interval =
      engine_.facts().cable_interval[graph_.port_cable(ports_[link])] / 256.0;  // cycles per flit
  return cycles ? static_cast<double>(flits) * interval / static_cast<double>(cycles) : 0;
}

std::vector<LinkUse> LinkWatch::links(network::Cycle cycles) const {
  std::vector<LinkUse> out(ports_.size());
  std::vector<std::uint64_t> sent;
  engine_.copy_sent(sent);
  for (std::size_t link = 0; link < ports_.size(); ++link) {
    out[link].port = ports_[link];
    out[link].utilisation = utilisation(link, sent[ports_[link]] - at_start_[link], cycles);
    for (const Slice& slice : slices_)
      out[link].over_time.push_back(static_cast<float>(utilisation(link, slice.sent[link], slice.cycles)));
  }
  return out;
}

std::vector<WaitingPlace> LinkWatch::waiting() const {
  double samples = static_cast<double>(std::max<std::uint64_t>(1, samples_));
  const auto& tiers = graph_.tier_names();
  std::vector<WaitingPlace> from_routers, from_endpoints;
  for (const std::string& tier : tiers) {
    from_routers.push_back({fmt::format("input buffers of {}", tier), 0, 0});
    from_endpoints.push_back({fmt::format("injection buffers of {}", tier), 0, 0});
  }
  for (PortId p = 0; p < graph_.ports(); ++p) {
    bool endpoint = graph_.port_endpoint(p) != kNone;
    WaitingPlace& place =
        (endpoint ? from_endpoints : from_routers)[graph_.router_tier(graph_.port_router(p))];
    double flits = static_cast<double>(standing_[p]) / samples;
    place.flits += flits;
    place.fullest_share = std::max(place.fullest_share, flits / engine_.facts().buffer_flits[p]);
  }
  std::vector<WaitingPlace> out{{"source queues", static_cast<double>(queued_) / samples, 0}};
  for (const auto* places : {&from_endpoints, &from_routers})
    for (const WaitingPlace& place : *places)
      if (place.flits > 0) out.push_back(place);
  return out;
}

}  // namespace weft::measure
