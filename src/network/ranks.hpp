// Processes that run one machine together, each a part of its routers, on one host or on several. Every call
// here is made by all of them, in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "base/check.hpp"

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

/// Appends a record, or a row of them.
template <class T>
void put(Ranks::Bytes& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof(T));
}
template <class T>
void put_all(Ranks::Bytes& out, std::span<const T> row) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* bytes = reinterpret_cast<const std::byte*>(row.data());
  out.insert(out.end(), bytes, bytes + row.size_bytes());
}

/// Reads what a rank has sent from front to back.
class RankReader {
 public:
  explicit RankReader(const Ranks::Bytes& bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}
  bool more() const { return at_ != end_; }
  template <class T>
  T take() {
    static_assert(std::is_trivially_copyable_v<T>);
    WEFT_CHECK(static_cast<std::size_t>(end_ - at_) >= sizeof(T), "ranks send whole records");
    T value;
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

 private:
  const std::byte *at_, *end_;
};

/// Calls use(bytes) for what each rank has given in turn, on all of them.
template <class Use>
void each_rank(Ranks& ranks, const Ranks::Bytes& mine, Use use) {
  const std::vector<Ranks::Bytes> out(ranks.count(), mine);
  std::vector<Ranks::Bytes> in(ranks.count());
  ranks.exchange(out, in);
  for (unsigned r = 0; r < ranks.count(); ++r) use(r == ranks.rank() ? mine : in[r]);
}

/// The same, but on rank 0 alone: others only give.
template <class Use>
void each_rank_at_first(Ranks& ranks, Ranks::Bytes mine, Use use) {
  std::vector<Ranks::Bytes> out(ranks.count()), in(ranks.count());
  if (ranks.rank() != 0) out[0] = std::move(mine);
  ranks.exchange(out, in);
  if (ranks.rank() != 0) return;
  for (unsigned r = 0; r < ranks.count(); ++r) {
    use(r == 0 ? mine : in[r]);
    Ranks::Bytes().swap(in[r]);
  }
}

}  // namespace weft::network
