// The flow engine behind the interface all engines share: each packet is a fluid over its way through the
// machine.
//
// A source sends one packet after the other, as its port does; the fluid of each moves at the rate the links
// leave it, and its last byte arrives a way's delay after it has left.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "event/event_queue.hpp"
#include "network/flow/fluid.hpp"
#include "network/groups.hpp"
#include "network/network.hpp"
#include "routing/multicast.hpp"

namespace weft::network::flow {

class FlowNetwork final : public Network {
 public:
  explicit FlowNetwork(const machine::Machine& machine);

  bool multicasts() const override { return trees_.has_value(); }
  GroupNumber group(std::span<const EndpointId> members) override;
  bool idle() const override { return arrivals_.empty() && landings_.empty() && fluid_.active() == 0; }
  std::vector<std::string> explain() const override;

  const Fluid& fluid() const { return fluid_; }

 protected:
  void accept(const Packet& packet, Time at) override;
  void run(Time until, std::vector<Notice>& notices) override;

 private:
  struct Slot {
    Packet packet;
    std::int64_t delay_ps = 0;
    std::uint32_t next = topology::kNone;  // behind it at the source
    std::uint32_t landings = 1;            // it has to tell of
  };
  struct Queue {
    std::uint32_t first = topology::kNone, last = topology::kNone;  // the first is under way
  };

  /// A packet for many is one fluid over all links of its tree.
  struct Spread {
    std::vector<Share> route;
    std::vector<std::pair<EndpointId, std::int64_t>> delays_ps;  // of members that can be reached
    std::vector<EndpointId> cut_off;
  };
  const Spread& spread(GroupNumber group, EndpointId source);

  void arrive(std::uint32_t slot);
  void step(std::vector<Notice>& notices);
  void land(Time at, std::uint32_t slot, Notice::Kind kind, EndpointId where = topology::kNone);
  bool start_for_many(std::uint32_t slot);
  void land_all(std::uint32_t slot);
  bool start(std::uint32_t slot);
  void start_first(Queue& queue);
  unsigned traffic_class_of(const Packet& packet) const { return packet.message_class / messages_of_class_; }
  Queue& queue_of(const Packet& packet) {
    return queues_[packet.source + std::size_t{traffic_class_of(packet)} * graph_.endpoints()];
  }

  Links links_;
  RouteMaker maker_;
  Fluid fluid_;
  const topology::Graph& graph_;
  std::optional<routing::MulticastTrees> trees_;  // where routers copy
  Groups groups_;
  std::map<std::pair<GroupNumber, EndpointId>, Spread> spreads_;
  RouteMaker::Scratch scratch_;
  std::vector<Share> route_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<std::uint32_t> weights_;  // by traffic class
  std::vector<Queue> queues_;           // by traffic class and source
  event::EventHeap arrivals_;           // of packets at their sources, by slot
  event::EventHeap landings_;           // and at their destinations: kind of notice, member and slot
  std::vector<std::uint64_t> ended_;
  unsigned messages_of_class_;
  Time clock_{0};  // how far it has run
};

}  // namespace weft::network::flow
