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
  if (call == abi::MpiCall::Comm_free) {
    if (Word handle = handle_at(arguments[0]); collective_service.freed && !mpi_null(handle))
      collective_service.freed(handle);
    return false;
  }
  return collective_service.call(call, arguments, result);
}

void after_call(abi::MpiCall call, const Word* arguments, Word result) {
  const int place = made_communicator(call);
  if (place < 0 || static_cast<int>(result) != 0) return;
  Word handle = handle_at(arguments[place]);
  if (handle && !mpi_null(handle)) collective_service.made(handle);
}

}  // namespace weft::lib
