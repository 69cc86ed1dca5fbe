// A trace that opens in Perfetto (ui.perfetto.dev) and in Chrome: operations with their parts, and ranks that
// wait.
#pragma once

#include <string>

#include "base/output_file.hpp"
#include "nic/fabric.hpp"

namespace weft::report {

class Trace {
 public:
  /// This, and everything below, throws UserError where the file cannot be written.
  explicit Trace(const std::string& path);

  void rank(std::uint32_t rank, std::uint32_t node);
  void operation(const nic::Record& record, std::uint32_t from_rank, std::uint32_t to_rank);
  /// A Linux node by its name; frames at it, when it sent or received them.
  void node(std::uint32_t number, const std::string& name);
  void frame(std::uint32_t number, bool sent, Time at, const std::string& what);
  void wait(std::uint32_t rank, std::uint32_t lane, Time from, Time until, const char* what);
  /// The end of the file: everything is written once it has returned.
  void finish();
  /// Operations left out because the file would have grown too large to open.
  std::uint64_t left_out() const { return left_out_; }

 private:
  void put(const std::string& event);
  OutputFile file_;
  std::uint64_t events_ = 0, left_out_ = 0, next_ = 1;
};

}  // namespace weft::report
