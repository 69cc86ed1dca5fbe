// A place on a page, and where a text stands by it.
#pragma once

#include <cmath>

namespace weft::report {

struct Point {
  double x = 0, y = 0;
  friend Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
  friend Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
  friend Point operator*(Point a, double f) { return {a.x * f, a.y * f}; }
  double length() const { return std::hypot(x, y); }
};

enum class Anchor { Start, Middle, End };

}  // namespace weft::report
