// The bus of a node, each direction a line that carries one transaction after the other. Whoever uses it
// first has it first: processor and devices contend for the same two lines.
#pragma once

#include <algorithm>

#include "base/quantity.hpp"
#include "base/virtual_time.hpp"

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
    // Data that may be requested in one round trip bounds how fast it can come.
    std::int64_t open = static_cast<std::int64_t>(p.tags) * p.read_request.value * 8;
    __int128 bound = p.read_latency.value > 0
                         ? static_cast<__int128>(open) * 1'000'000'000'000 / p.read_latency.value
                         : rate_;
    read_rate_ = static_cast<std::int64_t>(std::min<__int128>(rate_, std::max<__int128>(1, bound)));
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

  /// A device answers the processor, which reads one of its registers.
  Time to_processor(Time at, std::int64_t bytes) { return to_memory(at, bytes); }

  Time write_latency() const { return write_latency_; }

 private:
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
};

}  // namespace weft::node
