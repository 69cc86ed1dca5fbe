#include "measure/run/collective_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/diagnostics.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"

namespace weft::measure {

namespace {

bool number(const std::string& text, std::int64_t least, std::int64_t most, std::int64_t& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out >= least && out <= most;
}

}  // namespace

void parse_collective_table(const std::string& text, const std::string& path, abi::CollectiveModel& model) {
  constexpr unsigned kClasses = abi::CollectiveModel::kRankClasses;
  Diagnostics problems;
  bool given[abi::kOffloaded][kClasses] = {};
  for (auto& row : model.most) std::fill(std::begin(row), std::end(row), 0u);
  unsigned line = 0;
  const std::vector<std::string> names(std::begin(kCollectiveNames), std::end(kCollectiveNames));
  for (const std::string& row : split(text, '\n')) {
    ++line;
    if (row.empty() || row.front() == '#' || row == kCollectiveTableHead) continue;
    const Origin at{path, line, 0};
    std::vector<std::string> cells = split(row, ',');
    if (cells.size() != 3) {
      problems.add(at, row, fmt::format("expected {}", kCollectiveTableHead));
      continue;
    }
    const auto what =
        static_cast<std::size_t>(std::find(names.begin(), names.end(), cells[0]) - names.begin());
    std::int64_t members = 0, bytes = 0;
    if (what == names.size())
      problems.add(at, cells[0],
                   fmt::format("no such collective{}; there are {}", did_you_mean(cells[0], names),
                               join(names, ", ")));
    if (!number(cells[1], 2, 1 << 24, members))
      problems.add(at, cells[1], "expected a number of members from 2 on");
    if (!number(cells[2], -1, 1 << 24, bytes))
      problems.add(at, cells[2], "expected bytes up to 16 MiB, or -1 where nothing is offloaded");
    if (!problems.empty()) continue;
    const unsigned ranks =
        std::min<unsigned>(std::bit_width(static_cast<unsigned>(members) - 1u), kClasses - 1);
    model.most[what][ranks] = static_cast<std::uint32_t>(bytes + 1);
    given[what][ranks] = true;
  }
  problems.throw_if_any();
  // Between and beyond what was measured: as the next smaller number of members.
  for (unsigned i = 0; i < abi::kOffloaded; ++i)
    for (unsigned j = 1; j < kClasses; ++j)
      if (!given[i][j]) model.most[i][j] = model.most[i][j - 1];
}

void read_collective_table(const std::string& path, abi::CollectiveModel& model) {
  parse_collective_table(read_file(path, kMostListBytes), path, model);
}

std::string collective_table_line(abi::Offloaded what, unsigned members, std::int64_t bytes) {
  return fmt::format("{},{},{}\n", kCollectiveNames[static_cast<unsigned>(what)], members, bytes);
}

std::vector<std::string> collectives_in_words(const abi::CollectiveSums& sums) {
  std::vector<std::string> out, parts;
  for (unsigned i = 0; i < abi::kOffloaded; ++i)
    if (sums.offloaded[i]) parts.push_back(fmt::format("{} {}", sums.offloaded[i], kCollectiveNames[i]));
  out.push_back(fmt::format("collectives run by the interfaces, calls of all ranks: {}",
                            parts.empty() ? "none" : join(parts, ", ")));
  parts.clear();
  for (unsigned i = 0; i < abi::kOffloaded; ++i)
    if (sums.in_routers[i]) parts.push_back(fmt::format("{} {}", sums.in_routers[i], kCollectiveNames[i]));
  if (!parts.empty()) out.push_back("of these combined by the routers: " + join(parts, ", "));
  parts.clear();
  for (unsigned i = 0; i < abi::kNotInRouters; ++i)
    if (sums.not_in_routers[i])
      parts.push_back(fmt::format("{} ({})", sums.not_in_routers[i], kNotInRoutersReasons[i]));
  if (!parts.empty())
    out.push_back("barriers and all-reduces not combined by the routers: " + join(parts, ", "));
  parts.clear();
  for (unsigned i = 0; i < abi::kOffloaded; ++i)
    for (unsigned j = 0; j < abi::kFallbacks; ++j)
      if (sums.fallen_back[i][j])
        parts.push_back(
            fmt::format("{} {} ({})", sums.fallen_back[i][j], kCollectiveNames[i], kFallbackReasons[j]));
  if (sums.other) parts.push_back(fmt::format("{} that interfaces do not run", sums.other));
  if (!parts.empty()) out.push_back("left to the library: " + join(parts, ", "));
  return out;
}

}  // namespace weft::measure
