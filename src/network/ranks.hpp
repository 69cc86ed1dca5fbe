// Processes that run one machine together, each a part of its routers, on one host or on several. Every call
// here is made by all of them, in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::network {

class Ranks {
 public:
  using Bytes = std::vector<std::byte>;

  virtual ~Ranks() = default;
  virtual unsigned rank() const = 0;
  virtual unsigned count() const = 0;

  /// out[r] goes to rank r, and in[r] is what rank r sent here; nothing goes to oneself.
  virtual void exchange(const std::vector<Bytes>& out, std::vector<Bytes>& in) = 0;
  /// Element by element over all ranks; all of them get the result.
  virtual void sum(std::span<std::uint64_t> values) = 0;
  virtual void most(std::span<std::uint64_t> values) = 0;
};

}  // namespace weft::network
