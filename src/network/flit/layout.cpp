#include "network/flit/layout.hpp"

#include <algorithm>
#include <bit>

namespace weft::network::flit {

namespace {

std::uint32_t most_ports(const topology::Graph& graph) {
  std::uint32_t most = 0;
  for (topology::RouterId r = 0; r < graph.routers(); ++r) most = std::max(most, graph.port_count(r));
  return most;
}

}  // namespace

unsigned Layout::words_for(const topology::Graph& graph, unsigned channels) {
  return (most_ports(graph) * std::bit_ceil(channels) + 63) / 64;
}

Layout::Layout(const topology::Graph& graph, unsigned channels, unsigned ring)
    : stride_(std::bit_ceil(channels)), words_(words_for(graph, channels)), ring_(ring) {
  // Masks have a width of 1, 2, 4, ... words: one compiled kernel for each.
  words_ = std::bit_ceil(words_);
  for (topology::RouterId r = 0; r < graph.routers(); ++r) {
    std::uint64_t ports = graph.port_count(r), queues = ports * stride_;
    std::uint64_t size = head_bytes(words_) + ports * sizeof(Port) + queues * (sizeof(InputQueue) + 4);
    hot_lines_ = std::max(hot_lines_, static_cast<unsigned>((size + 63) / 64));
    size = (size + 7) / 8 * 8 + queues * ring_ * 8;
    size = (size + 63) / 64 * 64;
    block_.push_back(total_);
    total_ += size;
    largest_ = std::max(largest_, size);
  }
}

}  // namespace weft::network::flit
