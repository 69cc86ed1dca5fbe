#include "base/check.hpp"

#include <fmt/format.h>

namespace weft {

void fail_check(const char* expression, const std::string& detail, std::source_location where) {
  std::string file = where.file_name();
  if (auto at = file.rfind("src/"); at != std::string::npos) file.erase(0, at);
  throw Defect(fmt::format("{}:{}: expected {}{}{}", file, where.line(), expression,
                           detail.empty() ? "" : ": ", detail));
}

}  // namespace weft
