#include "lib/mpi_collectives.hpp"

namespace weft::lib {

CollectiveService collective_service;

namespace {

/// A handle that an argument points to.
Word handle_at(Word address) {
  if (!address) return 0;
  return is_mpich() ? mpi_handle(*reinterpret_cast<const std::int32_t*>(address))
                    : *reinterpret_cast<const Word*>(address);
}

}  // namespace

bool run_collective(abi::MpiCall call, const Word* arguments, Word& result) {
  if (call == abi::MpiCall::Start || call == abi::MpiCall::Startall) {
    const Word size = is_mpich() ? sizeof(std::int32_t) : sizeof(Word);
    const int count = call == abi::MpiCall::Start ? 1 : static_cast<int>(arguments[0]);
    const Word first = call == abi::MpiCall::Start ? arguments[0] : arguments[1];
    for (int i = 0; i < count && first; ++i) collective_service.started(handle_at(first + i * size));
    return false;
  }
  if (call == abi::MpiCall::Waitall) return collective_service.wait_all(arguments, result);
  if (call == abi::MpiCall::Request_free) {
    collective_service.released(handle_at(arguments[0]));
    return false;
  }
  if (call == abi::MpiCall::Comm_free || call == abi::MpiCall::Comm_disconnect) {
    if (Word handle = handle_at(arguments[0]); collective_service.freed && !mpi_null(handle))
      collective_service.freed(handle);
    return false;
  }
  return collective_service.call(call, arguments, result);
}

void after_call(abi::MpiCall call, const Word* arguments, Word result) {
  const int place = made_communicator(call);
  if (static_cast<int>(result) != 0) return;
  if (const int request = prepared_request(call); request >= 0)
    collective_service.prepared(call, handle_at(arguments[request]));
  if (place < 0) return;
  Word handle = handle_at(arguments[place]);
  if (handle && !mpi_null(handle)) collective_service.made(handle);
}

}  // namespace weft::lib
