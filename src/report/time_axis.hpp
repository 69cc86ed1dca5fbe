// The axis of virtual time below a timeline.
#pragma once

#include <string>

#include "base/quantity.hpp"
#include "report/svg.hpp"

namespace weft::report {

/// From 0 at `origin` to `end`, `width` pixels to the right of it, in the unit that suits the end.
std::string time_axis(Point origin, double width, Time end);

}  // namespace weft::report
