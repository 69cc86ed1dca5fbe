// Every operation on every type, against what libfabric says it does, computed another way.
#include "lib/fi/atomic_values.hpp"

#include <gtest/gtest.h>

#include <random>

namespace weft::fi {
namespace {

constexpr fi_datatype kTypes[] = {FI_INT8,  FI_UINT8,  FI_INT16,         FI_UINT16,
                                  FI_INT32, FI_UINT32, FI_INT64,         FI_UINT64,
                                  FI_FLOAT, FI_DOUBLE, FI_FLOAT_COMPLEX, FI_DOUBLE_COMPLEX};
constexpr fi_op kOperations[] = {FI_MIN,         FI_MAX,          FI_SUM,      FI_PROD,     FI_LOR,
                                 FI_LAND,        FI_BOR,          FI_BAND,     FI_LXOR,     FI_BXOR,
                                 FI_ATOMIC_READ, FI_ATOMIC_WRITE, FI_CSWAP,    FI_CSWAP_NE, FI_CSWAP_LE,
                                 FI_CSWAP_LT,    FI_CSWAP_GE,     FI_CSWAP_GT, FI_MSWAP};

bool swaps(fi_op op) { return op >= FI_CSWAP && op <= FI_MSWAP; }

/// What the manual (fi_atomic(3)) says of the target, for whole numbers in 128 bits.
__int128 whole(fi_op op, __int128 t, __int128 o, __int128 c) {
  switch (op) {
    case FI_MIN:
      return std::min(t, o);
    case FI_MAX:
      return std::max(t, o);
    case FI_SUM:
      return t + o;
    case FI_PROD:
      return static_cast<__int128>(static_cast<unsigned __int128>(t) * static_cast<unsigned __int128>(o));
    case FI_LOR:
      return t != 0 || o != 0;
    case FI_LAND:
      return t != 0 && o != 0;
    case FI_LXOR:
      return (t != 0) != (o != 0);
    case FI_BOR:
      return t | o;
    case FI_BAND:
      return t & o;
    case FI_BXOR:
      return t ^ o;
    case FI_ATOMIC_READ:
      return t;
    case FI_ATOMIC_WRITE:
      return o;
    case FI_CSWAP:
      return c == t ? o : t;
    case FI_CSWAP_NE:
      return c != t ? o : t;
    case FI_CSWAP_LE:
      return c <= t ? o : t;
    case FI_CSWAP_LT:
      return c < t ? o : t;
    case FI_CSWAP_GE:
      return c >= t ? o : t;
    case FI_CSWAP_GT:
      return c > t ? o : t;
    case FI_MSWAP:
      return (o & c) | (t & ~c);
    default:
      ADD_FAILURE();
      return 0;
  }
}

/// The same for what is ordered, or only compared, as libfabric has it for numbers with a point.
template <class T>
T real(fi_op op, T t, T o, T c) {
  const T one{1}, none{0};
  switch (op) {
    case FI_SUM:
      return t + o;
    case FI_PROD:
      return t * o;
    case FI_LOR:
      return t != none || o != none ? one : none;
    case FI_LAND:
      return t != none && o != none ? one : none;
    case FI_LXOR:
      return (t != none) != (o != none) ? one : none;
    case FI_ATOMIC_READ:
      return t;
    case FI_ATOMIC_WRITE:
      return o;
    case FI_CSWAP:
      return c == t ? o : t;
    case FI_CSWAP_NE:
      return c == t ? t : o;
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case FI_MIN:
        return o < t ? o : t;
      case FI_MAX:
        return o > t ? o : t;
      case FI_CSWAP_LE:
        return c > t ? t : o;
      case FI_CSWAP_LT:
        return c >= t ? t : o;
      case FI_CSWAP_GE:
        return c < t ? t : o;
      case FI_CSWAP_GT:
        return c <= t ? t : o;
      default:
        break;
    }
  }
  ADD_FAILURE() << "operation " << op;
  return none;
}

template <class T>
T random_value(std::mt19937& random) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(random() % 3 ? random() % 4 : std::uint64_t{random()} << 32 | random());
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(static_cast<int>(random() % 7) - 3) / 2;
  else
    return {static_cast<typename T::value_type>(random() % 3),
            static_cast<typename T::value_type>(random() % 3)};
}

