// Read once by the compiler for all of Weft: headers of the C++ library and of fmt that most files need, and
// the machine, which half of them do. Every file includes what it uses all the same: static checks compile
// each header alone, and the presets for debugging and sanitizers build without this.
//
// Read once, but not for nothing: what inline functions of these headers use of templates is compiled in
// every file, whether it calls them or not. A header that few files need, or one with much code, costs more
// here than where it is used; docs/performance.md says how to see what it costs.
#pragma once

#include <version>
// Bessel functions and elliptic integrals of <cmath>: nobody uses them, and each file would compile them.
#undef _GLIBCXX_USE_STD_SPEC_FUNCS

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "machine/machine.hpp"
