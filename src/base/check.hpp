// Invariants that stay on in release builds: a broken one is a defect in Weft, never a user's mistake.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

namespace weft {

/// A broken invariant. The command exits with code 3 and asks for a report.
class Defect : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* expression, const std::string& detail,
                             std::source_location where = std::source_location::current());

}  // namespace weft

#define WEFT_CHECK(condition, ...)                                            \
  do {                                                                        \
    if (!(condition)) [[unlikely]]                                            \
      ::weft::fail_check(#condition, ::std::string{__VA_OPT__(__VA_ARGS__)}); \
  } while (false)
