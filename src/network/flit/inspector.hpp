// A network at rest as it looks from outside: why nothing moves, and whether everything adds up.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "network/cycle_engine.hpp"
#include "network/flit/fabric.hpp"
#include "network/flit/routes.hpp"
#include "network/flit/sources.hpp"

namespace weft::network::flit {

/// Reads a network between two cycles. Slow.
class Inspector {
 public:
  Inspector(const Fabric& fabric, const Routes& routes, const Sources& sources)
      : fabric_(fabric),
        s_(fabric.state),
        trees_(routes.trees ? &*routes.trees : nullptr),
        sources_(sources) {}

  /// Some packet has been in the network for more than so many cycles.
  bool older_than(Cycle age, Cycle now) const;
  /// The packet that has been under way longest, with its place; nothing where the network is empty.
  std::optional<Waiting> oldest_packet() const;
  /// Who waits for whom: a cycle of queues where there is one, else the oldest packet and what it waits for
  /// in turn.
  std::vector<Waiting> who_waits() const;
  /// Checks that flits and credits add up, and that as many flits are there as were counted where every cable
  /// is a direct one; throws Defect where they do not.
  void check_conservation(std::optional<std::uint64_t> in_network) const;

 private:
  std::vector<QueueNumber> occupied() const;
  bool empty(QueueNumber q) const { return s_.queues[q].empty(); }
  const PacketRecord& first_packet(QueueNumber q) const {
    return sources_.packets[Entry(s_.queues[q].entry).id()];
  }
  /// What the first packet of a queue waits for, and which other queues must move before it can.
  Waiting describe(QueueNumber q, std::vector<QueueNumber>& waits_for) const;
  void describe_copies(QueueNumber q, Waiting& out, std::vector<QueueNumber>& waits_for) const;
  std::string name(PortNumber p) const;
  /// The queues with a packet for an output.
  template <class Use>
  void for_each_rival(PortNumber out, Use use) const;
  std::uint32_t router_of(PortNumber p) const;
  /// The queues a channel of an output leads to.
  void queues_behind(PortNumber out, unsigned channel, std::vector<QueueNumber>& into) const;

  const Fabric& fabric_;
  const State& s_;
  const Trees* trees_;  // of packets for many, where there are any
  const Sources& sources_;
};

}  // namespace weft::network::flit
