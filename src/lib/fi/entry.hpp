// A call into the provider: threads take turns, and the time the program computed before is charged. An MPI
// library's own work is not the program's: the description says what it costs. Where computing is measured,
// it is measured between the calls of MPI, not between the library's calls to the provider.
#pragma once

#include "lib/fi/objects.hpp"

namespace weft::fi {

class Entry {
 public:
  Entry(Domain& domain, abi::Thread& thread) : domain_(domain), charges_(!within_mpi()) {
    if (charges_) lib::enter(thread);
    domain.lock.take(thread);
  }
  ~Entry() {
    domain_.lock.give();
    if (charges_) lib::leave();
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

 private:
  static bool within_mpi() {
    const abi::Header& header = *lib::segment();
    abi::MpiPhase phase = header.phase.load(std::memory_order_relaxed);
    return header.costs.compute != 0 && phase != abi::MpiPhase::None && phase != abi::MpiPhase::Ended;
  }

  Domain& domain_;
  bool charges_;
};

}  // namespace weft::fi
