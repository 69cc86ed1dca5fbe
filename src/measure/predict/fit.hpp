// Small fits: what experiments and predictions draw through their points.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace weft::measure {

/// The coefficients that bring `rows` closest to `values`: normal equations, eliminated with pivots.
template <std::size_t N>
std::array<double, N> least_squares(const std::vector<std::array<double, N>>& rows,
                                    const std::vector<double>& values) {
  std::array<std::array<double, N + 1>, N> a{};
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t i = 0; i < N; ++i) {
      for (std::size_t j = 0; j < N; ++j) a[i][j] += rows[r][i] * rows[r][j];
      a[i][N] += rows[r][i] * values[r];
    }
  for (std::size_t k = 0; k < N; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < N; ++i)
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    std::swap(a[k], a[pivot]);
    if (a[k][k] == 0) continue;
    for (std::size_t i = 0; i < N; ++i) {
      if (i == k) continue;
      double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j <= N; ++j) a[i][j] -= factor * a[k][j];
    }
  }
  std::array<double, N> out{};
  for (std::size_t k = 0; k < N; ++k) out[k] = a[k][k] == 0 ? 0 : a[k][N] / a[k][k];
  return out;
}

}  // namespace weft::measure
