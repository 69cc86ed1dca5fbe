// The functions of weft.h for devices of the node.
#include "lib/device.hpp"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/port.hpp"

using weft::abi::Call;
using weft::abi::Thread;
namespace abi = weft::abi;
namespace lib = weft::lib;

namespace {

int ask(Thread& thread, Call call, std::int64_t deadline = abi::kNoDeadline) {
  return lib::ask(thread, call, abi::kNoPort, deadline, abi::kNoRank);
}

}  // namespace

extern "C" {

int64_t weft_space(void) { return lib::run() ? static_cast<int64_t>(lib::run()->rank) : -ENODEV; }

int weft_open_device(const char* name, weft_device** out) {
  if (!name || !out || !*name) return -EINVAL;
  if (!lib::take_over()) return lib::run() ? -EBUSY : -ENODEV;
  Thread* thread = lib::this_thread();
  if (!thread) return -ENODEV;
  size_t length = strlen(name);
  if (length >= sizeof thread->argument) return -ENODEV;
  lib::Timed timed(*thread);
  memset(thread->argument, 0, sizeof thread->argument);
  memcpy(thread->argument, name, length);
  int result = ask(*thread, Call::DeviceOpen);
  if (result != 0) return result;
  auto* device = static_cast<weft_device*>(calloc(1, sizeof(weft_device)));
  if (!device) return -ENOMEM;
  device->number = thread->answer[0];
  *out = device;
  return 0;
}

int weft_close_device(weft_device* device) {
  free(device);
  return 0;
}

int weft_read_register(weft_device* device, uint64_t offset, uint64_t* value) {
  Thread* thread = lib::this_thread();
  if (!device || !thread) return -ENODEV;
  if (!value) return -EINVAL;
  lib::Timed timed(*thread);
  thread->argument[0] = device->number;
  thread->argument[1] = offset;
  int result = ask(*thread, Call::DeviceRead);
  if (result == 0) *value = thread->answer[0];
  return result;
}

int weft_write_register(weft_device* device, uint64_t offset, uint64_t value) {
  Thread* thread = lib::this_thread();
  if (!device || !thread) return -ENODEV;
  lib::Timed timed(*thread);
  thread->argument[0] = device->number;
  thread->argument[1] = offset;
  thread->argument[2] = value;
  return ask(*thread, Call::DeviceWrite);
}

int weft_wait_device(weft_device* device, int64_t timeout_ns) {
  Thread* thread = lib::this_thread();
  if (!device || !thread) return -ENODEV;
  lib::Timed timed(*thread);
  std::int64_t deadline = abi::kNoDeadline, clock = lib::now(*thread);
  if (timeout_ns >= 0 && timeout_ns < (abi::kNoDeadline - clock) / 1000) deadline = clock + timeout_ns * 1000;
  thread->argument[0] = device->number;
  return ask(*thread, Call::DeviceWait, deadline);
}
}
