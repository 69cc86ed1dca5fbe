// The bus of a node, each direction a line that carries one transaction after the other. Whoever uses it
// first has it first: processor and devices contend for the same two lines.
#pragma once

#include <algorithm>
#include <vector>

#include "base/quantity.hpp"
#include "base/virtual_time.hpp"
#include "node/memory.hpp"

namespace weft::node {

struct BusParameters {
  DataSize payload{256};         // most of one transaction
  DataSize write_combining{0};   // most that stores of the processor are combined to; 0: as payload
  DataSize read_request{512};    // most that one request for data names
  unsigned tags = 32;            // requests for data that may be open
  unsigned overhead = 0;         // bytes of framing around each transaction
  unsigned acknowledgement = 0;  // bytes that go the other way for each
  DataRate rate{0};              // each way, after line coding
  Time write_latency{0}, read_latency{0};
};

/// Memory of a device as others on the bus see it: they read and write it there, without the processor's.
struct PeerParameters {
  DataRate rate{0};            // of the device's own link, each way; 0: as the bus
  DataSize read_request{512};  // most that one request names
  unsigned reads = 32;         // requests that the device has open at a time
  Time read_latency{0};        // of a request, to its first data
  Time write_latency{0};
};

class Bus {
 public:
  explicit Bus(const BusParameters& p)
      : payload_(p.payload.value),
        combined_(p.write_combining.value > 0 ? std::min(p.write_combining.value, p.payload.value)
                                              : p.payload.value),
        read_request_(p.read_request.value),
        overhead_(p.overhead),
        acknowledgement_(p.acknowledgement),
        rate_(p.rate.value),
        write_latency_(p.write_latency),
        read_latency_(p.read_latency) {
    read_rate_ = bounded_rate(rate_, std::int64_t{p.tags} * p.read_request.value * 8, p.read_latency);
  }

  /// The processor writes to a device; returns when the last byte is there.
  Time to_device(Time at, std::int64_t bytes) {
    std::int64_t count = std::max<std::int64_t>(1, (bytes + combined_ - 1) / combined_);
    down_free_ = later(std::max(at, down_free_), on_line(bytes + count * overhead_, rate_));
    take(up_free_, count * acknowledgement_);
    return down_free_ + write_latency_;
  }

  /// A device writes to memory.
  Time to_memory(Time at, std::int64_t bytes) {
    up_free_ = later(std::max(at, up_free_), time_of(bytes, rate_));
    take(down_free_, transactions(bytes) * acknowledgement_);
    return up_free_ + write_latency_;
  }

  /// A device reads memory: requests one way, then data in split completions the other. The line is
  /// taken when the data is requested: what others write meanwhile does not wait for the memory's answer.
  Time from_memory(Time at, std::int64_t bytes) {
    std::int64_t requests = std::max<std::int64_t>(1, (bytes + read_request_ - 1) / read_request_);
    down_free_ = later(std::max(at, down_free_), time_of(bytes, read_rate_));
    take(up_free_, requests * overhead_ + transactions(bytes) * acknowledgement_);
    return down_free_ + read_latency_;
  }

  /// Memory of a device on this bus can be reached there from now on.
  void add_peer(SpaceId space, const PeerParameters& p) {
    Peer peer{space, p.read_latency, p.write_latency, rate_of(p.rate.value), 0, {0}, {0}};
    const std::int64_t request = std::min(p.read_request.value, read_request_);
    peer.read_rate = bounded_rate(peer.rate, std::int64_t{p.reads} * request * 8, p.read_latency);
    peers_.push_back(peer);
  }

  /// The same for memory of some space: where it is that of a device on this bus, its own link is used as
  /// well, and its own limits hold instead of those of the processor's memory.
  Time to_memory(Time at, std::int64_t bytes, SpaceId space) {
    Peer* peer = is_of_device(space) ? peer_of(space) : nullptr;
    if (!peer) return to_memory(at, bytes);
    peer->in_free = later(std::max(at, peer->in_free), time_of(bytes, peer->rate));
    return std::max(to_memory(at, bytes) - write_latency_, peer->in_free) + peer->write_latency;
  }
  Time from_memory(Time at, std::int64_t bytes, SpaceId space) {
    Peer* peer = is_of_device(space) ? peer_of(space) : nullptr;
    if (!peer) return from_memory(at, bytes);
    const std::int64_t requests = std::max<std::int64_t>(1, (bytes + read_request_ - 1) / read_request_);
    down_free_ = later(std::max(at, down_free_), time_of(bytes, rate_));
    take(up_free_, requests * overhead_ + transactions(bytes) * acknowledgement_);
    peer->out_free = later(std::max(at, peer->out_free), time_of(bytes, peer->read_rate));
    return std::max(down_free_, peer->out_free) + peer->read_latency;
  }

  /// A device answers the processor, which reads one of its registers.
  Time to_processor(Time at, std::int64_t bytes) { return to_memory(at, bytes); }

  Time write_latency() const { return write_latency_; }

 private:
  struct Peer {
    SpaceId space;
    Time read_latency, write_latency;
    std::int64_t rate, read_rate;
    Time in_free, out_free;
  };

  Peer* peer_of(SpaceId space) {
    for (Peer& peer : peers_)
      if (peer.space == space) return &peer;
    return nullptr;
  }
  std::int64_t rate_of(std::int64_t rate) const { return rate > 0 ? rate : rate_; }

  /// Data that may be requested in one round trip bounds how fast it can come.
  static std::int64_t bounded_rate(std::int64_t rate, std::int64_t open_bits, Time latency) {
    const __int128 bound =
        latency.value > 0 ? static_cast<__int128>(open_bits) * 1'000'000'000'000 / latency.value : rate;
    return static_cast<std::int64_t>(std::min<__int128>(rate, std::max<__int128>(1, bound)));
  }

  std::int64_t transactions(std::int64_t bytes) const {
    return std::max<std::int64_t>(1, (bytes + payload_ - 1) / payload_);
  }

  Time time_of(std::int64_t bytes, std::int64_t rate) const {
    return on_line(bytes + transactions(bytes) * overhead_, rate);
  }

  static Time on_line(std::int64_t bytes, std::int64_t rate) {
    __int128 time = static_cast<__int128>(bytes) * 8 * 1'000'000'000'000 / rate;
    return time > kEndOfTime.value ? kPastTheEnd : Time{static_cast<std::int64_t>(time)};
  }

  /// A little traffic that nobody waits for. It fills the time a line was idle, or delays what comes next.
  void take(Time& line, std::int64_t bytes) const { line = later(line, on_line(bytes, rate_)); }

  std::int64_t payload_, combined_, read_request_, overhead_, acknowledgement_, rate_, read_rate_ = 0;
  Time write_latency_, read_latency_;
  Time down_free_{0}, up_free_{0};
  std::vector<Peer> peers_;  // few: devices of a node that have memory
};

}  // namespace weft::node
