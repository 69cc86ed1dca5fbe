// What the protocol costs the processor, and the sums a report shows.
#pragma once

#include "abi/virtual_time.hpp"
#include "mpi/messages.hpp"

namespace weft::mpi {

class Costs {
 public:
  Costs(const abi::MpiModel& model, abi::MpiSums& sums) : model_(model), sums_(sums) {}

  void counts(Protocol protocol, std::size_t bytes) {
    auto& sum = of(protocol);
    ++sum.count;
    sum.bytes += bytes;
  }
  void charge(Port& port, std::int64_t time, Protocol protocol) {
    port.work(time);
    std::int64_t& sum = of(protocol).cost;
    sum = abi::bounded(static_cast<__int128>(sum) + time);
  }
  void copied(Port& port, std::size_t bytes, Protocol protocol) {
    sums_.copied += bytes;
    charge(port, abi::bounded(static_cast<__int128>(bytes) * 8 * abi::kSecond / model_.copy_bits_per_second),
           protocol);
  }
  /// Receives or messages were compared, by the processor unless the interface matches.
  void compared(Port& port, std::uint64_t count, Protocol protocol) {
    sums_.compared += count;
    if (model_.matching == 0)
      charge(port, abi::bounded(static_cast<__int128>(count) * model_.match_cost), protocol);
  }

  abi::MpiSums& sums() { return sums_; }
  abi::ProtocolSums& of(Protocol protocol) { return sums_.protocol[static_cast<unsigned>(protocol)]; }

 private:
  const abi::MpiModel& model_;
  abi::MpiSums& sums_;
};

}  // namespace weft::mpi
