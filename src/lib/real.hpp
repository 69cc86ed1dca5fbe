// The C library's own functions, behind those of the same name here.
#pragma once

#include <dlfcn.h>

#include "lib/weft.h"

/// next_NAME: the function NAME that this one stands before.
#define WEFT_REAL(name)                         \
  static decltype(&name) next_##name = nullptr; \
  if (!next_##name) next_##name = reinterpret_cast<decltype(&name)>(dlsym(RTLD_NEXT, #name))

namespace weft::lib {

/// While it lives, the thread waits for something real.
class Outside {
 public:
  Outside() { weft_outside_begin(); }
  ~Outside() { weft_outside_end(); }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
};

}  // namespace weft::lib
