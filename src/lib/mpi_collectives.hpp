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
  /// All members have just prepared a persistent collective, and all come here. A request is started; false:
  /// that is the library's. It is given back.
  void (*prepared)(abi::MpiCall call, const Word* arguments, Word request) = nullptr;
  bool (*started)(Word request) = nullptr;
  void (*released)(Word request) = nullptr;
  /// The request that stands for a persistent one while that is under way, or 0; it has ended.
  Word (*stands_for)(Word request) = nullptr;
  void (*ended)(Word request) = nullptr;
  /// MPI_Waitall; false: it is the library's.
  bool (*wait_all)(const Word* arguments, Word& result) = nullptr;
};

extern CollectiveService collective_service;

/// Whether units of interfaces have a type and an operation of MPI; null: no provider was loaded.
extern bool (*interfaces_combine)(Word datatype, Word operation);

/// Of the collective that the calling thread is in: how many it has called, as far as a recording names them
/// (abi::is_named). 0: it is in none, or nobody keeps a log.
std::uint32_t collective_number();

/// Which argument is the request of a persistent collective; -1: it is none.
constexpr int prepared_request(abi::MpiCall call) {
  switch (call) {
    case abi::MpiCall::Barrier_init:
      return 2;
    case abi::MpiCall::Bcast_init:
      return 6;
    case abi::MpiCall::Allreduce_init:
      return 7;
    case abi::MpiCall::Reduce_init:
      return 8;
    case abi::MpiCall::Gather_init:
      return 9;
    default:
      return -1;
  }
}

/// Does a call wait for requests, or look whether they have ended?
constexpr bool finishes(abi::MpiCall call) {
  return call >= abi::MpiCall::Wait && call <= abi::MpiCall::Testsome;
}

/// Which argument is the communicator that a call makes; -1: it makes none, or makes it later, as
/// MPI_Comm_idup does.
constexpr int made_communicator(abi::MpiCall call) {
  switch (call) {
    case abi::MpiCall::Comm_dup:
      return 1;
    case abi::MpiCall::Comm_create:
    case abi::MpiCall::Intercomm_merge:
    case abi::MpiCall::Cart_sub:
    case abi::MpiCall::Comm_dup_with_info:
      return 2;
    case abi::MpiCall::Comm_split:
    case abi::MpiCall::Comm_create_group:
      return 3;
    case abi::MpiCall::Comm_split_type:
    case abi::MpiCall::Comm_create_from_group:
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

/// Collectives that go on after their call, until a wait or a test ends their request.
constexpr bool goes_on(abi::MpiCall call) {
  return (call >= abi::MpiCall::Ibarrier && call <= abi::MpiCall::Iallreduce) ||
         call == abi::MpiCall::Comm_idup || call == abi::MpiCall::Comm_idup_with_info;
}
constexpr bool concerns_open_ones(abi::MpiCall call) {
  return goes_on(call) || finishes(call) || prepared_request(call) >= 0 || call == abi::MpiCall::Request_free;
}
/// Around such a call and those that may end one.
void before_open_ones(abi::MpiCall call, const Word* arguments);
void after_open_ones(abi::MpiCall call, const Word* arguments);
/// Some may go on now. Persistent ones may from when they are prepared.
bool collectives_open();

/// Before and after the library's part of a call.
bool run_collective(abi::MpiCall call, const Word* arguments, Word& result);
void after_call(abi::MpiCall call, const Word* arguments, Word result);

}  // namespace weft::lib
