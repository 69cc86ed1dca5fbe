#include "workload/packet_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/diagnostics.hpp"
#include "base/text.hpp"
#include "workload/pattern.hpp"

namespace weft::workload {

namespace {

constexpr unsigned kMaxFlits = 4095;

template <class T>
bool parse_whole(std::string_view text, T& value) {
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc() && end == text.data() + text.size();
}

}  // namespace

PacketSizes PacketSizes::parse(std::string_view text) {
  PacketSizes out;
  double sum = 0;
  for (const std::string& part : split(text, ',')) {
    std::size_t colon = part.find(':');
    std::string_view flits_text = trim(std::string_view(part).substr(0, colon));
    std::string_view weight_text =
        colon == std::string::npos ? "1" : trim(std::string_view(part).substr(colon + 1));
    unsigned flits = 0;
    double weight = 0;
    if (!parse_whole(flits_text, flits) || !parse_whole(weight_text, weight))
      throw UserError(
          fmt::format("--packet {}: expected flits, such as 8, or flits:weight, such as 1:0.5,8:0.5", text));
    if (flits < 1 || flits > kMaxFlits)
      throw UserError(fmt::format("--packet {}: {} flits is outside 1 to {}", text, flits, kMaxFlits));
    if (!std::isfinite(weight) || weight <= 0)
      throw UserError(fmt::format("--packet {}: a weight must be above 0, got {}", text, weight_text));
    out.sizes_.push_back({static_cast<std::uint16_t>(flits), weight, 0});
    sum += weight;
  }
  std::sort(out.sizes_.begin(), out.sizes_.end(),
            [](const Size& a, const Size& b) { return a.flits < b.flits; });
  double up_to = 0;
  for (std::size_t i = 0; i < out.sizes_.size(); ++i) {
    Size& size = out.sizes_[i];
    if (i > 0 && size.flits == out.sizes_[i - 1].flits)
      throw UserError(fmt::format("--packet {}: {} flits are listed twice", text, size.flits));
    up_to += size.weight / sum;
    size.up_to = up_to;
    out.mean_ += size.flits * size.weight / sum;
  }
  return out;
}

std::uint16_t PacketSizes::draw(std::uint64_t seed, std::uint32_t endpoint, std::uint64_t packet) const {
  if (sizes_.size() == 1) return sizes_.front().flits;
  double drawn = unit_interval(random_bits(seed, endpoint, packet));
  for (const Size& size : sizes_)
    if (drawn < size.up_to) return size.flits;
  return sizes_.back().flits;
}

std::string PacketSizes::text() const {
  if (sizes_.size() == 1) return std::to_string(sizes_.front().flits);
  std::vector<std::string> parts;
  for (const Size& size : sizes_) parts.push_back(fmt::format("{}:{}", size.flits, size.weight));
  return join(parts, ",");
}

}  // namespace weft::workload
