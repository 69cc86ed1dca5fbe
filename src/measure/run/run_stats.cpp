#include "measure/run/run_stats.hpp"

#include <algorithm>
#include <bit>

namespace weft::measure {

const char* operation_name(std::size_t operation) {
  static constexpr const char* names[kOperations] = {
      "none",      "message",      "put",         "get",          "immediate put",
      "fetch add", "compare swap", "bounded add", "arm sequence", "control packet"};
  return operation < kOperations ? names[operation] : "unknown";
}

RunStats::RunStats(unsigned ranks) : ranks_(ranks) {
  constexpr unsigned kMostRanks = 2048;
  if (ranks > kMostRanks) return;
  bytes_.resize(std::size_t{ranks} * ranks);
  counts_.resize(bytes_.size());
}

void RunStats::add(const nic::Record& r, std::uint32_t from, std::uint32_t to) {
  auto operation = static_cast<std::size_t>(r.operation);
  OperationSums& sums = operations_[operation < kOperations ? operation : 0];
  if (r.status != nic::Status::Ok) {
    ++sums.failed;
    return;
  }
  ++sums.count;
  sums.bytes += r.length;
  Time took = r.end - r.begin;
  sums.total += took;
  sums.longest = std::max(sums.longest, took);
  sums.shortest = std::min(sums.shortest, took);
  for (std::size_t i = 0; i < sums.parts.size(); ++i) sums.parts[i] += r.parts.part[i];
  ++sizes_[static_cast<std::size_t>(std::min(41, static_cast<int>(std::bit_width(r.length))))];
  if (r.operation == nic::Operation::Get) std::swap(from, to);  // the data comes from there
  if (!has_matrix() || from >= ranks_ || to >= ranks_) return;
  bytes_[std::size_t{from} * ranks_ + to] += r.length;
  ++counts_[std::size_t{from} * ranks_ + to];
}

}  // namespace weft::measure
