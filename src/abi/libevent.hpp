// The library under PMIx, in ranks and in the simulator.
#pragma once

#include <dlfcn.h>

#include <initializer_list>

namespace weft::abi {

/// PMIx closes connections while libevent still watches them; whether libevent sees that, and complains on
/// standard error, is a matter of luck.
inline void silence_libevent() {
  using Log = void (*)(int, const char*);
  for (const char* name : {"libevent_core-2.1.so.7", "libevent-2.1.so.7"}) {
    void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    auto set = library ? reinterpret_cast<void (*)(Log)>(dlsym(library, "event_set_log_callback")) : nullptr;
    if (set) set([](int, const char*) {});
  }
}

}  // namespace weft::abi
