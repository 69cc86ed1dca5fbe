// A user's errors: collected, so that one run reports all of them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft {

/// Where a value was written: a file's line and column, or a command-line argument (line 0).
struct Origin {
  std::string source;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string text() const;  // "file:line:column"
};

struct Diagnostic {
  Origin origin;
  std::string key;      // dotted path, empty where there is none
  std::string message;  // what is wrong, what was expected
  std::string text() const;
};

/// Thrown once, with every error found; the command prints them and exits with code 2.
class UserError : public std::runtime_error {
 public:
  explicit UserError(std::vector<Diagnostic> all);
  explicit UserError(std::string message);
  const std::vector<Diagnostic>& diagnostics() const { return all_; }

 private:
  std::vector<Diagnostic> all_;
};

class Diagnostics {
 public:
  void add(Origin origin, std::string key, std::string message);
  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }
  const std::vector<Diagnostic>& all() const { return all_; }
  void throw_if_any() const;

 private:
  std::vector<Diagnostic> all_;
};

}  // namespace weft
