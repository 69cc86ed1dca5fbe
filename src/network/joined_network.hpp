// Several networks as one: those of a machine that has several (machine/joined.hpp), with gateways between
// them, and a narrow one of its own topology for the control packets of collectives.
//
// Each is an engine of its own. Where one alone carries anything it runs as if there were no other; else they
// run in turn, for less than the caller's reaction time and a gateway's latency each: nothing that one of
// them tells can make anybody send to another before that.
//
// A packet for another network goes to a gateway, which has it whole before it sends it on. A node takes a
// place of the gateway's buffer before a packet leaves it and waits where it has none left; places come back
// as packets of credits. So a gateway takes what comes at once, no network waits for another, and the proofs
// of each hold for all.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "machine/joined.hpp"
#include "network/network.hpp"

namespace weft::network {

class JoinedNetwork final : public Network {
 public:
  /// As a packet's class of messages: it goes by the network for collectives.
  static constexpr std::uint8_t kControl = 0xff;

  /// What a gateway has done.
  struct GatewayState {
    EndpointId node = 0;
    std::uint64_t packets = 0, bytes = 0;   // passed on, as they came
    std::uint64_t waited = 0;               // packets that waited at their source for a place here
    std::uint64_t held = 0, most_held = 0;  // bytes in its buffer
    std::uint64_t lost = 0;                 // packets that did not reach it, or their destination from it
    Time busy{0};                           // forwarding, all ways together
  };

  /// The networks of `machine`, which has one or several, in their order; then the one for collectives, if
  /// there is one, which is the network of `control_machine` where nobody else keeps that.
  JoinedNetwork(const machine::Machine& machine, std::vector<std::unique_ptr<Network>> networks,
                std::unique_ptr<Network> control = nullptr,
                std::unique_ptr<const machine::Machine> control_machine = nullptr);
  ~JoinedNetwork() override;

  bool has_control() const { return control_ != kNoPart; }
  /// Of one of the machine's networks, by its place among them.
  std::uint64_t largest_packet_of(std::uint32_t part) const { return parts_[part].network->largest_packet(); }
  const std::vector<GatewayState>& gateways() const { return gateways_; }

  bool idle() const override;
  /// Packets for many stay within one network: they go by the only one there is beside that for collectives.
  bool multicasts() const override { return !joined_ && parts_.front().network->multicasts(); }
  GroupNumber group(std::span<const EndpointId> members) override {
    return parts_.front().network->group(members);
  }
  /// Contributions are control packets.
  bool reduces() const override { return has_control() && parts_[control_].network->reduces(); }
  ReductionNumber reserve_reduction(std::span<const EndpointId> members, unsigned rounds) override {
    return parts_[control_].network->reserve_reduction(members, rounds);
  }
  void release_reduction(ReductionNumber number) override {
    parts_[control_].network->release_reduction(number);
  }
  std::vector<ReductionStep> reduction_steps(ReductionNumber number) const override {
    return parts_[control_].network->reduction_steps(number);
  }
  std::uint64_t largest_packet() const override;
  PortState port_state(topology::PortId port) const override;
  const routing::Routing* routes_in_force() const override;
  std::vector<Incident> incidents() const override;
  std::vector<std::string> explain() const override;

 protected:
  void accept(const Packet& packet, Time at) override { hand_over(packet, at, false); }
  void accept_message(const Packet& message, Time at) override { hand_over(message, at, true); }
  void run(Time until, std::vector<Notice>& notices) override;
  void reaction_time_changed() override;

 private:
  static constexpr std::uint32_t kNoPart = 0xffff'ffff, kNothing = 0xffff'ffff;

  struct Part {
    std::unique_ptr<Network> network;
    const machine::JoinedPart* of = nullptr;  // endpoints are nodes where it is nothing
    std::string label;                        // of what it tells in words
    Time send_latency{0};                     // of an interface on it
    std::int64_t header = 0;                  // of a packet on it
    unsigned message_classes = 1;
  };
  /// A packet that goes through a gateway.
  struct Crossing {
    Packet packet;  // as its source sent it
    machine::Way way;
    Time at;                        // not sent before
    std::uint32_t next = kNothing;  // of those that wait behind it
    bool through = false;           // it has been at the gateway
    bool left = false;              // ... and left it
  };
  /// What one node has in the buffer of one gateway, and what waits for room there.
  struct Flow {
    std::uint32_t taken = 0;  // places, on the way and returned but not told of included
    std::uint32_t free = 0;   // places that its next packet of credits returns
    std::uint32_t first = kNothing, last = kNothing;
    bool avoid = false;  // a packet was lost there: another gateway is tried
  };
  struct Forwarder {
    Time free_at{0};
  };
  /// Tags of packets of its own: those that go through a gateway, and credits.
  static constexpr Tag kOwn = Tag{1} << 63, kCredits = Tag{1} << 62;

  void hand_over(const Packet& packet, Time at, bool message);
  void send_directly(Packet packet, std::uint32_t part, Time at, bool message);
  void begin_crossing(const Packet& packet, const machine::Way& way, Time at);
  void send_to_gateway(std::uint32_t index, Time at);
  void at_gateway(std::uint32_t index, Time at);
  void left_gateway(std::uint32_t index, Time at);
  void return_credits(EndpointId source, std::uint32_t gateway, std::uint32_t count, Time at,
                      std::uint32_t part);
  void take_credits(Tag tag, std::uint32_t part, Time at);
  void give_places(Flow& flow, std::uint32_t count, std::uint32_t part, Time at);
  void lost(std::uint32_t index, Time at, std::vector<Notice>& notices);
  void settle(std::vector<Notice>& notices);
  void handle(const Notice& notice, std::uint32_t part, std::vector<Notice>& notices);
  void tell(const Notice& notice, std::vector<Notice>& notices);
  Flow& flow(EndpointId source, std::uint32_t gateway) {
    return flows_[std::size_t{source} * gateways_.size() + gateway];
  }
  std::uint64_t wire_bytes(const Packet& packet, std::uint32_t part) const;
  std::uint8_t class_on(std::uint8_t message_class, std::uint32_t part) const;
  void run_alone(Part* busy, Time until);
  void run_in_turn(Time until);
  Time step() const;

  const machine::Machine& machine_;
  const machine::Joined* joined_;  // where the machine has several networks
  machine::GatewayParameters parameters_;
  std::unique_ptr<const machine::Machine> control_machine_;
  std::vector<Part> parts_;
  std::uint32_t control_ = kNoPart;
  std::vector<Crossing> crossings_;
  std::vector<std::uint32_t> free_;
  std::vector<Flow> flows_;            // by node and gateway
  std::vector<Forwarder> forwarders_;  // by gateway and the network it forwards to
  std::vector<GatewayState> gateways_;
  std::vector<std::pair<Notice, std::uint32_t>> told_;  // by a part, in one turn
  std::vector<Notice> heard_;
  bool takes_messages_ = false;  // ... of any size, and not packets alone
  std::uint64_t untold_ = 0;     // packets whose end is not told yet, where it takes no messages
  Time ran_to_{0};               // none of them has anything to tell of before
};

/// The network of a machine: one, or all where its description has several. `collective_faults`: a script of
/// what breaks in the one for collectives, whose routers and cables have numbers of their own.
std::unique_ptr<Network> make_network(const EngineKind& engine, const machine::Machine& machine,
                                      const EngineOptions& options,
                                      const std::string& collective_faults = "");

}  // namespace weft::network
