// What an endpoint's user is told: entries of completion queues, and counters.
#pragma once

#include "lib/fi/objects.hpp"
#include "mpi/transport.hpp"

namespace weft::fi {

class Outcomes {
 public:
  explicit Outcomes(Endpoint& endpoint) : endpoint_(endpoint) {}

  void entry(std::int64_t now, Cq* cq, Completion c);
  /// A message that was sent without a request.
  void sent(std::int64_t now, const mpi::Outgoing& out);
  void ended(std::int64_t now, const mpi::Request& request);
  /// `source`: whom it came from, in the address vector. `last`: its buffer takes no more.
  void received(std::int64_t now, const mpi::Incoming& in, std::uint64_t source, std::size_t stored,
                int error, bool last);
  void cancelled(const mpi::Receive& receive);
  /// Another's operation on memory here, where the user wants to hear of such (FI_RMA_EVENT): counted where
  /// there is a counter for it, otherwise an entry of the queue of receives.
  void operation_here(std::int64_t now, bool read, bool atomic, std::size_t length);
  /// The value that such an operation brought.
  void data_here(std::int64_t now, const mpi::RemoteDataHead& head);

 private:
  Endpoint& endpoint_;
};

}  // namespace weft::fi
