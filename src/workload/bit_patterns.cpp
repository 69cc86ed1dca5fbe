// Patterns over the binary digits of an endpoint's number, and the transpose of a square.
#include <bit>
#include <cmath>

#include "workload/pattern.hpp"

namespace weft::workload {

namespace {

template <class Target>
std::unique_ptr<Pattern> fixed(std::uint32_t members, Target target) {
  std::vector<Member> targets;
  for (Member source = 0; source < members; ++source) targets.push_back(target(source));
  return std::make_unique<FixedPattern>(std::move(targets));
}

/// The number of binary digits; throws UserError where the members are no power of two.
unsigned digits(const char* pattern, std::uint32_t members) {
  if (!std::has_single_bit(members))
    throw UserError(
        fmt::format("pattern {} needs a power of two of endpoints; there are {}, and {} or {} would fit",
                    pattern, members, std::bit_floor(members), std::uint64_t{std::bit_floor(members)} * 2));
  return static_cast<unsigned>(std::countr_zero(members));
}

Member reverse(Member number, unsigned digits) {
  Member out = 0;
  for (unsigned i = 0; i < digits; ++i) out |= (number >> i & 1u) << (digits - 1 - i);
  return out;
}

std::unique_ptr<Pattern> make_reversal(const NoParameters&, const PatternContext& context) {
  unsigned n = digits("bit-reversal", context.members.count());
  return fixed(context.members.count(), [n](Member source) { return reverse(source, n); });
}

std::unique_ptr<Pattern> make_complement(const NoParameters&, const PatternContext& context) {
  digits("bit-complement", context.members.count());
  return fixed(context.members.count(),
               [mask = context.members.count() - 1](Member source) { return ~source & mask; });
}

std::unique_ptr<Pattern> make_shuffle(const NoParameters&, const PatternContext& context) {
  unsigned n = digits("shuffle", context.members.count());
  Member mask = context.members.count() - 1;
  return fixed(context.members.count(),
               [n, mask](Member source) { return (source << 1 | source >> (n - 1)) & mask; });
}

std::unique_ptr<Pattern> make_transpose(const NoParameters&, const PatternContext& context) {
  std::uint32_t members = context.members.count();
  auto side = static_cast<std::uint32_t>(std::lround(std::floor(std::sqrt(static_cast<double>(members)))));
  if (side * side != members)
    throw UserError(fmt::format(
        "pattern transpose needs a square number of endpoints; there are {}, and {} or {} would fit", members,
        side * side, (side + 1) * (side + 1)));
  return fixed(members, [side](Member source) { return source % side * side + source / side; });
}

WEFT_REGISTER(PatternKind,
              pattern_kind<NoParameters>(
                  "transpose",
                  "endpoints as a square: row i, column j sends to row j, column i; on a square grid "
                  "with one endpoint per router that swaps the coordinates",
                  no_parameters(), make_transpose));
WEFT_REGISTER(PatternKind, pattern_kind<NoParameters>("bit-reversal",
                                                      "to the number with its binary digits in reverse order",
                                                      no_parameters(), make_reversal));
WEFT_REGISTER(PatternKind,
              pattern_kind<NoParameters>("bit-complement", "to the number with every binary digit inverted",
                                         no_parameters(), make_complement));
WEFT_REGISTER(PatternKind,
              pattern_kind<NoParameters>("shuffle",
                                         "to the number with its binary digits rotated left by one",
                                         no_parameters(), make_shuffle));

}  // namespace

}  // namespace weft::workload
