// Read once by the compiler for all of Weft: headers of the C++ library and of fmt that most files need, and
// how components are declared and registered, of the two lowest folders. Every file includes what it uses all
// the same: static checks compile each header alone, and the presets for debugging and sanitizers build
// without this.
//
// Read once, but not for nothing: what inline functions of these headers use of templates is compiled in
// every file. A header that few files need, or one with much code, costs more here than where it is used.
#pragma once

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

#include "config/registry.hpp"
