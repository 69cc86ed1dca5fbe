#include "app/run_disturbance.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <optional>

#include "base/diagnostics.hpp"
#include "base/text.hpp"

namespace weft::app {

namespace {

std::optional<unsigned> whole(std::string_view text) {
  unsigned value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "rank=3:1.5" or "rank=0-7:1.5".
void read_slow(const std::string& text, host::RunOptions& run, Diagnostics& problems) {
  auto wrong = [&](const std::string& what) {
    problems.add({}, "--slow", fmt::format("{}: {}", text, what));
  };
  std::vector<std::string> parts = split(text, ':');
  if (parts.size() != 2 || !parts[0].starts_with("rank="))
    return wrong("expected rank=3:1.5, or rank=0-7:1.5 for several");
  std::vector<std::string> range = split(parts[0].substr(5), '-');
  std::optional<unsigned> first = whole(range.front()), last = whole(range.back());
  if (range.size() > 2 || !first || !last || *first > *last)
    return wrong("expected a rank, or a range such as 0-7");
  if (*last >= run.ranks) return wrong(fmt::format("there are ranks 0 to {}", run.ranks - 1));
  char* end = nullptr;
  double factor = std::strtod(parts[1].c_str(), &end);
  if (parts[1].empty() || *end != '\0' || !(factor >= 0.01 && factor <= 1000))
    return wrong("expected how many times as long its work takes, 0.01 to 1000");
  run.slow.resize(run.ranks, 1);
  for (unsigned rank = *first; rank <= *last; ++rank)
    if ((run.slow[rank] *= factor) > 1e6 || run.slow[rank] < 1e-6)
      return wrong(fmt::format("together with what is said before, rank {} takes {:.3g} times as long", rank,
                               run.slow[rank]));
}

/// "10us@1ms": interruptions of 10 us on average, 1 ms apart on average.
void read_noise(const std::string& text, host::RunOptions& run, Diagnostics& problems) {
  auto wrong = [&](const std::string& what) {
    problems.add({}, "--noise", fmt::format("{}: {}", text, what));
  };
  std::vector<std::string> parts = split(text, '@');
  if (parts.size() != 2) return wrong("expected LENGTH@INTERVAL, such as 10us@1ms");
  std::string error;
  auto length = parse_quantity(quantity_kind<Time>(), parts[0], error);
  if (!length) return wrong(error);
  auto interval = parse_quantity(quantity_kind<Time>(), parts[1], error);
  if (!interval) return wrong(error);
  constexpr std::int64_t kShortest = 100'000, kLongest = 86'400'000'000'000'000;
  if (*length <= 0 || *interval < kShortest || *interval > kLongest || *length > *interval * 1000 ||
      *length > kLongest)
    return wrong(
        "expected some length, an interval of 100ns at least, no more than a day of either, and no more than "
        "1000 times as much noise as work");
  run.noise_length = {*length};
  run.noise_interval = {*interval};
}

}  // namespace

void read_disturbance(const std::vector<std::string>& slow, const std::string& noise, host::RunOptions& run) {
  Diagnostics problems;
  for (const std::string& text : slow) read_slow(text, run, problems);
  if (!noise.empty()) read_noise(noise, run, problems);
  problems.throw_if_any();
}

}  // namespace weft::app
