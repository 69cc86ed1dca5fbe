// Read once by the compiler for all of Weft: headers of the C++ library and of fmt that most files need, and
// how components are declared and registered, of the two lowest folders. Every file includes what it uses all
// the same: static checks compile each header alone, and the presets for debugging and sanitizers build
// without this.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "config/registry.hpp"
