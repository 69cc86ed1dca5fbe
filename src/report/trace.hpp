// A trace that opens in Perfetto (ui.perfetto.dev) and in Chrome: operations with their parts, arrows from
// sender to receiver, ranks that wait, their calls to MPI, and what links carried.
#pragma once

#include <string>
#include <vector>

#include "abi/mpi_calls.hpp"
#include "base/output_file.hpp"
#include "nic/fabric.hpp"

namespace weft::report {

class Trace {
 public:
  static constexpr std::uint64_t kUsualSize = std::uint64_t{1} << 30;
  /// This, and everything below, throws UserError where the file cannot be written. `most`: bytes of the
  /// file; viewers do not open any size. Operations and waits leave a third of it to calls, which come last.
  explicit Trace(const std::string& path, std::uint64_t most = kUsualSize);

  void rank(std::uint32_t rank, std::uint32_t node);
  void operation(const nic::Record& record, std::uint32_t from_rank, std::uint32_t to_rank);
  /// A Linux node by its name; frames at it, when it sent or received them.
  void node(std::uint32_t number, const std::string& name);
  void frame(std::uint32_t number, bool sent, Time at, const std::string& what);
  void wait(std::uint32_t rank, std::uint32_t lane, Time from, Time until, const char* what);
  /// A rank's calls, in the order of their ends. Of calls that only look, one after the other, a slice says
  /// how many there were.
  void calls(std::uint32_t rank, const std::vector<abi::CallRecord>& calls);
  /// What a link carried from a time on: a share of what it can.
  void link(const std::string& name, Time at, double share);
  /// The end of the file: everything is written once it has returned.
  void finish();
  /// What is left out because the file would have grown too large.
  std::uint64_t left_out() const { return left_out_; }

 private:
  void put(const std::string& event);
  bool has_room(double share);
  OutputFile file_;
  std::uint64_t most_, bytes_ = 0, left_out_ = 0, next_ = 1;
};

}  // namespace weft::report
