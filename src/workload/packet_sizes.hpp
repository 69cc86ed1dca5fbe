// How long packets are: one size, or a few with a weight each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::workload {

class PacketSizes {
 public:
  /// From "8" or "1:0.5,8:0.5" (flits:weight). Throws UserError.
  static PacketSizes parse(std::string_view text);

  unsigned largest() const { return sizes_.back().flits; }
  double mean() const { return mean_; }
  std::uint16_t draw(std::uint64_t seed, std::uint32_t endpoint, std::uint64_t packet) const;
  std::string text() const;

 private:
  struct Size {
    std::uint16_t flits;
    double weight;
    double up_to;  // weights of the sizes up to this one, of a sum of 1
  };
  std::vector<Size> sizes_;  // ascending
  double mean_ = 0;
};

}  // namespace weft::workload
