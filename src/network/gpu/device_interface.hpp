// What the library with the device's code offers: a table of functions, so that the command needs no CUDA to
// be built or to run. Functions that can fail return nothing, or what went wrong, in words.
#pragma once

#include <cstddef>

#include "network/gpu/window.hpp"

namespace weft::network::gpu {

struct DeviceInterface {
  std::size_t network_bytes;  // of Network as the library knows it: both must be of one build
  const char* (*open)();
  std::size_t (*memory_left)();
  void* (*allocate)(std::size_t bytes);  // nothing where there is not so much
  void (*release)(void* memory);
  const char* (*write)(void* to, const void* from, std::size_t bytes);  // to the device,
  const char* (*read)(void* to, const void* from, std::size_t bytes);   // from it,
  const char* (*copy)(void* to, const void* from, std::size_t bytes);   // within it
  void* (*allocate_here)(std::size_t bytes);  // of the host, for what is copied while the network runs
  void (*release_here)(void* memory);
  const char* (*write_beside)(void* to, const void* from, std::size_t bytes);
  const char* (*read_beside)(void* to, const void* from, std::size_t bytes);
  const char* (*settle)();  // such copies
  const char* (*run)(const Network& network, const Span& span);
  const char* (*occupancy)(const Network& network, u32* by_port);  // into the device's memory
};

using DeviceInterfaceOf = const DeviceInterface*();
inline constexpr const char* kDeviceSymbol = "weft_gpu_interface";
inline constexpr const char* kDeviceLibrary = "libweft_gpu.so";

}  // namespace weft::network::gpu
