// What every engine does for those above it: it takes packets with a time and hands them over with a time.
// A NIC, a skeleton or a trace does not know which engine is below.
//
// The caller owns the clock. It sends what it has to send, then lets the network run up to some time; the
// network stops when it has something to tell, because what it tells may make the caller send again. How soon
// is the caller's reaction time: nothing it hears makes it send earlier than that much later. For so long the
// network may run on, and hands over what it has to tell in batches.
//
//   network.set_reaction_time(L);              // once; 0 where an answer may follow at once
//   while (caller has anything to do or to wait for)
//     network.advance(time of the caller's next send that no notice causes, notices);
//     handle notices in order, with the caller's own events between them; send(...) at or after
//     the time of the notice it answers + L
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/virtual_time.hpp"
#include "config/registry.hpp"
#include "machine/machine.hpp"
#include "network/link/fault_script.hpp"
#include "network/packet.hpp"
#include "network/ranks.hpp"

namespace weft::network {

inline constexpr Time kForever{std::numeric_limits<std::int64_t>::max()};

struct Packet {
  EndpointId source = 0, destination = 0;
  std::uint64_t bytes = 0;         // on the wire, headers included
  std::uint8_t message_class = 0;  // among those of all traffic classes (RouterParameters::all_classes())
  Tag tag = 0;
  GroupNumber group = kNoGroup;              // instead of a destination: all of its members but the source
  ReductionNumber reduction = kNoReduction;  // instead of both: it is combined with the others' of its round,
  std::uint64_t round = 0;                   // and delivered to its source when all of the round are
};

/// How routers combine what members contribute, as a list to work off with a stack: a member's contribution
/// is put on it, or as many as `combine` says are taken off and what they make together is put on, in the
/// order they were put there.
struct ReductionStep {
  EndpointId member = topology::kNone;
  std::uint32_t combine = 0;
  friend bool operator==(const ReductionStep&, const ReductionStep&) = default;
};

struct Notice {
  enum class Kind : std::uint8_t {
    Departed,   // its last byte has left the source: the source's buffer is free
    Delivered,  // its last byte is at the destination
    Lost,       // it will never arrive: its destination was cut off
  };
  Tag tag;
  Time at;
  Kind kind;
  EndpointId where =
      topology::kNone;  // of a packet for a group: which member it is about; each hears by itself

  friend bool operator==(const Notice&, const Notice&) = default;
  /// In the order of time; what is of one time in an order that depends on the packets alone.
  friend std::strong_ordering operator<=>(const Notice& a, const Notice& b) {
    if (auto order = a.at.value <=> b.at.value; order != 0) return order;
    if (auto order = a.kind <=> b.kind; order != 0) return order;
    if (auto order = a.tag <=> b.tag; order != 0) return order;
    return a.where <=> b.where;
  }
};

/// Nothing will ever move again while packets wait: a deadlock, with who waits for whom.
class Stalled : public std::runtime_error {
 public:
  explicit Stalled(std::vector<std::string> who_waits);
  std::vector<std::string> who;
};

class Network {
 public:
  virtual ~Network() = default;

  /// How far the caller has been told: the last notice handed over, or the time it let the network run to.
  Time now() const { return now_; }

  /// The caller's promise: nothing that it sends because of a notice is sent earlier than this after the
  /// notice. Longer is faster: engines run on for so long before they ask. What they tell is the same.
  void set_reaction_time(Time least) {
    WEFT_CHECK(least.value >= 0, "nobody answers before he is told");
    reaction_time_ = least;
    reaction_time_changed();
  }
  Time reaction_time() const { return reaction_time_; }

  /// Hands a packet over at `at`. Packets of one source go in the order of their times and, at one time, of
  /// the calls; one that finds its source busy waits there.
  void send(const Packet& packet, Time at) {
    WEFT_CHECK(at >= earliest_send_, "a packet is sent no earlier than its caller has promised");
    accept(packet, at);
  }
  /// The same of a message of any size: one larger than largest_packet() goes in several packets. It is told
  /// of as one, departed when the last of it has left and delivered when all of it is there; lost once for
  /// every packet that is.
  void send_message(const Packet& message, Time at) {
    WEFT_CHECK(at >= earliest_send_, "a message is sent no earlier than its caller has promised");
    accept_message(message, at);
  }

  /// Runs up to `until`, before which the caller sends nothing but answers to notices, or up to the first
  /// time T at which there is something to tell and on to before T + reaction_time(). Appends the notices up
  /// to there, in order of time; those of one time in an order that depends on the packets and not on the
  /// engine's inner workings. With nothing to tell, now() is `until` afterwards.
  void advance(Time until, std::vector<Notice>& notices) {
    until = std::max(until, now_);
    const std::size_t told = notices.size();
    run(until, notices);
    if (notices.size() == told) {
      now_ = earliest_send_ = until;
      return;
    }
    now_ = std::max(now_, notices.back().at);
    earliest_send_ = std::max(earliest_send_, std::min(until, later(notices[told].at, reaction_time_)));
  }

