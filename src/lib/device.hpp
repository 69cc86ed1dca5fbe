// A device as the library sees it.
#pragma once

#include <cstdint>

struct weft_device {
  std::uint64_t number;  // of its node
};
