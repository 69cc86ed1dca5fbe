// Everything a packet to one destination can meet: the states it can be in and the channels between them.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/routing.hpp"

namespace weft::routing {

/// Explores one target at a time; memory is reused from target to target.
///
/// A state is a router where the routing does not look at the input, else a router with the channel the
/// packet came in by. State numbers: [0, routers) are packets standing at a router as injected; the rest are
/// arrivals, routers + in_port * classes + in_class.
class StateExplorer {
 public:
  explicit StateExplorer(const Routing& routing);

  struct Edge {
    PortId out_port;             // global number of the port taken
    ChannelClass channel_class;  // and the class of channel
    std::uint32_t next;          // state reached, or kArrived
  };
  static constexpr std::uint32_t kArrived = 0xffff'fffe;

  /// Visits every state a packet can be in heading for `target`, from each of `sources` (as injected
  /// there, or as it starts its second leg there).
  void explore(std::uint32_t target, bool via_leg, const std::vector<RouterId>& sources,
               bool second_leg = false);

  /// States in the order found.
  const std::vector<std::uint32_t>& states() const { return found_; }
  bool reached(std::uint32_t state) const { return stamp_[state] == round_; }
  const Edge* edges_begin(std::uint32_t state) const { return edges_.data() + edge_begin_[state]; }
  const Edge* edges_end(std::uint32_t state) const { return edges_.data() + edge_end_[state]; }

  /// Most cables a packet can cross from a state to the target; kEndless where it may go round for ever,
  /// kStuck where it may come to a state without a route on. Call after explore().
  static constexpr std::uint32_t kEndless = 0xffff'ffff, kStuck = 0xffff'fffe;
  void measure();
  std::uint32_t longest(std::uint32_t state) const { return height_[state]; }
  /// States from the target backwards: every state after all states it can lead to. Empty where some are
  /// endless.
  const std::vector<std::uint32_t>& settled() const { return settled_; }

  std::uint32_t injected(RouterId r) const { return r; }
  RouterId router_of(std::uint32_t state) const;
  /// The port by which a packet in this state came in, or kNone for injected packets.
  PortId in_port_of(std::uint32_t state) const;
  ChannelClass in_class_of(std::uint32_t state) const;
  std::uint64_t state_count() const { return stamp_.size(); }

 private:
  std::uint32_t state_after(PortId out_port, ChannelClass channel_class) const;
  void visit(std::uint32_t state);

  const Routing& routing_;
  const Graph& graph_;
  unsigned classes_;
  bool by_input_;
  std::uint32_t round_ = 0;
  std::vector<std::uint32_t> stamp_;  // round in which the state was last reached
  std::vector<std::uint64_t> edge_begin_, edge_end_;
  std::vector<std::uint32_t> height_;
  std::vector<std::uint32_t> found_, settled_;
  std::vector<Edge> edges_;
};

}  // namespace weft::routing
