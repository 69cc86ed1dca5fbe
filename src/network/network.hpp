// What every engine does for those above it: it takes packets with a time and hands them over with a time.
// A NIC, a skeleton or a trace does not know which engine is below.
//
// The caller owns the clock. It sends what it has to send, then lets the network run up to some time; the
// network stops as soon as it has something to tell, because what it tells may make the caller send again.
//
//   while (caller has anything to do or to wait for)
//     network.advance(time of the caller's next event, notices);
//     handle notices, all of the same time; send(...) at or after that time
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/registry.hpp"
#include "machine/machine.hpp"
#include "network/link/fault_script.hpp"
#include "network/packet.hpp"

namespace weft::network {

inline constexpr Time kForever{std::numeric_limits<std::int64_t>::max()};

struct Packet {
  EndpointId source = 0, destination = 0;
  std::uint64_t bytes = 0;  // on the wire, headers included
  std::uint8_t message_class = 0;
  Tag tag = 0;
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
};

/// Nothing will ever move again while packets wait: a deadlock, with who waits for whom.
class Stalled : public std::runtime_error {
 public:
  explicit Stalled(std::vector<std::string> who_waits)
      : std::runtime_error("nothing moves in the network, and packets wait"), who(std::move(who_waits)) {}
  std::vector<std::string> who;
};

class Network {
 public:
  virtual ~Network() = default;

  /// How far the network has run.
  virtual Time now() const = 0;

  /// Hands a packet over at `at`, not before now(). Packets of one source go in the order of their times and,
  /// at one time, of the calls; one that finds its source busy waits there.
  virtual void send(const Packet& packet, Time at) = 0;

  /// Runs up to `until`, or up to the first time at which there is something to tell. Appends the notices of
  /// that one time, in an order that depends on the packets and not on the engine's inner workings.
  /// With nothing to tell, now() is `until` afterwards.
  virtual void advance(Time until, std::vector<Notice>& notices) = 0;

  /// Nothing is under way: only a new packet can make anything happen.
  virtual bool idle() const = 0;

  /// The largest packet it takes, in bytes. Engines that model packets as fluids have no limit.
  virtual std::uint64_t largest_packet() const { return std::numeric_limits<std::uint64_t>::max(); }

  /// What broke and was mended so far, in order of time.
  struct Incident {
    Time at;
    std::string what;
  };
  virtual std::vector<Incident> incidents() const { return {}; }

  /// What stands in the network and waits for what, in words, for when the caller waits in vain.
  virtual std::vector<std::string> explain() const { return {}; }
};

/// What an engine may be told beyond the machine.
struct EngineOptions {
  std::uint64_t seed = 1;
  unsigned threads = 1;
  std::vector<link::FaultEvent> faults =
      {};  // what breaks, in order of time; only where EngineKind::links_fail
};

/// An engine registers itself: WEFT_REGISTER(network::EngineKind, {"flow", "...", make}).
struct EngineKind {
  std::string name, about;
  std::unique_ptr<Network> (*make)(const machine::Machine& machine, const EngineOptions& options);
  bool links_fail = false;  // it has cables whose bits are damaged and that can be cut
};

}  // namespace weft::network