template <class T>
void check(fi_datatype type, fi_op op, std::mt19937& random) {
  for (int i = 0; i < 200; ++i) {
    const T target = random_value<T>(random), operand = random_value<T>(random),
            compare = random_value<T>(random);
    T expected;
    if constexpr (std::is_integral_v<T>)
      expected = static_cast<T>(whole(op, target, operand, compare));
    else
      expected = real<T>(op, target, operand, compare);
    // In the midst of others, and not at an address of its own size.
    char memory[3 * sizeof(T) + 1];
    memset(memory, 0x5a, sizeof memory);
    char* at = memory + sizeof(T) + 1;
    memcpy(at, &target, sizeof target);
    T old;
    apply(type, op, at, &operand, &compare, &old);
    T result;
    memcpy(&result, at, sizeof result);
    ASSERT_EQ(memcmp(&old, &target, sizeof old), 0) << "what was there comes back";
    ASSERT_TRUE(result == expected) << "type " << type << ", operation " << op;
    for (char* other = memory; other < memory + sizeof memory; ++other)
      if (other < at || other >= at + sizeof(T)) ASSERT_EQ(*other, 0x5a) << "beyond the value";
  }
}

void check_type(fi_datatype type, fi_op op, std::mt19937& random) {
  switch (type) {
    case FI_INT8:
      return check<std::int8_t>(type, op, random);
    case FI_UINT8:
      return check<std::uint8_t>(type, op, random);
    case FI_INT16:
      return check<std::int16_t>(type, op, random);
    case FI_UINT16:
      return check<std::uint16_t>(type, op, random);
    case FI_INT32:
      return check<std::int32_t>(type, op, random);
    case FI_UINT32:
      return check<std::uint32_t>(type, op, random);
    case FI_INT64:
      return check<std::int64_t>(type, op, random);
    case FI_UINT64:
      return check<std::uint64_t>(type, op, random);
    case FI_FLOAT:
      return check<float>(type, op, random);
    case FI_DOUBLE:
      return check<double>(type, op, random);
    case FI_FLOAT_COMPLEX:
      return check<std::complex<float>>(type, op, random);
    case FI_DOUBLE_COMPLEX:
      return check<std::complex<double>>(type, op, random);
    default:
      FAIL();
  }
}

TEST(AtomicValues, EveryOperationOnEveryTypeThatHasIt) {
  const unsigned seed = 77;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  unsigned pairs = 0;
  for (fi_datatype type : kTypes)
    for (fi_op op : kOperations) {
      if (!known_operation(type, op, true, swaps(op))) continue;
      ++pairs;
      check_type(type, op, random);
    }
  EXPECT_EQ(pairs, 8u * 19 + 2 * 15 + 2 * 9) << "whole numbers, numbers with a point, complex ones";
}

TEST(AtomicValues, WhatATypeDoesNotHaveIsRefused) {
  EXPECT_FALSE(known_operation(FI_DOUBLE, FI_BOR, false, false));
  EXPECT_FALSE(known_operation(FI_DOUBLE, FI_MSWAP, true, true));
  EXPECT_FALSE(known_operation(FI_FLOAT_COMPLEX, FI_MIN, false, false));
  EXPECT_FALSE(known_operation(FI_FLOAT_COMPLEX, FI_CSWAP_LT, true, true));
  EXPECT_FALSE(known_operation(FI_INT32, FI_ATOMIC_READ, false, false)) << "a read without a result";
  EXPECT_FALSE(known_operation(FI_INT32, FI_CSWAP, true, false)) << "a swap without a comparison";
  EXPECT_FALSE(known_operation(FI_INT32, FI_SUM, true, true)) << "a sum with one";
  EXPECT_TRUE(known_operation(FI_INT32, FI_SUM, false, false));
}

TEST(AtomicValues, SizesAreThoseOfTheTypes) {
  EXPECT_EQ(value_size(FI_INT8), 1u);
  EXPECT_EQ(value_size(FI_UINT16), 2u);
  EXPECT_EQ(value_size(FI_FLOAT), 4u);
  EXPECT_EQ(value_size(FI_FLOAT_COMPLEX), 8u);
  EXPECT_EQ(value_size(FI_DOUBLE_COMPLEX), 16u);
  EXPECT_EQ(value_size(FI_LONG_DOUBLE), 0u) << "not known here";
}

}  // namespace
}  // namespace weft::fi
