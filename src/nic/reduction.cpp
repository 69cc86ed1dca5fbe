#include "nic/reduction.hpp"

#include <cstring>
#include <type_traits>

namespace weft::nic {

namespace {

enum class What { Sum, Maximum, Minimum };

/// Of equal numbers, that of the lower place.
template <class T>
void combine_numbers(What what, ReduceUnit& into, const ReduceUnit& from) {
  T a, b;
  std::memcpy(&a, &into.value, sizeof a);
  std::memcpy(&b, &from.value, sizeof b);
  if (what == What::Sum) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      a = static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    } else {
      a += b;
    }
  } else if ((what == What::Maximum ? a < b : b < a) || (a == b && from.location < into.location)) {
    a = b;
    into.location = from.location;
  }
  into.value = 0;
  std::memcpy(&into.value, &a, sizeof a);
}

std::uint64_t combine_bits(Reduction operation, std::uint64_t a, std::uint64_t b) {
  switch (operation) {
    case Reduction::LogicalAnd:
      return a && b;
    case Reduction::LogicalOr:
      return a || b;
    case Reduction::LogicalXor:
      return !a != !b;
    case Reduction::And:
      return a & b;
    case Reduction::Or:
      return a | b;
    default:
      return a ^ b;
  }
}

}  // namespace

bool read_reduction(const std::uint8_t* data, std::uint64_t length, ReduceData& out) {
  if (length < offsetof(ReduceData, unit) || length > sizeof out) return false;
  out = {};
  std::memcpy(static_cast<void*>(&out), data, length);
  return out.mark == kReduceMark && out.operation < Reduction::kCount && out.wide <= 1 && out.count > 0 &&
         out.count <= kReduceUnits && out.bytes() == length;
}

bool alike(const ReduceData& a, const ReduceData& b) {
  return a.operation == b.operation && a.wide == b.wide && a.count == b.count;
}

void combine(ReduceData& into, const ReduceData& from) {
  const auto operation = static_cast<unsigned>(into.operation);
  for (unsigned i = 0; i < into.count; ++i) {
    ReduceUnit& a = into.unit[i];
    const ReduceUnit& b = from.unit[i];
    const What what = static_cast<What>(operation % 3);
    if (into.operation >= Reduction::LogicalAnd) {
      const std::uint64_t mask = into.wide ? ~std::uint64_t{0} : 0xffffffff;
      a.value = combine_bits(into.operation, a.value & mask, b.value & mask);
    } else if (into.operation <= Reduction::MinimumFloat) {
      into.wide ? combine_numbers<double>(what, a, b) : combine_numbers<float>(what, a, b);
    } else if (into.operation <= Reduction::MinimumSigned) {
      into.wide ? combine_numbers<std::int64_t>(what, a, b) : combine_numbers<std::int32_t>(what, a, b);
    } else {
      into.wide ? combine_numbers<std::uint64_t>(what, a, b) : combine_numbers<std::uint32_t>(what, a, b);
    }
  }
}

}  // namespace weft::nic
