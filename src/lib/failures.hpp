// Operations of the interface that failed under an MPI library.
//
// The library is told as libfabric tells it, and tells the program by the result of a call. Some failures it
// only writes into a log: then the program would go on with wrong data, so its run ends here.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::lib {

/// The first one is kept, in words: "a put of 8 bytes from 0x1000 to rank 3: no such key".
__attribute__((format(printf, 1, 2))) void operation_failed(const char* what, ...);

extern std::atomic<bool> failed_untold;
inline bool failure_noticed() { return failed_untold.load(std::memory_order_relaxed); }

/// To be called where a call of MPI (abi::MpiCall) has come back. Ends the process with exit code 1 where it
/// says that all went well.
void end_if_untold(std::uint16_t call, int result);

}  // namespace weft::lib
