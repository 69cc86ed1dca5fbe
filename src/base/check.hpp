// Invariants that stay on in release builds: a broken one is a defect in Weft, never a user's error.
#pragma once

#include <stdexcept>
#include <string>

namespace weft {

/// A broken invariant. The command exits with code 3 and asks for a report.
class Defect : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Not std::source_location, which clang 14 does not have: fuzz targets are built with it.
[[noreturn]] void fail_check(const char* expression, const std::string& detail,
                             const char* in_file = __builtin_FILE(), unsigned line = __builtin_LINE());

}  // namespace weft

#define WEFT_CHECK(condition, ...)                                            \
  do {                                                                        \
    if (!(condition)) [[unlikely]]                                            \
      ::weft::fail_check(#condition, ::std::string{__VA_OPT__(__VA_ARGS__)}); \
  } while (false)
