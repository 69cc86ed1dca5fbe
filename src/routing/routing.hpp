// A routing is a relation: where a packet stands, how it got there and where it goes -> the channels it may
// take.
//
// Channels of a cable are grouped in classes. A routing names classes; `ChannelPlan` says which channels of a
// router each class owns. All channels of a class are alike to the routing, so proofs work on classes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "topology/faults.hpp"
#include "topology/graph.hpp"

namespace weft::routing {

using topology::EndpointId;
using topology::Graph;
using topology::kNone;
using topology::PortId;
using topology::PortIndex;
using topology::RouterId;

using ChannelClass = std::uint8_t;
inline constexpr PortIndex kInjected = 0xffff;

/// Where a packet stands. A route has one leg, to its destination endpoint, or two: first to an intermediate
/// place (`via`, numbered by the routing), then to the destination. A packet that starts a leg counts as
/// injected.
struct Hop {
  RouterId router;
  PortIndex in_port = kInjected;
  ChannelClass in_class = 0;
  bool via_leg = false;
  std::uint32_t target = 0;  // destination endpoint, or the intermediate place while `via_leg`
  bool second_leg = false;   // it has been at its intermediate place
};

struct Candidate {
  PortIndex port;
  ChannelClass channel_class;
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

/// The answer of a routing, in the order of preference. Fixed room: nothing is allocated per hop.
class Candidates {
 public:
  static constexpr std::size_t kMax = 512;
  void clear() { size_ = 0; }
  void add(PortIndex port, ChannelClass channel_class) {
    WEFT_CHECK(size_ < kMax, "too many candidate outputs at one router");
    items_[size_++] = {port, channel_class};
  }
  const Candidate* begin() const { return items_.data(); }
  const Candidate* end() const { return items_.data() + size_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Candidate& operator[](std::size_t i) const { return items_[i]; }

 private:
  std::size_t size_ = 0;
  std::array<Candidate, kMax> items_;
};

/// Which channels of every cable belong to which class: class c owns [begin[c], begin[c + 1]).
/// With fewer channels than classes, classes share channels; only `weft check` looks at such a machine.
struct ChannelPlan {
  std::vector<std::uint8_t> begin, end;
  bool complete = true;  // every class has channels of its own
};

/// A table inside a router, against what the hardware holds.
struct TableUse {
  std::string name;
  std::uint64_t used = 0, limit = 0;  // items; limit 0: none stated
};

class ViaTable;

class Routing {
 public:
  explicit Routing(const Graph& graph, const topology::Faults& faults) : graph_(graph), faults_(faults) {}
  virtual ~Routing();

  /// Fills `out` with the channels the packet may take next. Never asked at the destination's own router.
  /// No candidates means the packet cannot go on from here.
  virtual void candidates(const Hop& hop, Candidates& out) const = 0;

  /// Channel classes the relation uses, numbered from 0.
  virtual unsigned classes() const = 0;
  /// Does the answer depend on in_port or in_class?
  virtual bool uses_input() const = 0;
  /// Endpoints of one router with equal keys are routed alike; proofs visit one of them.
  virtual std::uint32_t destination_key(EndpointId) const { return 0; }

  /// Most cables any route crosses, or 0: every route is a shortest path.
  virtual std::uint32_t max_hops() const { return 0; }
  /// Does the routing, so configured, promise freedom from deadlock?
  virtual bool claims_deadlock_free() const { return true; }
  /// Packets of one source and destination stay in order: there is one path, or one per flow.
  virtual bool keeps_order() const { return false; }

  /// Is this an escape class? Adaptive routings with escape channels are proved with Duato's condition.
  virtual bool is_escape(ChannelClass) const { return false; }
  virtual bool has_escape() const { return false; }

  /// Intermediate places, 0 where routes have one leg.
  virtual std::uint32_t via_count() const { return 0; }
  virtual bool via_reached(RouterId, std::uint32_t /*via*/) const { return true; }
  /// May packets also skip the intermediate place?
  virtual bool may_go_direct() const { return true; }
  /// Does the route to the destination differ between packets on their second leg and those without a first?
  virtual bool tells_legs() const { return false; }
  /// Which places serve which pairs of a broken machine; none on a whole one, where all serve all.
  const ViaTable* vias() const { return vias_.get(); }

  virtual std::vector<TableUse> tables() const;
  virtual std::uint64_t bytes() const { return 0; }
  /// Shares out the channels of a cable; by default as evenly as they go, the last classes getting more.
  virtual ChannelPlan plan(unsigned channels) const;

  const Graph& graph() const { return graph_; }
  const topology::Faults& faults() const { return faults_; }

 protected:
  /// To be called at the end of the constructor of a routing with intermediate places.
  void find_vias();

  const Graph& graph_;
  const topology::Faults& faults_;

 private:
  std::shared_ptr<const ViaTable> vias_;
};

}  // namespace weft::routing
