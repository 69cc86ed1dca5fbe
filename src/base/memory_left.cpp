#include "base/memory_left.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/diagnostics.hpp"

namespace weft {

namespace {

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

/// The number that stands alone in a file, or after a word in one of its lines.
std::uint64_t number_in(const std::string& path, const std::string& word = "") {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first;
    if (!word.empty() && (!(words >> first) || first != word)) continue;
    std::uint64_t value = 0;
    return words >> value ? value : kUnknown;  // "max" is no number: no limit
  }
  return kUnknown;
}

std::uint64_t below(std::uint64_t limit, std::uint64_t used) { return limit > used ? limit - used : 0; }

/// What a control group allows beyond what it uses; files it has read and may forget do not count as used.
std::uint64_t left_in_group(const std::string& folder, const char* most, const char* now,
                            const char* forget) {
  std::uint64_t limit = number_in(folder + "/" + most), used = number_in(folder + "/" + now);
  if (limit == kUnknown || used == kUnknown) return kUnknown;
  std::uint64_t files = number_in(folder + "/memory.stat", forget);
  return below(limit, files == kUnknown ? used : below(used, files));
}

/// Of this process's group and those above it, in either version.
std::uint64_t left_in_groups() {
  std::uint64_t least = kUnknown;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    const bool old = controllers == "memory";
    if (!old && !controllers.empty()) continue;
    for (std::string at = path;; at = at.substr(0, at.rfind('/'))) {
      if (at == "/") at.clear();
      least = std::min(
          least, old ? left_in_group("/sys/fs/cgroup/memory" + at, "memory.limit_in_bytes",
                                     "memory.usage_in_bytes", "total_inactive_file")
                     : left_in_group("/sys/fs/cgroup" + at, "memory.max", "memory.current", "inactive_file"));
      if (at.empty()) break;
    }
  }
  return least;
}

std::uint64_t left_of_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnknown;
  std::uint64_t pages = number_in("/proc/self/statm");
  auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return pages == kUnknown ? limit.rlim_cur : below(limit.rlim_cur, pages * page);
}

}  // namespace

std::uint64_t memory_left() {
  std::uint64_t available = number_in("/proc/meminfo", "MemAvailable:");
  if (available != kUnknown) available *= 1024;
  return std::min({available, left_in_groups(), left_of_limit()});
}

std::string memory_text(double bytes) {
  return bytes < 1 << 30 ? fmt::format("{:.3g} MiB", bytes / (1 << 20))
                         : fmt::format("{:.4g} GiB", bytes / (1 << 30));
}

void require_memory(double bytes, const std::string& what, const std::string& instead) {
  if (bytes <= kSurelyThere) return;
  auto left = static_cast<double>(memory_left());
  if (bytes <= left) return;
  throw UserError(fmt::format("{} takes about {} of memory, and {} are left; {}", what, memory_text(bytes),
                              memory_text(left), instead));
}

}  // namespace weft
