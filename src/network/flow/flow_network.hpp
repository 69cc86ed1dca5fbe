// The flow engine behind the interface all engines share: each packet is a fluid over its way through the
// machine.
//
// A source sends one packet after the other, as its port does; the fluid of each moves at the rate the links
// leave it, and its last byte arrives a way's delay after it has left.
#pragma once

#include <vector>

#include "network/flow/fluid.hpp"
#include "network/network.hpp"

namespace weft::network::flow {

class FlowNetwork final : public Network {
 public:
  explicit FlowNetwork(const machine::Machine& machine);

  Time now() const override { return now_; }
  void send(const Packet& packet, Time at) override;
  void advance(Time until, std::vector<Notice>& notices) override;
  bool idle() const override { return arrivals_.empty() && landings_.empty() && fluid_.active() == 0; }
  std::vector<std::string> explain() const override;

  const Fluid& fluid() const { return fluid_; }

 private:
  struct Slot {
    Packet packet;
    std::int64_t delay_ps = 0;
    std::uint32_t next = topology::kNone;  // behind it at the source
  };
  struct Event {
    std::int64_t at_ps;
    std::uint64_t sequence;
    std::uint32_t slot;
    Notice::Kind kind = Notice::Kind::Delivered;
    bool operator<(const Event& other) const {  // for heaps: the earliest on top
      return at_ps != other.at_ps ? at_ps > other.at_ps : sequence > other.sequence;
    }
  };
  struct Queue {
    std::uint32_t first = topology::kNone, last = topology::kNone;  // the first is under way
  };

  void arrive(std::uint32_t slot);
  bool start(std::uint32_t slot);
  void start_first(Queue& queue);

  Links links_;
  RouteMaker maker_;
  Fluid fluid_;
  RouteMaker::Scratch scratch_;
  std::vector<Share> route_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<Queue> queues_;               // by source
  std::vector<Event> arrivals_, landings_;  // heaps
  std::vector<std::uint64_t> ended_;
  std::uint64_t sequence_ = 0;
  Time now_{0};
};

}  // namespace weft::network::flow
