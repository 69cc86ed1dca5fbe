// What nodes send each other, seen on the wire: bytes by pair and over time, and what TCP sends again.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/quantity.hpp"

namespace weft::guest {

/// "TCP 10.0.0.1:5201 > 10.0.0.2:40000, 8948 bytes", "ICMP echo request ...", "ARP".
std::string describe_frame(std::span<const std::uint8_t> frame);

/// Counts of all nodes in slices of virtual time, as many whatever its length: slices grow.
class Slices {
 public:
  static constexpr unsigned kSlices = 256;
  explicit Slices(std::size_t nodes) : counts_(nodes * kSlices) {}
  /// Times need not be in order.
  void add(std::size_t node, Time at, std::uint64_t count);
  std::uint64_t in(std::size_t node, unsigned slice) const { return counts_[node * kSlices + slice]; }
  Time width() const { return width_; }

 private:
  Time width_{1'000'000};
  std::vector<std::uint64_t> counts_;
};

class Traffic {
 public:
  explicit Traffic(std::size_t nodes)
      : nodes_(nodes), bytes_(nodes * nodes), again_(nodes), slices_(nodes), again_slices_(nodes) {}

  std::size_t nodes() const { return nodes_; }
  /// A frame that a node has sent.
  void sent(std::size_t node, Time at, std::span<const std::uint8_t> frame);

  /// Bytes of frames for one node from another; those for all are in broadcast().
  std::uint64_t bytes(std::size_t from, std::size_t to) const { return bytes_[from * nodes_ + to]; }
  std::uint64_t broadcast() const { return broadcast_; }
  /// Segments of TCP with data that a node had sent before.
  std::uint64_t sent_again(std::size_t node) const { return again_[node]; }
  /// Bytes and such segments that nodes sent, over time.
  const Slices& bytes_over_time() const { return slices_; }
  const Slices& sent_again_over_time() const { return again_slices_; }

 private:
  /// Is it a segment with data that was sent before?
  bool tcp_again(std::span<const std::uint8_t> packet);
  std::size_t nodes_;
  std::vector<std::uint64_t> bytes_;
  std::uint64_t broadcast_ = 0;
  std::vector<std::uint64_t> again_;
  Slices slices_, again_slices_;
  // By both addresses and ports: the end of what was sent.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> ends_;
};

}  // namespace weft::guest
