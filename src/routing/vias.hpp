// Which intermediate places serve which pairs of a broken machine. A source draws its place among these
// alone, and goes straight only where that route is intact; a proof looks at the same table.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "routing/states.hpp"

namespace weft::routing {

/// First legs as an exploration finds them: who comes to which place for certain, and where they arrive.
class FirstLegs {
 public:
  using Word = std::uint64_t;
  explicit FirstLegs(const Routing& routing);
  /// Takes over what `explorer` has found and measured for one place.
  void add(const StateExplorer& explorer, std::uint32_t via, const std::vector<RouterId>& sources);

  std::uint64_t words() const { return words_; }
  /// Bits by place: does every route of this router's packets end there? Clear for places it stands in.
  const Word* whole(RouterId from) const { return &whole_[from * words_]; }
  std::size_t places() const { return arrivals_.size(); }
  bool stands_in(RouterId r, std::uint32_t via) const { return routing_.via_reached(r, via); }
  /// Bits by place: has it been added?
  const Word* added() const { return added_.data(); }
  const std::vector<RouterId>& arrivals(std::uint32_t via) const { return arrivals_[via]; }
  void merge(const FirstLegs& other);

 private:
  const Routing& routing_;
  std::uint64_t words_;
  std::vector<Word> whole_, added_;
  std::vector<std::vector<RouterId>> arrivals_;  // by place, sorted
};

/// Bits by place: is the second leg whole from every router where first legs to it arrive? For the target the
/// explorer has just measured.
void second_legs(const FirstLegs& first, const StateExplorer& explorer, RouterId goal,
                 std::vector<FirstLegs::Word>& out);

class ViaTable {
 public:
  using Word = FirstLegs::Word;
  explicit ViaTable(const Routing& routing);

  /// Is the route without an intermediate place whole?
  bool direct(RouterId from, RouterId to) const {
    return from == to || bit(&direct_[column_[to] * direct_words_], from);
  }
  /// Is the route by an intermediate place whole? One the source stands in is the same as none.
  bool serves(RouterId from, std::uint32_t via, RouterId to) const {
    if (first_.stands_in(from, via)) return direct(from, to);
    return bit(first_.whole(from), via) && bit(second(to), via);
  }
  const Word* first(RouterId from) const { return first_.whole(from); }
  const Word* second(RouterId to) const { return &second_[column_[to] * first_.words()]; }
  std::uint64_t bytes() const;

 private:
  static bool bit(const Word* words, std::uint64_t i) { return words[i / 64] >> (i % 64) & 1; }

  FirstLegs first_;
  std::uint64_t direct_words_;
  std::vector<std::uint32_t> column_;  // by router: destinations are those with endpoints
  std::vector<Word> direct_, second_;  // [destination][router], [destination][place]
};

/// The intermediate place of a packet, drawn among those that serve it; kNone where none does. Draws are
/// random bits of (seed, who, step).
inline std::uint32_t draw_via(const Routing& routing, RouterId from, RouterId to, std::uint64_t seed,
                              std::uint64_t who, std::uint64_t step) {
  const std::uint32_t count = routing.via_count();
  std::uint32_t via = random_below(seed, who, step, count);
  const ViaTable* table = routing.vias();
  if (!table || table->serves(from, via, to)) return via;
  constexpr unsigned kDraws = 8;  // then the next one that serves: hardly any are left
  for (unsigned i = 1; i <= kDraws; ++i) {
    via = random_below(seed + i * 0x9e3779b97f4a7c15u, who, step, count);
    if (table->serves(from, via, to)) return via;
  }
  for (std::uint32_t i = 0; i < count; ++i, via = via + 1 == count ? 0 : via + 1)
    if (table->serves(from, via, to)) return via;
  return kNone;
}

}  // namespace weft::routing
