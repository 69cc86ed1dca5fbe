// Ejection: packets that have wholly left their last router, and who hears of them.
#pragma once

#include <algorithm>
#include <vector>

#include "network/flit/records.hpp"
#include "network/flit/worker.hpp"

namespace weft::network::flit {

template <class V>
class Ejection {
 public:
  Ejection(const Fabric& fabric, Sources& sources, Worker& worker, const typename V::Route& route,
           const Records<V::kVoq>& at)
      : fabric_(fabric), sources_(sources), worker_(worker), route_(route), b_(at) {}

  void deliver(Entry entry);
  /// At the end of a run of cycles: what the observer has not been told.
  void hand_over() {
    if (deliveries_.empty()) return;
    worker_.observer->delivered_all(deliveries_);
    deliveries_.clear();
  }

 private:
  static constexpr std::size_t kBatch = 256;  // more would push the network's state out of the caches
  std::uint32_t hops_of(const PacketRecord& record) const;

  const Fabric& fabric_;
  Sources& sources_;
  Worker& worker_;
  const typename V::Route& route_;
  const Records<V::kVoq>& b_;
  std::vector<Delivery> deliveries_;
};

template <class V>
void Ejection<V>::deliver(Entry entry) {
  const PacketRecord& record = sources_.packets[entry.id()];
  ++worker_.counters.packets_delivered;
  const std::uint32_t hops = hops_of(record);
  // What whole cycles have left of all times on the way. Below zero where hops take less than a cycle, but
  // what has just left the last router is not there yet.
  std::int64_t rest = std::int64_t{record.remainder} + fabric_.settings.router_remainder +
                      std::int64_t{hops - 1} * fabric_.hop_remainder;
  rest = std::max<std::int64_t>(
      rest,
      -std::int64_t{fabric_.settings.traverse_cycles + fabric_.settings.endpoint_cycles - 1} * kCycleParts);
  deliveries_.push_back({record.source, record.destination, record.flits, record.message_class,
                         static_cast<std::uint16_t>(hops), record.created, record.injected,
                         b_.now + fabric_.settings.traverse_cycles + fabric_.settings.endpoint_cycles +
                             static_cast<Cycle>(rest >> kCyclePartBits),
                         record.tag, static_cast<Remainder>(rest & (kCycleParts - 1)), record.damaged});
  if (deliveries_.size() == kBatch) hand_over();
  worker_.free.push_back(entry.id());
}

// Dimension order is minimal, so its hops need no counting on the way.
template <class V>
std::uint32_t Ejection<V>::hops_of(const PacketRecord& record) const {
  if (V::kMulticast && record.message_class == fabric_.settings.message_classes) return 1u + record.hops;
  if constexpr (V::kOnGrid)
    return 1 + route_.distance(b_.grid_endpoints[record.source].place,
                               b_.grid_endpoints[record.destination].place);
  else
    return 1u + record.hops;
}

}  // namespace weft::network::flit
