// Puts and gets of any length, in pieces as long as the interface takes.
#pragma once

#include "mpi/costs.hpp"

namespace weft::mpi {

class LongOperations {
 public:
  /// `longest`: bytes the interface takes at a time.
  LongOperations(const abi::MpiModel& model, Costs& costs, std::uint64_t longest)
      : model_(model), costs_(costs), longest_(longest) {}

  /// A copy of the request's data, to be sent from.
  void keep_data(Port& port, Request& request, const Buffer& from);

  struct Remote {
    Address owner;
    std::uint64_t key, offset, operand;
  };
  /// As many pieces at a time as may be under way.
  void begin(Port& port, Request& request, nic::Operation operation, const Remote& remote,
             std::uint64_t local_key, std::uint64_t local_offset, unsigned flags);
  void next_piece(Port& port, Request& request);

 private:
  const abi::MpiModel& model_;
  Costs& costs_;
  const std::uint64_t longest_;
};

}  // namespace weft::mpi
