// What travels: packets, who makes them and who hears of their arrival.
#pragma once

#include <cstdint>
#include <span>

#include "base/cycle.hpp"
#include "topology/graph.hpp"

namespace weft::network {

using topology::EndpointId;
using weft::Cycle;
using weft::kCyclePartBits;
using weft::kCycleParts;
using weft::kNever;
using weft::Remainder;

/// The caller's name for a packet; the network only hands it back.
using Tag = std::uint64_t;

/// A set of endpoints that a packet can be for.
using GroupNumber = std::uint32_t;
inline constexpr GroupNumber kNoGroup = 0xffff'ffff;

/// What routers have set aside for the reductions of a set of endpoints.
using ReductionNumber = std::uint32_t;
inline constexpr ReductionNumber kNoReduction = 0xffff'ffff;

struct NewPacket {
  EndpointId destination = 0;
  std::uint16_t flits = 1;
  std::uint8_t message_class = 0;
  Tag tag = 0;
  Remainder remainder = 0;                   // it was made that much after its cycle, or before it
  GroupNumber group = kNoGroup;              // instead of a destination
  ReductionNumber reduction = kNoReduction;  // the same, of a contribution,
  std::uint32_t round = 0;                   // and which of the rounds under way it is for
};

/// A packet that has wholly arrived.
struct Delivery {
  EndpointId source, destination;
  std::uint16_t flits;
  std::uint8_t message_class;
  std::uint16_t hops;  // routers crossed
  Cycle created;       // the source made it
  Cycle injected;      // its first flit left the source
  Cycle delivered;     // its last flit reached the destination
  Tag tag;
  Remainder remainder = 0;  // ... so much later, less than a cycle
  bool damaged = false;     // flagged by a link that repairs headers and footers only
};

/// A source that is due, and what it makes.
struct Creation {
  EndpointId source = 0;
  bool made = false;
  NewPacket packet = {};
  Cycle next = kNever;  // when it is due again
};

/// Makes packets. Called from the thread that owns the source endpoint; what it returns may depend on the
/// endpoint and on the time, and on nothing another endpoint does.
class Traffic {
 public:
  virtual ~Traffic() = default;
  /// When the endpoint first wants to be asked; kNever: not at all.
  virtual Cycle first(EndpointId source) = 0;
  /// Fills `packet` and returns true, or returns false to make none now. `next`: when to ask again.
  virtual bool create(EndpointId source, Cycle now, NewPacket& packet, Cycle& next) = 0;
  /// The same for all sources of a thread that are due in a cycle: engines call this, once for all of them.
  virtual void create_all(Cycle now, std::span<Creation> due) {
    for (Creation& one : due) one.made = create(one.source, now, one.packet, one.next);
  }
};

/// Hears of arrivals; one for each thread, so that none needs a lock.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void delivered(const Delivery& delivery) = 0;
  /// Engines call this, once for all packets a thread has delivered in a run of cycles.
  virtual void delivered_all(std::span<const Delivery> deliveries) {
    for (const Delivery& delivery : deliveries) delivered(delivery);
  }
  /// The packet's last flit leaves its source in this cycle. Told only where Settings::tell_departures says
  /// so, and ahead, when its first flit leaves, where nothing can come between the two
  /// (Engine::tells_ahead()).
  virtual void departed(Tag, Cycle) {}
  /// It will never arrive, because no way is left to its destination; `delivered` is when that was known.
  virtual void lost(const Delivery&) {}
};

}  // namespace weft::network
