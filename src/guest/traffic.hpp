// What nodes send each other, seen on the wire: bytes by pair, and what TCP sends again.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

namespace weft::guest {

class Traffic {
 public:
  explicit Traffic(std::size_t nodes) : nodes_(nodes), bytes_(nodes * nodes), again_(nodes) {}

  /// A frame that a node has sent.
  void sent(std::size_t node, std::span<const std::uint8_t> frame);

  /// Bytes of frames for one node from another; those for all are in broadcast().
  std::uint64_t bytes(std::size_t from, std::size_t to) const { return bytes_[from * nodes_ + to]; }
  std::uint64_t broadcast() const { return broadcast_; }
  /// Segments of TCP with data that a node had sent before.
  std::uint64_t sent_again(std::size_t node) const { return again_[node]; }

 private:
  void look_at_tcp(std::size_t node, std::span<const std::uint8_t> packet);
  std::size_t nodes_;
  std::vector<std::uint64_t> bytes_;
  std::uint64_t broadcast_ = 0;
  std::vector<std::uint64_t> again_;
  // By both addresses and ports: the end of what was sent.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> ends_;
};

}  // namespace weft::guest
