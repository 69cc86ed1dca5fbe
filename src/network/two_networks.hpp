// Two networks that nodes are on at once: one for everything, and a narrow one of its own topology for the
// control packets of collectives.
//
// Each is an engine of its own. Where one of the two is idle the other runs as if it were alone; where both
// carry something they run in turn, for less than the caller's reaction time each: nothing that one of them
// tells can make the caller send anything to the other before that.
#pragma once

#include <memory>
#include <vector>

#include "network/network.hpp"

namespace weft::network {

class TwoNetworks final : public Network {
 public:
  /// As a packet's class of messages: it goes by the second.
  static constexpr std::uint8_t kControl = 0xff;

  /// `machine`: what the second is a network of, where nobody else keeps it.
  TwoNetworks(std::unique_ptr<Network> first, std::unique_ptr<Network> second,
              std::unique_ptr<const machine::Machine> machine = nullptr);
  ~TwoNetworks() override;

  bool idle() const override;
  /// Packets for many go by the first.
  bool multicasts() const override { return first_->multicasts(); }
  GroupNumber group(std::span<const EndpointId> members) override { return first_->group(members); }
  /// Contributions are control packets: they go by the second.
  bool reduces() const override { return second_->reduces(); }
  ReductionNumber reserve_reduction(std::span<const EndpointId> members, unsigned rounds) override {
    return second_->reserve_reduction(members, rounds);
  }
  void release_reduction(ReductionNumber number) override { second_->release_reduction(number); }
  std::vector<ReductionStep> reduction_steps(ReductionNumber number) const override {
    return second_->reduction_steps(number);
  }
  std::uint64_t largest_packet() const override;
  PortState port_state(topology::PortId port) const override { return first_->port_state(port); }
  const routing::Routing* routes_in_force() const override { return first_->routes_in_force(); }
  std::vector<Incident> incidents() const override;
  std::vector<std::string> explain() const override;

 protected:
  void accept(const Packet& packet, Time at) override;
  void accept_message(const Packet& message, Time at) override;
  void run(Time until, std::vector<Notice>& notices) override;
  void reaction_time_changed() override;

 private:
  /// The network for a packet, whose class is then one of that network.
  Network& network_for(Packet& packet);
  void run_to(Network& network, Time until, std::vector<Notice>& notices);

  std::unique_ptr<const machine::Machine> machine_;
  std::unique_ptr<Network> first_, second_;
  Time ran_to_{0};  // neither has anything to tell of before
};

/// The network of a machine: one, or both where its description has a second. `collective_faults`: a script
/// of what breaks in the second, whose routers and cables have numbers of their own.
std::unique_ptr<Network> make_network(const EngineKind& engine, const machine::Machine& machine,
                                      const EngineOptions& options,
                                      const std::string& collective_faults = "");

}  // namespace weft::network
