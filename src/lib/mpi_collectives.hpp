// Collective calls of MPI that the interface may run. Who runs them is loaded with the provider
// (lib/offload); until then, and where a run has them by software, all of them are the library's.
#pragma once

#include "abi/mpi_calls.hpp"
#include "lib/mpi_library.hpp"

namespace weft::lib {

struct CollectiveService {
  /// Carries out a call; false: it is the library's, with the arguments as they are.
  bool (*call)(abi::MpiCall call, const Word* arguments, Word& result) = nullptr;
  /// All members have just made this communicator, and all come here.
  void (*made)(Word communicator) = nullptr;
  /// All members are about to free it.
  void (*freed)(Word communicator) = nullptr;
};

extern CollectiveService collective_service;

/// Which argument is the communicator that a call makes; -1: it makes none.
constexpr int made_communicator(abi::MpiCall call) {
  switch (call) {
    case abi::MpiCall::Comm_dup:
      return 1;
    case abi::MpiCall::Comm_create:
    case abi::MpiCall::Intercomm_merge:
      return 2;
    case abi::MpiCall::Comm_split:
      return 3;
    case abi::MpiCall::Comm_split_type:
      return 4;
    case abi::MpiCall::Cart_create:
    case abi::MpiCall::Graph_create:
      return 5;
    case abi::MpiCall::Dist_graph_create:
      return 8;
    case abi::MpiCall::Dist_graph_create_adjacent:
      return 9;
    default:
      return -1;
  }
}

/// Before and after the library's part of a call.
bool run_collective(abi::MpiCall call, const Word* arguments, Word& result);
void after_call(abi::MpiCall call, const Word* arguments, Word result);

}  // namespace weft::lib
