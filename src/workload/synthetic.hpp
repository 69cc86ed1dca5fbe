// Synthetic traffic: a pattern, a source and packet sizes put together for an engine.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "network/packet.hpp"
#include "network/part.hpp"
#include "workload/packet_sizes.hpp"
#include "workload/pattern.hpp"
#include "workload/source.hpp"

namespace weft::workload {

/// What traffic to make, read and checked; a run at a load is made from it.
struct Workload {
  const PatternKind* pattern = nullptr;
  std::shared_ptr<void> pattern_parameters;
  const SourceKind* source = nullptr;
  std::shared_ptr<void> source_parameters;
  PacketSizes sizes = PacketSizes::parse("1");
  std::uint8_t message_class = 0;
  std::uint64_t batch = 0;  // packets each source makes in all; 0: no end
  std::uint64_t seed = 1;
  std::vector<config::Setting> settings;  // every parameter, as it is in force
};

/// The same as text, as a user gives it; `key=value` settings.
struct WorkloadText {
  std::string pattern = "uniform", source = "bernoulli", packet = "1";
  std::vector<std::string> pattern_settings, source_settings;
};

/// Throws UserError with every mistake found.
Workload read_workload(const WorkloadText& text);

/// Makes the packets of the endpoints of this process at one load. Nothing an endpoint makes depends on
/// another endpoint.
class SyntheticTraffic final : public network::Traffic {
 public:
  /// `load` is in flits per cycle of the busiest sources; `ranks`: who share the endpoints, or null.
  SyntheticTraffic(const Workload& workload, const Members& members, const Pattern& pattern, double load,
                   const network::Ranks* ranks = nullptr);

  network::Cycle first(network::EndpointId source) override;
  bool create(network::EndpointId source, network::Cycle now, network::NewPacket& packet,
              network::Cycle& next) override;
  void create_all(network::Cycle now, std::span<network::Creation> due) override {
    for (network::Creation& one : due) one.made = create(one.source, now, one.packet, one.next);
  }

  /// Of the whole machine.
  std::uint32_t senders() const { return senders_; }
  /// What any endpoint sends compared with the busiest one; 0: it does not send.
  double relative_rate(network::EndpointId source) const;
  /// Flits made so far by the endpoints here; call while no engine runs.
  std::uint64_t flits_made() const;

 private:
  struct alignas(64) Endpoint {
    SourceState state;
    std::uint64_t flits = 0;  // made so far
    double relative_rate = 0;
    Member member = 0;
  };
  network::Cycle next_time(network::EndpointId source, network::Cycle from);

  const Members& members_;
  const Pattern& pattern_;
  PacketSizes sizes_;
  std::unique_ptr<Source> source_;
  PartArray<Endpoint> endpoints_;
  std::uint64_t batch_, size_seed_;
  double packet_rate_;  // of the busiest sources
  std::uint32_t senders_ = 0;
  std::uint8_t message_class_;
};

}  // namespace weft::workload
