#include "workload/skeleton.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace weft::workload {

SkeletonKind::~SkeletonKind() = default;

std::vector<Rank> everyone(Rank ranks) {
  std::vector<Rank> out(ranks);
  std::iota(out.begin(), out.end(), 0u);
  return out;
}

std::vector<std::uint32_t> even_grid(Rank ranks, unsigned dimensions) {
  std::vector<std::uint32_t> factors, out(dimensions, 1);
  for (std::uint32_t left = ranks, f = 2; left > 1; ++f)
    for (f = f * f > left ? left : f; left % f == 0; left /= f) factors.push_back(f);
  for (auto f = factors.rbegin(); f != factors.rend(); ++f) *std::min_element(out.begin(), out.end()) *= *f;
  std::sort(out.rbegin(), out.rend());
  return out;
}

RankGrid::RankGrid(std::vector<std::uint32_t> lengths, Rank ranks, unsigned dimensions)
    : length_(lengths.empty() ? even_grid(ranks, dimensions) : std::move(lengths)) {
  std::uint64_t product = 1;
  for (std::uint32_t length : length_) {
    stride_.push_back(static_cast<Rank>(product));
    product *= length;
    if (product > ranks) break;
  }
  if (length_.size() != dimensions || product != ranks)
    throw UserError(fmt::format("grid: expected {} whose product is the number of ranks, {}",
                                count_of(dimensions, "length"), ranks));
}

Rank RankGrid::neighbour(Rank r, unsigned d, bool plus) const {
  std::uint32_t at = coordinate(r, d), length = length_[d];
  std::uint32_t to = plus ? (at + 1) % length : (at + length - 1) % length;
  return r + (to - at) * stride_[d];  // unsigned: wraps round where `to` is lower
}

Program make_skeleton(const std::string& name, const std::vector<std::string>& settings,
                      const SkeletonContext& context) {
  const SkeletonKind* kind = Skeletons::find(name);
  if (!kind)
    throw UserError(fmt::format("there is no workload '{}'{}; there are {}", name,
                                did_you_mean(name, Skeletons::names()), join(Skeletons::names(), ", ")));
  Diagnostics problems;
  std::vector<config::Setting> effective;
  config::Reader reader{problems, effective};
  config::Node all;
  all.value = config::Table{};
  for (const std::string& setting : settings) {
    Origin origin{"--workload-set " + setting};
    if (std::size_t equals = setting.find('='); equals == 0 || equals == std::string::npos) {
      problems.add(origin, "", "expected key=value");
      continue;
    }
    config::Node tree = config::parse_override("workload." + setting, problems);
    config::Node* table = tree.table()->find("workload");
    if (!table) continue;
    for (auto& [key, node] : table->table()->entries) node.origin = origin;
    config::merge(*all.table(), *table->table());
  }
  auto parameters = kind->section.make();
  kind->section.read(parameters.get(), &all, "workload", reader);
  problems.throw_if_any();
  return kind->make(parameters.get(), context);
}

}  // namespace weft::workload

WEFT_REGISTRY(weft::workload::SkeletonKind);
