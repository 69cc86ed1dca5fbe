// Memory of devices that this process has mapped.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::lib {

struct DeviceMapping {
  char* base;
  std::size_t bytes;     // whole pages
  std::uint64_t offset;  // in the device's memory
  bool is_peer;          // interfaces reach it
};

/// The mapping that all of a range lies in; null where it is other memory. Asked for every message, so that
/// most processes, which have none, pay one comparison.
const DeviceMapping* device_mapping(const void* base, std::size_t bytes);

/// Copies by the device; 0 or a negative errno. `device` is where its memory is mapped.
int copy_on_device(void* device, void* other, std::size_t bytes, bool to_device);

}  // namespace weft::lib
