// What libfabric's atomic operations do to values of its types.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <string.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace weft::fi {

/// 0: a type that is not known here.
inline std::size_t value_size(fi_datatype type) {
  switch (type) {
    case FI_INT8:
    case FI_UINT8:
      return 1;
    case FI_INT16:
    case FI_UINT16:
      return 2;
    case FI_INT32:
    case FI_UINT32:
    case FI_FLOAT:
      return 4;
    case FI_INT64:
    case FI_UINT64:
    case FI_DOUBLE:
    case FI_FLOAT_COMPLEX:
      return 8;
    case FI_DOUBLE_COMPLEX:
      return 16;
    default:
      return 0;
  }
}

inline bool is_floating(fi_datatype type) { return type == FI_FLOAT || type == FI_DOUBLE; }
inline bool is_complex(fi_datatype type) { return type == FI_FLOAT_COMPLEX || type == FI_DOUBLE_COMPLEX; }

/// May this operation be done so, with what comes back and what is compared?
inline bool known_operation(fi_datatype type, fi_op op, bool fetch, bool swap) {
  if (op >= FI_CSWAP && op <= FI_MSWAP) {
    if (!swap || !fetch) return false;
    if (op == FI_MSWAP) return !is_floating(type) && !is_complex(type);
    return !is_complex(type) || op == FI_CSWAP || op == FI_CSWAP_NE;
  }
  if (swap || op > FI_ATOMIC_WRITE) return false;
  if (op == FI_ATOMIC_READ) return fetch;
  if (op == FI_MIN || op == FI_MAX) return !is_complex(type);
  bool bits = op == FI_BOR || op == FI_BAND || op == FI_BXOR;
  return !bits || (!is_floating(type) && !is_complex(type));
}

template <class T>
T next_value(fi_op op, T old, T operand, T compare) {
  constexpr bool complex = !std::is_arithmetic_v<T>;
  constexpr bool whole = std::is_integral_v<T>;
  auto truth = [](T v) { return v != T{}; };
  switch (op) {
    case FI_SUM:
      return static_cast<T>(old + operand);
    case FI_PROD:
      return static_cast<T>(old * operand);
    case FI_LOR:
      return T(truth(old) || truth(operand));
    case FI_LAND:
      return T(truth(old) && truth(operand));
    case FI_LXOR:
      return T(truth(old) != truth(operand));
    case FI_ATOMIC_READ:
      return old;
    case FI_ATOMIC_WRITE:
      return operand;
    case FI_CSWAP:
      return compare == old ? operand : old;
    case FI_CSWAP_NE:
      return compare != old ? operand : old;
    default:
      break;
  }
  if constexpr (!complex) {
    switch (op) {
      case FI_MIN:
        return operand < old ? operand : old;
      case FI_MAX:
        return operand > old ? operand : old;
      case FI_CSWAP_LE:
        return compare <= old ? operand : old;
      case FI_CSWAP_LT:
        return compare < old ? operand : old;
      case FI_CSWAP_GE:
        return compare >= old ? operand : old;
      case FI_CSWAP_GT:
        return compare > old ? operand : old;
      default:
        break;
    }
  }
  if constexpr (whole) {
    switch (op) {
      case FI_BOR:
        return static_cast<T>(old | operand);
      case FI_BAND:
        return static_cast<T>(old & operand);
      case FI_BXOR:
        return static_cast<T>(old ^ operand);
      case FI_MSWAP:
        return static_cast<T>((operand & compare) | (old & ~compare));
      default:
        break;
    }
  }
  return old;
}

template <class T>
void apply_as(fi_op op, void* at, const void* operand, const void* compare, void* old_value) {
  T old, o{}, c{};
  memcpy(&old, at, sizeof old);
  if (operand) memcpy(&o, operand, sizeof o);
  if (compare) memcpy(&c, compare, sizeof c);
  memcpy(old_value, &old, sizeof old);
  T fresh = next_value<T>(op, old, o, c);
  memcpy(at, &fresh, sizeof fresh);
}

/// One value in memory; `old_value` has room for it.
inline void apply(fi_datatype type, fi_op op, void* at, const void* operand, const void* compare,
                  void* old_value) {
  switch (type) {
    case FI_INT8:
      return apply_as<std::int8_t>(op, at, operand, compare, old_value);
    case FI_UINT8:
      return apply_as<std::uint8_t>(op, at, operand, compare, old_value);
    case FI_INT16:
      return apply_as<std::int16_t>(op, at, operand, compare, old_value);
    case FI_UINT16:
      return apply_as<std::uint16_t>(op, at, operand, compare, old_value);
    case FI_INT32:
      return apply_as<std::int32_t>(op, at, operand, compare, old_value);
    case FI_UINT32:
      return apply_as<std::uint32_t>(op, at, operand, compare, old_value);
    case FI_INT64:
      return apply_as<std::int64_t>(op, at, operand, compare, old_value);
    case FI_UINT64:
      return apply_as<std::uint64_t>(op, at, operand, compare, old_value);
    case FI_FLOAT:
      return apply_as<float>(op, at, operand, compare, old_value);
    case FI_DOUBLE:
      return apply_as<double>(op, at, operand, compare, old_value);
    case FI_FLOAT_COMPLEX:
      return apply_as<std::complex<float>>(op, at, operand, compare, old_value);
    case FI_DOUBLE_COMPLEX:
      return apply_as<std::complex<double>>(op, at, operand, compare, old_value);
    default:
      return;
  }
}

}  // namespace weft::fi
