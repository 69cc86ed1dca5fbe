#include "app/standard_streams.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/diagnostics.hpp"
#include "base/output_file.hpp"

namespace weft::app {

namespace {

int output_error = 0;  // the first

ssize_t write_result(void*, const char* text, std::size_t bytes) {
  int error = write_all(STDOUT_FILENO, {text, bytes});
  if (error && !output_error) output_error = error;
  return error ? 0 : static_cast<ssize_t>(bytes);
}

/// Nobody can be told that nobody can be told.
ssize_t write_remark(void*, const char* text, std::size_t bytes) {
  write_all(STDERR_FILENO, {text, bytes});
  return static_cast<ssize_t>(bytes);
}

FILE* stream(cookie_write_function_t* write, int how) {
  FILE* out = fopencookie(nullptr, "w", {nullptr, write, nullptr, nullptr});
  if (out) setvbuf(out, nullptr, how, BUFSIZ);
  return out;
}

}  // namespace

void prepare_standard_streams() {
  // What a closed descriptor is replaced by fails as the closed one would; only remarks may be lost.
  for (auto [number, how] :
       {std::pair{STDIN_FILENO, O_WRONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_WRONLY}})
    if (fcntl(number, F_GETFD) < 0 && errno == EBADF) [[unlikely]]
      while (true) {
        int opened = open("/dev/null", how);
        if (opened < 0 || opened >= number) break;
      }
  // A pipe whose reader is gone gives an error with a reason, not a sudden end in the middle of a run.
  // Programs that are started get the signal as ever: what is caught here, unlike what is ignored, is not
  // theirs.
  struct sigaction action {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  sigaction(SIGPIPE, &action, nullptr);
  if (FILE* out = stream(write_result, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF)) stdout = out;
  if (FILE* error = stream(write_remark, _IONBF)) stderr = error;
}

void finish_standard_output() {
  if (std::fflush(stdout) != 0 && !output_error) output_error = errno;
  if (!output_error && close(STDOUT_FILENO) != 0) output_error = errno;
  if (output_error)
    throw UserError(fmt::format("standard output: cannot be written: {}", std::strerror(output_error)));
}

const char* standard_output_error() { return output_error ? std::strerror(output_error) : ""; }

}  // namespace weft::app
