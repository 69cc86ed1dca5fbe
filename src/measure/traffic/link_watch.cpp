#include "measure/traffic/link_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace weft::measure {

using topology::kNone;
using topology::PortId;

namespace {

constexpr std::size_t kMostSlices = 32;
constexpr std::size_t kMostLinksWithSlices = 32'768;

}  // namespace

LinkWatch::LinkWatch(const topology::Graph& graph, const network::CycleEngine& engine, network::Ranks* ranks)
    : graph_(graph),
      engine_(engine),
      ranks_(ranks),
      here_(network::part_of(graph, ranks).ports),
      standing_(here_.size()) {
  std::size_t links = 0;
  for (PortId p = 0; p < graph.ports(); ++p) {
    if (graph.peer(p) == kNone) continue;
    ++links;
    if (p - here_.begin < here_.size()) ports_.push_back(p);
  }
  keep_slices_ = links <= kMostLinksWithSlices;
  start();
}

void LinkWatch::start() {
  engine_.copy_sent(sent_);
  at_start_.clear();
  at_start_.reserve(ports_.size());
  for (PortId p : ports_) at_start_.push_back(sent_[p - here_.begin]);
  at_slice_ = at_start_;
  slices_.clear();
  std::fill(standing_.begin(), standing_.end(), 0);
  samples_ = queued_ = 0;
}

void LinkWatch::sample(std::uint64_t queued) {
  ++samples_;
  queued_ += queued;
  engine_.copy_occupancy(occupancy_);
  for (std::size_t i = 0; i < standing_.size(); ++i) standing_[i] += occupancy_[i];
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
    std::uint64_t sent = sent_[ports_[link] - here_.begin];
    slice.sent[link] += static_cast<std::uint32_t>(sent - at_slice_[link]);
    at_slice_[link] = sent;
  }
}

double LinkWatch::utilisation(std::size_t link, std::uint64_t flits, network::Cycle cycles) const {
  double interval =
      engine_.facts().cable_interval[graph_.port_cable(ports_[link])] / 256.0;  // cycles per flit
  return cycles ? static_cast<double>(flits) * interval / static_cast<double>(cycles) : 0;
}

void LinkWatch::tell(network::Cycle cycles, TrafficPoint& point) const {
  tell_links(cycles, point);
  if (!ranks_) {
    point.waiting = waiting(standing_, queued_);
    return;
  }
  network::Ranks::Bytes mine;
  network::put_all(mine, std::span(standing_));
  std::vector<std::uint64_t> all;
  if (ranks_->rank() == 0) all.reserve(graph_.ports());
  network::each_rank_at_first(*ranks_, std::move(mine), [&](const network::Ranks::Bytes& theirs) {
    for (network::RankReader reader(theirs); reader.more();) all.push_back(reader.take<std::uint64_t>());
  });
  if (ranks_->rank() == 0) point.waiting = waiting(all, queued_);
}

void LinkWatch::tell_links(network::Cycle cycles, TrafficPoint& point) const {
  std::vector<std::uint64_t> sent;
  engine_.copy_sent(sent);
  std::vector<LinkUse> links;
  std::vector<float> slices;
  links.reserve(ports_.size());
  slices.reserve(ports_.size() * slices_.size());
  for (std::size_t link = 0; link < ports_.size(); ++link) {
    const std::uint64_t flits = sent[ports_[link] - here_.begin] - at_start_[link];
    links.push_back({ports_[link], utilisation(link, flits, cycles)});
    for (const Slice& slice : slices_)
      slices.push_back(static_cast<float>(utilisation(link, slice.sent[link], slice.cycles)));
  }
  if (!ranks_) {
    point.links = std::move(links);
    point.use_of_slices = std::move(slices);
    return;
  }
  network::Ranks::Bytes mine, my_slices;
  network::put_all(mine, std::span<const LinkUse>(links));
  network::put_all(my_slices, std::span<const float>(slices));
  std::vector<LinkUse>().swap(links);
  if (ranks_->rank() == 0) point.links.reserve(std::size_t{2} * graph_.cables());
  network::each_rank_at_first(*ranks_, std::move(mine), [&](const network::Ranks::Bytes& theirs) {
    for (network::RankReader reader(theirs); reader.more();) point.links.push_back(reader.take<LinkUse>());
  });
  network::each_rank_at_first(*ranks_, std::move(my_slices), [&](const network::Ranks::Bytes& theirs) {
    for (network::RankReader reader(theirs); reader.more();)
      point.use_of_slices.push_back(reader.take<float>());
  });
}

/// `standing`: of all ports, summed over samples.
std::vector<WaitingPlace> LinkWatch::waiting(const std::vector<std::uint64_t>& standing,
                                             std::uint64_t queued) const {
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
    double flits = static_cast<double>(standing[p]) / samples;
    place.flits += flits;
    place.fullest_share = std::max(place.fullest_share, flits / engine_.facts().buffer_flits[p]);
  }
  std::vector<WaitingPlace> out{{"source queues", static_cast<double>(queued) / samples, 0}};
  for (const auto* places : {&from_endpoints, &from_routers})
    for (const WaitingPlace& place : *places)
      if (place.flits > 0) out.push_back(place);
  return out;
}

}  // namespace weft::measure
