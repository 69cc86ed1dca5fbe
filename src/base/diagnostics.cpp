#include "base/diagnostics.hpp"

#include <fmt/format.h>

namespace weft {

std::string Origin::text() const { return line ? fmt::format("{}:{}:{}", source, line, column) : source; }

std::string Diagnostic::text() const {
  std::string out = origin.text();
  if (!out.empty()) out += ": ";
  if (!key.empty()) out += key + ": ";
  return out + message;
}

namespace {
std::string lines_of(const std::vector<Diagnostic>& all) {
  std::string out;
  for (const Diagnostic& one : all) out += (out.empty() ? "" : "\n") + one.text();
  return out;
}
}  // namespace

UserError::UserError(std::vector<Diagnostic> all) : std::runtime_error(lines_of(all)), all_(std::move(all)) {}
UserError::UserError(std::string message) : UserError(std::vector{Diagnostic{{}, "", std::move(message)}}) {}

void Diagnostics::add(Origin origin, std::string key, std::string message) {
  constexpr std::size_t kMost = 1000;  // nobody reads more, and a hostile file has millions
  if (all_.size() > kMost) return;
  if (all_.size() == kMost) key.clear(), message = "more errors from here on are not told";
  all_.push_back({std::move(origin), std::move(key), std::move(message)});
}

void Diagnostics::throw_if_any() const {
  if (!all_.empty()) throw UserError(all_);
}

}  // namespace weft
