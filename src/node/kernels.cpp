#include "node/kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "node/compute_registers.hpp"

namespace weft::node {

namespace {

constexpr std::uint64_t kDouble = 8, kWord = 4;
// Of a pair of atoms: an index and a position are read, which no block keeps.
constexpr double kPairBytes = kWord + 3 * kDouble;

/// Is an array of so many entries, in its natural place, all in the memory?
bool holds(std::uint64_t size, std::uint64_t at, std::uint64_t count, std::uint64_t each) {
  return at % each == 0 && count <= size / each && at <= size - count * each;
}

double* doubles(std::span<std::uint8_t> memory, std::uint64_t at) {
  return reinterpret_cast<double*>(memory.data() + at);
}

std::uint32_t word(std::span<const std::uint8_t> memory, std::uint64_t at) {
  std::uint32_t value;
  std::memcpy(&value, memory.data() + at, sizeof value);
  return value;
}

std::optional<KernelWork> matrix_work(std::uint64_t size, std::span<const std::uint64_t> a) {
  constexpr std::uint64_t kMost = 1u << 20;
  const std::uint64_t rows = a[3], columns = a[4], inner = a[5];
  if (rows > kMost || columns > kMost || inner > kMost) return {};
  if (!holds(size, a[0], rows * columns, kDouble) || !holds(size, a[1], rows * inner, kDouble) ||
      !holds(size, a[2], inner * columns, kDouble))
    return {};
  const auto m = static_cast<double>(rows), n = static_cast<double>(columns), k = static_cast<double>(inner);
  return KernelWork{2 * m * n * k, (2 * m * n + m * k + k * n) * kDouble};
}

std::optional<KernelWork> force_work(std::span<const std::uint8_t> memory, std::span<const std::uint64_t> a) {
  const std::uint64_t size = memory.size(), atoms = a[4], places = a[5];
  if (atoms > size || places > size) return {};
  if (!holds(size, a[0], 3 * atoms, kDouble) || !holds(size, a[1], 3 * atoms, kDouble) ||
      !holds(size, a[2], atoms, kWord) || (atoms && places > size / kWord / atoms) ||
      !holds(size, a[3], atoms * places, kWord))
    return {};
  std::uint64_t pairs = 0;
  for (std::uint64_t i = 0; i < atoms; ++i) {
    const std::uint32_t length = word(memory, a[2] + i * kWord);
    if (length > places) return {};
    pairs += length;
  }
  const auto p = static_cast<double>(pairs);
  return KernelWork{p * kPairOperations, p * kPairBytes + static_cast<double>(atoms) * (6 * kDouble + kWord)};
}

void multiply(std::span<std::uint8_t> memory, std::span<const std::uint64_t> a) {
  double* c = doubles(memory, a[0]);
  const double *left = doubles(memory, a[1]), *right = doubles(memory, a[2]);
  const std::uint64_t rows = a[3], columns = a[4], inner = a[5];
  for (std::uint64_t i = 0; i < rows; ++i)
    for (std::uint64_t k = 0; k < inner; ++k) {
      const double factor = left[i * inner + k];
      for (std::uint64_t j = 0; j < columns; ++j) c[i * columns + j] += factor * right[k * columns + j];
    }
}

/// Forces between atoms closer than the cutoff, in units of Lennard and Jones, as miniMD has them.
bool forces(std::span<std::uint8_t> memory, std::span<const std::uint64_t> a) {
  double* f = doubles(memory, a[0]);
  const double* x = doubles(memory, a[1]);
  const std::uint64_t atoms = a[4], places = a[5];
  const double cutoff = std::bit_cast<double>(a[6]), most = cutoff * cutoff;
  for (std::uint64_t i = 0; i < atoms; ++i) {
    double sum[3] = {0, 0, 0};
    const std::uint32_t length = word(memory, a[2] + i * kWord);
    if (length > places) return false;
    for (std::uint32_t n = 0; n < length; ++n) {
      const std::uint32_t j = word(memory, a[3] + (i * places + n) * kWord);
      if (j >= atoms) return false;
      const double d[3] = {x[3 * i] - x[3 * j], x[3 * i + 1] - x[3 * j + 1], x[3 * i + 2] - x[3 * j + 2]};
      const double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
      if (square >= most || square == 0) continue;
      const double inverse = 1 / square, sixth = inverse * inverse * inverse;
      const double force = 48 * sixth * (sixth - 0.5) * inverse;
      for (int k = 0; k < 3; ++k) sum[k] += d[k] * force;
    }
    std::copy_n(sum, 3, f + 3 * i);
  }
  return true;
}

}  // namespace

bool is_kernel(std::uint64_t command) { return command >= kComputeFill && command <= kComputeForces; }

std::optional<KernelWork> kernel_work(std::span<const std::uint8_t> memory, std::uint64_t command,
                                      std::span<const std::uint64_t> a) {
  const std::uint64_t size = memory.size();
  auto all = [&](std::uint64_t count, std::initializer_list<std::uint64_t> arrays) {
    return std::all_of(arrays.begin(), arrays.end(),
                       [&](std::uint64_t at) { return holds(size, at, count, kDouble); });
  };
  auto work = [](bool there, double operations, double entries, std::uint64_t count) {
    const auto n = static_cast<double>(count);
    return there ? std::optional(KernelWork{operations * n, entries * n * kDouble}) : std::nullopt;
  };
  switch (command) {
    case kComputeFill:
      return work(all(a[1], {a[0]}), 0, 1, a[1]);
    case kComputeStream:
      return work(all(a[2], {a[0], a[1]}), 0, 2, a[2]);
    case kComputeAxpy:
      return work(all(a[2], {a[0], a[1]}), 2, 3, a[2]);
    case kComputeDot:
      return work(all(a[3], {a[1], a[2]}) && all(1, {a[0]}), 2, 2, a[3]);
    case kComputeMultiply:
      return matrix_work(size, a);
    case kComputeForces:
      return force_work(memory, a);
    default:
      return {};
  }
}

bool run_kernel(std::span<std::uint8_t> memory, std::uint64_t command, std::span<const std::uint64_t> a) {
  switch (command) {
    case kComputeFill:
      std::fill_n(doubles(memory, a[0]), a[1], std::bit_cast<double>(a[2]));
      return true;
    case kComputeStream:
      std::memmove(memory.data() + a[0], memory.data() + a[1], a[2] * kDouble);
      return true;
    case kComputeAxpy: {
      double* y = doubles(memory, a[0]);
      const double* x = doubles(memory, a[1]);
      const double factor = std::bit_cast<double>(a[3]);
      for (std::uint64_t i = 0; i < a[2]; ++i) y[i] += factor * x[i];
      return true;
    }
    case kComputeDot: {
      const double *x = doubles(memory, a[1]), *y = doubles(memory, a[2]);
      double sum = 0;
      for (std::uint64_t i = 0; i < a[3]; ++i) sum += x[i] * y[i];
      *doubles(memory, a[0]) = sum;
      return true;
    }
    case kComputeMultiply:
      multiply(memory, a);
      return true;
    default:
      return forces(memory, a);
  }
}

}  // namespace weft::node
