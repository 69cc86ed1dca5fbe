#include "base/check.hpp"

#include <fmt/format.h>

namespace weft {

void fail_check(const char* expression, const std::string& detail, const char* in_file, unsigned line) {
  std::string file = in_file;
  if (auto at = file.rfind("src/"); at != std::string::npos) file.erase(0, at);
  throw Defect(
      fmt::format("{}:{}: expected {}{}{}", file, line, expression, detail.empty() ? "" : ": ", detail));
}

}  // namespace weft
