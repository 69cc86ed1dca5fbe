// Independent pieces of work on the cores there are. Results must not depend on which thread did what.
#pragma once

#include <cstdint>
#include <functional>

namespace weft {

/// Threads used where a command does not say: the cores of this machine.
unsigned default_threads();

/// Calls work(thread, index) for every index in [0, count); exceptions are passed on to the caller.
void parallel_for(std::uint64_t count, unsigned threads,
                  const std::function<void(unsigned, std::uint64_t)>& work);

}  // namespace weft
