// Partners drawn once, before the run: random permutations and random pairs.
#include <numeric>
#include <utility>

#include "workload/pattern.hpp"

namespace weft::workload {

namespace {

std::vector<Member> shuffled(const PatternContext& context) {
  std::uint64_t seed = stream_seed(context.seed, Stream::Arrangement);
  std::vector<Member> order(context.members.count());
  std::iota(order.begin(), order.end(), 0u);
  for (std::uint32_t left = context.members.count(); left > 1; --left)
    std::swap(order[left - 1], order[random_below(seed, left, 0, left)]);
  return order;
}

std::unique_ptr<Pattern> make_permutation(const NoParameters&, const PatternContext& context) {
  return std::make_unique<FixedPattern>(shuffled(context));
}

std::unique_ptr<Pattern> make_random_pairs(const NoParameters&, const PatternContext& context) {
  std::vector<Member> order = shuffled(context);
  std::vector<Member> partner(order.size(), FixedPattern::kNobody);
  for (std::size_t i = 0; i + 1 < order.size(); i += 2) {
    partner[order[i]] = order[i + 1];
    partner[order[i + 1]] = order[i];
  }
  return std::make_unique<FixedPattern>(std::move(partner));
}

WEFT_REGISTER(PatternKind, pattern_kind<NoParameters>(
                               "permutation",
                               "a random permutation, drawn with the seed: each endpoint sends to one "
                               "and receives from one",
                               no_parameters(), make_permutation));
WEFT_REGISTER(PatternKind,
              pattern_kind<NoParameters>("random-pairs",
                                         "endpoints paired at random, drawn with the seed, each pair in both "
                                         "directions; of an odd number one stays silent",
                                         no_parameters(), make_random_pairs));

}  // namespace

}  // namespace weft::workload
