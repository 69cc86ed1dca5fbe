// The host's bus, each way a line that carries one transaction after the other.
#pragma once

#include <algorithm>

#include "base/virtual_time.hpp"
#include "machine/nic_parameters.hpp"

namespace weft::nic {

class HostBus {
 public:
  explicit HostBus(const machine::HostParameters& host)
      : payload_(host.bus_payload.value),
        combined_(host.write_combining.value > 0
                      ? std::min(host.write_combining.value, host.bus_payload.value)
                      : host.bus_payload.value),
        read_request_(host.read_request.value),
        overhead_(host.bus_overhead()),
        acknowledgement_(machine::bus_acknowledgement(host.bus)),
        rate_(host.bus_rate().value),
        write_latency_(host.write_latency),
        read_latency_(host.read_latency) {
    // Data that may be asked for in one round trip bounds how fast it can come.
    std::int64_t open = static_cast<std::int64_t>(host.tags) * host.read_request.value * 8;
    __int128 bound = host.read_latency.value > 0
                         ? static_cast<__int128>(open) * 1'000'000'000'000 / host.read_latency.value
                         : rate_;
    read_rate_ = static_cast<std::int64_t>(std::min<__int128>(rate_, std::max<__int128>(1, bound)));
  }

  /// The processor writes to the interface; returns when the last byte is there.
  Time to_interface(Time at, std::int64_t bytes) {
    std::int64_t count = std::max<std::int64_t>(1, (bytes + combined_ - 1) / combined_);
    down_free_ = later(std::max(at, down_free_), on_line(bytes + count * overhead_, rate_));
    take(up_free_, count * acknowledgement_);
    return down_free_ + write_latency_;
  }

  /// The interface writes to memory.
  Time to_memory(Time at, std::int64_t bytes) {
    up_free_ = later(std::max(at, up_free_), time_of(bytes, rate_));
    take(down_free_, transactions(bytes) * acknowledgement_);
    return up_free_ + write_latency_;
  }

  /// The interface reads memory: requests one way, then data in split completions the other. The line is
  /// taken when the data is asked for: what others write meanwhile does not wait for the memory's answer.
  Time from_memory(Time at, std::int64_t bytes) {
    std::int64_t requests = std::max<std::int64_t>(1, (bytes + read_request_ - 1) / read_request_);
    down_free_ = later(std::max(at, down_free_), time_of(bytes, read_rate_));
    take(up_free_, requests * overhead_ + transactions(bytes) * acknowledgement_);
    return down_free_ + read_latency_;
  }

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

}  // namespace weft::nic