  /// Do its routers copy packets for many endpoints?
  virtual bool multicasts() const { return false; }
  /// The number of a set of endpoints, the same whenever it is asked for. Only where multicasts(). A packet
  /// for it departs once, and is delivered to, or lost for, each member but its source.
  virtual GroupNumber group(std::span<const EndpointId>) {
    WEFT_CHECK(false, "a packet for many is sent only where routers copy it");
    return kNoGroup;
  }

  /// Do its routers combine what endpoints contribute?
  virtual bool reduces() const { return false; }
  /// Sets room aside in the routers of a tree that joins `members`, for so many rounds under way at once;
  /// kNoReduction: a router has none left, or no tree joins them. Only where reduces(). A member sends one
  /// packet for each round, in the order of rounds, and round r only after it was delivered its packet of
  /// round r - `rounds`. That is delivered to it with what all have contributed.
  virtual ReductionNumber reserve_reduction(std::span<const EndpointId> members, unsigned rounds);
  virtual void release_reduction(ReductionNumber number);
  virtual std::vector<ReductionStep> reduction_steps(ReductionNumber number) const;

  /// Nothing is under way: only a new packet can make anything happen.
  virtual bool idle() const = 0;

  /// The largest packet it takes, in bytes. Engines that model packets as fluids have no limit.
  virtual std::uint64_t largest_packet() const { return std::numeric_limits<std::uint64_t>::max(); }

  /// A port of a router and its cable, as the two are now: as far as the engine has run, which may be less
  /// than the reaction time ahead of its caller. Engines that do not count flits leave counters at 0.
  struct PortState {
    bool up = true;
    bool counts = false;                                                // flits
    unsigned lanes = 0;                                                 // in use; 0: all there are
    std::uint32_t lane_mask = 0;                                        // which
    double rate_share = 1;                                              // of the full rate
    std::uint64_t sent = 0, received = 0, damaged = 0, sent_again = 0;  // flits
    std::uint64_t trainings = 0;
    std::array<std::uint64_t, 8> sent_of_class = {};  // flits, by traffic class, where there are several
    friend bool operator==(const PortState&, const PortState&) = default;
  };
  virtual PortState port_state(topology::PortId) const { return {}; }
  /// The routes in force, where they have changed since the machine was built.
  virtual const routing::Routing* routes_in_force() const { return nullptr; }

  /// What broke and was mended so far, in order of time.
  struct Incident {
    Time at;
    std::string what;
  };
  virtual std::vector<Incident> incidents() const;

  /// What stands in the network and waits for what, in words, for when the caller waits in vain.
  virtual std::vector<std::string> explain() const;

 protected:
  /// `at` is not before what the engine was last asked to run to, nor before the batch it told last could
  /// end.
  virtual void accept(const Packet& packet, Time at) = 0;
  /// Runs as advance() says; appends one batch: all notices of the first time T there is something to tell,
  /// and those up to `until` that are in_batch(T, ...).
  virtual void run(Time until, std::vector<Notice>& notices) = 0;
  virtual void reaction_time_changed() {}
  /// As accept(), of any size; engines whose packets have no limit need not do more.
  virtual void accept_message(const Packet& message, Time at) { accept(message, at); }

  /// Whether a notice at `at` belongs to the batch whose first notice is at `first`.
  bool in_batch(Time first, Time at) const { return at == first || at < later(first, reaction_time_); }

 private:
  Time now_{0};
  Time reaction_time_{0};
  Time earliest_send_{0};
};

/// What an engine may be told beyond the machine.
struct EngineOptions {
  std::uint64_t seed = 1;
  unsigned threads = 1;
  std::vector<link::FaultEvent> faults =
      {};  // what breaks, in order of time; only where EngineKind::links_fail
  // Other processes that run parts of the same machine; only where EngineKind::runs_on_ranks. Each sends all
  // packets and hears all notices, so callers on all of them do the same.
  Ranks* ranks = nullptr;
};

/// An engine registers itself: WEFT_REGISTER(network::EngineKind, {"flow", "...", make}).
struct EngineKind {
  std::string name, about;
  std::unique_ptr<Network> (*make)(const machine::Machine& machine, const EngineOptions& options);
  bool links_fail = false;  // it has cables whose bits are damaged and that can be cut
  bool runs_on_ranks = false;
};

}  // namespace weft::network
