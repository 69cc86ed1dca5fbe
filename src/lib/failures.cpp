#include "lib/failures.hpp"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "abi/mpi_calls.hpp"
#include "lib/rank_thread.hpp"

namespace weft::lib {

std::atomic<bool> failed_untold{false};

namespace {

char text[256];
std::atomic_flag written;

}  // namespace

void operation_failed(const char* what, ...) {
  if (segment()->phase.load() != abi::MpiPhase::Running || written.test_and_set()) return;
  va_list arguments;
  va_start(arguments, what);
  vsnprintf(text, sizeof text, what, arguments);
  va_end(arguments);
  failed_untold.store(true);
}

void end_if_untold(std::uint16_t call, int result) {
  if (!failed_untold.exchange(false)) return;
  if (result != 0) {
    written.clear();
    return;
  }
  fflush(stdout);
  fprintf(stderr,
          "weft: rank %u: %s: the interface could not carry out %s; the MPI library has not told of it\n",
          segment()->rank, abi::call_facts(call).name, text);
  fflush(stderr);
  _exit(1);
}

}  // namespace weft::lib
