// Re-routing while the machine runs: from a link that reports itself dead to routes around it.
//
// The network is drained between two relations: endpoints stop sending, packets that still can go to their
// destinations, and those that wait for a dead link are taken back and sent again by their sources
// afterwards. So no packet of the old relation is there when the new one starts, and each relation by itself
// is proved free of deadlock. That is why tables may be rewritten one router after the other, in any order:
// nobody reads them meanwhile. An escape layer would keep traffic going, but needs channels that many of the
// machines do not have, and a proof for every pair of relations.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/cycle.hpp"
#include "routing/reroute.hpp"

namespace weft::network::link {

struct ReconfigureSettings {
  Cycle report = 1000;   // from a link's own diagnosis to whoever computes routes; others join meanwhile
  Cycle compute = 5000;  // of the new routes
  Cycle write_per_router = 50;  // tables are written one router after the other
  Cycle quiet = 1000;           // without any movement: what is left cannot leave by itself
  Cycle longest_drain = 200'000;
  /// Instead of write_per_router: what it takes to write routes around these.
  std::function<Cycle(const topology::Faults& faults)> write = {};
  Cycle prove = 0;  // that the new routes do not deadlock
};

class Reconfigurer {
 public:
  Reconfigurer(const routing::RoutingKind& kind, const void* parameters, const topology::Graph& graph,
               const topology::Faults& at_start, const routing::VerifyOptions& how,
               const ReconfigureSettings& settings);

  /// An end of a cable says that its link is dead, or that it is up again.
  void report(topology::CableId cable, bool dead, Cycle now);

  /// Something changed that no link can tell: routes are made anew all the same.
  void ask_for_routes(Cycle now);

  enum class Phase : std::uint8_t { Steady, Collecting, Draining, Writing };
  enum class Action : std::uint8_t {
    None,
    StopSending,  // endpoints hold back packets from now on
    TakeBack,     // packets still in the network go back to their sources; the network is empty then
    Switch,       // routing() is the new relation; endpoints send again
  };
  /// Once between two cycles. `empty`: no flit in the network; `moved`: one did in the last cycle.
  Action step(Cycle now, bool empty, bool moved);

  Phase phase() const { return phase_; }
  /// The relation in force, and what it was made for.
  const routing::Routing& routing() const { return *current_.routing; }
  const std::string& routing_name() const { return current_.name; }
  const routing::Verdict& verdict() const { return current_.verdict; }
  const topology::Faults& faults() const { return *current_faults_; }
  /// How long the last tables took: to hear of it, to compute them, to prove them, to write them.
  struct Parts {
    Cycle report, compute, prove, write;
  };
  Parts parts() const { return {settings_.report, settings_.compute, settings_.prove, written_in_}; }
  /// When something will happen by itself, or kNever.
  Cycle next_step() const { return phase_ == Phase::Steady || phase_ == Phase::Draining ? kNever : until_; }

 private:
  void compute();

  const routing::RoutingKind& kind_;
  const void* parameters_;
  const topology::Graph& graph_;
  topology::Faults at_start_;
  routing::VerifyOptions how_;
  ReconfigureSettings settings_;
  Phase phase_ = Phase::Steady;
  Cycle until_ = 0, drain_since_ = 0, moved_at_ = 0, written_in_ = 0;
  std::vector<bool> dead_, applied_;  // by cable: as reported; as the relation in force knows it
  bool fresh_ = false;                // a report the relation under way does not know of
  bool asked_ = false;                // routes are wanted even if no cable has changed
  std::unique_ptr<topology::Faults> current_faults_, next_faults_;
  routing::Rerouted current_, next_;
};

}  // namespace weft::network::link
