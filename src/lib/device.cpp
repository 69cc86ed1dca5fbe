// The functions of weft.h for devices of the node.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/port.hpp"

using weft::abi::Call;
using weft::abi::Lane;
namespace abi = weft::abi;
namespace lib = weft::lib;

struct weft_device {
  std::uint64_t number;  // of its node
};

namespace {

int ask(Lane& lane, Call call, std::int64_t deadline = abi::kNoDeadline) {
  return lib::ask(lane, call, abi::kNoPort, deadline, abi::kNoRank);
}

}  // namespace

extern "C" {

int64_t weft_space(void) { return lib::run() ? static_cast<int64_t>(lib::run()->rank) : -ENODEV; }

int weft_open_device(const char* name, weft_device** out) {
  if (!name || !out || !*name) return -EINVAL;
  if (!lib::take_over()) return lib::run() ? -EBUSY : -ENODEV;
  Lane* lane = lib::lane();
  if (!lane) return -ENODEV;
  size_t length = strlen(name);
  if (length >= sizeof lane->argument) return -ENODEV;
  lib::Timed timed(*lane);
  memset(lane->argument, 0, sizeof lane->argument);
  memcpy(lane->argument, name, length);
  int result = ask(*lane, Call::DeviceOpen);
  if (result != 0) return result;
  auto* device = static_cast<weft_device*>(calloc(1, sizeof(weft_device)));
  if (!device) return -ENOMEM;
  device->number = lane->answer[0];
  *out = device;
  return 0;
}

int weft_close_device(weft_device* device) {
  free(device);
  return 0;
}

int weft_read_register(weft_device* device, uint64_t offset, uint64_t* value) {
  Lane* lane = lib::lane();
  if (!device || !lane) return -ENODEV;
  if (!value) return -EINVAL;
  lib::Timed timed(*lane);
  lane->argument[0] = device->number;
  lane->argument[1] = offset;
  int result = ask(*lane, Call::DeviceRead);
  if (result == 0) *value = lane->answer[0];
  return result;
}

int weft_write_register(weft_device* device, uint64_t offset, uint64_t value) {
  Lane* lane = lib::lane();
  if (!device || !lane) return -ENODEV;
  lib::Timed timed(*lane);
  lane->argument[0] = device->number;
  lane->argument[1] = offset;
  lane->argument[2] = value;
  return ask(*lane, Call::DeviceWrite);
}

int weft_wait_device(weft_device* device, int64_t timeout_ns) {
  Lane* lane = lib::lane();
  if (!device || !lane) return -ENODEV;
  lib::Timed timed(*lane);
  std::int64_t deadline = abi::kNoDeadline, clock = lib::now(*lane);
  if (timeout_ns >= 0 && timeout_ns < (abi::kNoDeadline - clock) / 1000) deadline = clock + timeout_ns * 1000;
  lane->argument[0] = device->number;
  return ask(*lane, Call::DeviceWait, deadline);
}
}
