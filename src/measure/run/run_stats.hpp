// What programs did on a machine: who sent how much to whom, in what sizes, and where the time of it went.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "host/run.hpp"
#include "nic/fabric.hpp"

namespace weft::measure {

/// Operations of one kind, added up.
struct OperationSums {
  std::uint64_t count = 0, failed = 0, bytes = 0;
  Time longest{0}, shortest{INT64_MAX};
  TimeSum total;
  std::array<TimeSum, nic::Breakdown::kParts> parts;  // their sum is `total`
};

inline constexpr std::size_t kOperations = 10;  // by number; 0 is none
const char* operation_name(std::size_t operation);

class RunStats {
 public:
  explicit RunStats(unsigned ranks);

  void add(const nic::Record& record, std::uint32_t from_rank, std::uint32_t to_rank);

  unsigned ranks() const { return ranks_; }
  const OperationSums& operations(std::size_t operation) const { return operations_[operation]; }
  /// Larger runs keep no matrix.
  bool has_matrix() const { return !bytes_.empty(); }
  std::uint64_t bytes(std::uint32_t from, std::uint32_t to) const { return bytes_[from * ranks_ + to]; }
  std::uint64_t count(std::uint32_t from, std::uint32_t to) const { return counts_[from * ranks_ + to]; }
  /// Operations with sizes from 2^(i-1) to 2^i - 1; the first are empty.
  const std::array<std::uint64_t, 42>& sizes() const { return sizes_; }

 private:
  unsigned ranks_;
  std::array<OperationSums, kOperations> operations_;
  std::vector<std::uint64_t> bytes_, counts_;
  std::array<std::uint64_t, 42> sizes_{};
};

/// Everything a run's report is made of.
struct ProgramResult {
  std::string what = "A program";  // as a title begins
  std::string command, version, machine, engine;
  std::uint64_t seed = 1;
  host::RunResult run;
  std::vector<nic::Counters> nics;
  std::vector<network::EndpointId> nodes;
  std::vector<network::Network::Incident> incidents;  // what broke and was mended
  double wall_seconds = 0;
};

}  // namespace weft::measure
