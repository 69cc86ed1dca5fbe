// The flow engine behind the interface all engines share: each packet is a fluid over its way through the
// machine.
//
// A source sends one packet after the other, as its port does; the fluid of each moves at the rate the links
// leave it, and its last byte arrives a way's delay after it has left.
#pragma once

#include <vector>

#include "event/event_queue.hpp"
#include "network/flow/fluid.hpp"
#include "network/network.hpp"

namespace weft::network::flow {

class FlowNetwork final : public Network {
 public:
  explicit FlowNetwork(const machine::Machine& machine);

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
  };
  struct Queue {
    std::uint32_t first = topology::kNone, last = topology::kNone;  // the first is under way
  };

  void arrive(std::uint32_t slot);
  void step(std::vector<Notice>& notices);
  void land(Time at, std::uint32_t slot, Notice::Kind kind);
  bool start(std::uint32_t slot);
  void start_first(Queue& queue);

  Links links_;
  RouteMaker maker_;
  Fluid fluid_;
  RouteMaker::Scratch scratch_;
  std::vector<Share> route_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<Queue> queues_;  // by source
  event::EventHeap arrivals_;  // of packets at their sources, by slot
  event::EventHeap landings_;  // and at their destinations: kind of notice and slot
  std::vector<std::uint64_t> ended_;
  Time clock_{0};  // how far it has run
};

}  // namespace weft::network::flow
