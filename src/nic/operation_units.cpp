#include "nic/operation_units.hpp"

#include <cstring>
#include <type_traits>

namespace weft::nic {

namespace {

template <class T>
T whole(Combine operation, T a, T b) {
  using U = std::make_unsigned_t<T>;
  // 16-bit numbers would be multiplied as signed ones of 32 bits.
  using Wide = std::conditional_t<sizeof(T) < 4, std::uint32_t, U>;
  switch (operation) {
    case Combine::Sum:
      return static_cast<T>(static_cast<U>(static_cast<Wide>(a) + static_cast<Wide>(b)));
    case Combine::Product:
      return static_cast<T>(static_cast<U>(static_cast<Wide>(a) * static_cast<Wide>(b)));
    case Combine::Minimum:
      return b < a ? b : a;
    case Combine::Maximum:
      return a < b ? b : a;
    case Combine::And:
      return static_cast<T>(a & b);
    case Combine::Or:
      return static_cast<T>(a | b);
    case Combine::Xor:
      return static_cast<T>(a ^ b);
    case Combine::LogicalAnd:
      return static_cast<T>(a && b);
    case Combine::LogicalOr:
      return static_cast<T>(a || b);
    case Combine::LogicalXor:
      return static_cast<T>(!a != !b);
    default:
      return a;
  }
}

template <class T>
T real(Combine operation, T a, T b) {
  switch (operation) {
    case Combine::Sum:
      return a + b;
    case Combine::Product:
      return a * b;
    case Combine::Minimum:
      return b < a ? b : a;
    case Combine::Maximum:
      return a < b ? b : a;
    default:
      return a;
  }
}

template <class T>
void each(Combine operation, std::uint8_t* into, const std::uint8_t* from, std::size_t bytes) {
  for (std::size_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, into + at, sizeof(T));
    std::memcpy(&b, from + at, sizeof(T));
    if constexpr (std::is_floating_point_v<T>)
      a = real(operation, a, b);
    else
      a = whole(operation, a, b);
    std::memcpy(into + at, &a, sizeof(T));
  }
}

}  // namespace

void combine(Combine operation, Element type, std::uint8_t* into, const std::uint8_t* from,
             std::size_t bytes) {
  switch (type) {
    case Element::I8:
      return each<std::int8_t>(operation, into, from, bytes);
    case Element::I16:
      return each<std::int16_t>(operation, into, from, bytes);
    case Element::I32:
      return each<std::int32_t>(operation, into, from, bytes);
    case Element::I64:
      return each<std::int64_t>(operation, into, from, bytes);
    case Element::U8:
      return each<std::uint8_t>(operation, into, from, bytes);
    case Element::U16:
      return each<std::uint16_t>(operation, into, from, bytes);
    case Element::U32:
      return each<std::uint32_t>(operation, into, from, bytes);
    case Element::U64:
      return each<std::uint64_t>(operation, into, from, bytes);
    case Element::F32:
      return each<float>(operation, into, from, bytes);
    case Element::F64:
      return each<double>(operation, into, from, bytes);
    default:
      return;
  }
}

}  // namespace weft::nic
