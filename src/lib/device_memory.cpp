// The functions of weft.h for memory of devices.
#include "lib/device_memory.hpp"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/device.hpp"
#include "lib/port.hpp"

using weft::abi::Call;
using weft::abi::Thread;
namespace abi = weft::abi;
namespace lib = weft::lib;

namespace weft::lib {

namespace {

constexpr std::size_t kPage = 4096;

// Written by a thread in virtual time, of which one runs at a time.
constexpr unsigned kMost = 256;
DeviceMapping mappings[kMost];
unsigned count = 0;

int ask_about_device(Thread& thread, Call call, std::uint32_t port = abi::kNoPort) {
  return lib::ask(thread, call, port, abi::kNoDeadline, abi::kNoRank);
}

/// Maps a part of a file of the simulator's over memory that is reserved.
bool map_over(void* at, std::size_t bytes, std::uint64_t process, std::uint64_t file, std::uint64_t offset) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%llu/fd/%llu", static_cast<unsigned long long>(process),
           static_cast<unsigned long long>(file));
  const int number = open(path, O_RDWR | O_CLOEXEC);
  if (number < 0) return false;
  void* mapped =
      mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, number, static_cast<off_t>(offset));
  close(number);
  return mapped != MAP_FAILED;
}

}  // namespace

const DeviceMapping* device_mapping(const void* base, std::size_t bytes) {
  auto* at = static_cast<const char*>(base);
  for (unsigned i = 0; i < count; ++i) {
    const DeviceMapping& m = mappings[i];
    if (at >= m.base && bytes <= m.bytes && at - m.base <= static_cast<std::ptrdiff_t>(m.bytes - bytes))
      return &m;
  }
  return nullptr;
}

int copy_on_device(void* device, void* other, std::size_t bytes, bool to_device) {
  Thread* thread = lib::this_thread();
  if (!thread) return -ENODEV;
  if (bytes == 0) return 0;
  lib::Timed timed(*thread);
  thread->argument[0] = reinterpret_cast<std::uint64_t>(device);
  thread->argument[1] = reinterpret_cast<std::uint64_t>(other);
  thread->argument[2] = bytes;
  thread->argument[3] = to_device ? 1 : 0;
  return ask_about_device(*thread, Call::DeviceCopy);
}

}  // namespace weft::lib

extern "C" {

int weft_device_memory(weft_device* device, size_t bytes, void** memory) {
  Thread* thread = lib::this_thread();
  if (!device || !thread) return -ENODEV;
  if (!memory || bytes == 0 || bytes > SIZE_MAX / 2) return -EINVAL;
  if (lib::count == lib::kMost) return -ENOSPC;
  const size_t whole = (bytes + lib::kPage - 1) / lib::kPage * lib::kPage;
  void* at = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return -ENOMEM;
  lib::Timed timed(*thread);
  thread->argument[0] = device->number;
  thread->argument[1] = whole;
  thread->argument[2] = reinterpret_cast<uint64_t>(at);
  int result = lib::ask_about_device(*thread, Call::DeviceMemory);
  if (result == 0) {
    const uint64_t offset = thread->answer[0];
    const bool is_peer = thread->answer[3] != 0;
    if (lib::map_over(at, whole, thread->answer[1], thread->answer[2], offset)) {
      lib::mappings[lib::count++] = {static_cast<char*>(at), whole, offset, is_peer};
      *memory = at;
      return 0;
    }
    result = -EACCES;
    thread->argument[0] = reinterpret_cast<uint64_t>(at);
    lib::ask_about_device(*thread, Call::DeviceFree);
  }
  munmap(at, whole);
  return result;
}

int weft_device_free(void* memory) {
  Thread* thread = lib::this_thread();
  if (!thread) return -ENODEV;
  for (unsigned i = 0; i < lib::count; ++i) {
    const lib::DeviceMapping m = lib::mappings[i];
    if (m.base != memory) continue;
    lib::Timed timed(*thread);
    thread->argument[0] = reinterpret_cast<uint64_t>(memory);
    const int result = lib::ask_about_device(*thread, Call::DeviceFree);
    munmap(m.base, m.bytes);
    lib::mappings[i] = lib::mappings[--lib::count];
    return result;
  }
  return -EINVAL;
}

int weft_device_copy(void* to, const void* from, size_t bytes) {
  const bool into = lib::device_mapping(to, bytes), out_of = lib::device_mapping(from, bytes);
  if (into == out_of) return -EINVAL;
  void* other = const_cast<void*>(from);
  return into ? lib::copy_on_device(to, other, bytes, true) : lib::copy_on_device(other, to, bytes, false);
}

int weft_device_offset(const void* memory, uint64_t* offset) {
  const lib::DeviceMapping* m = lib::device_mapping(memory, 1);
  if (!m || !offset) return -EINVAL;
  *offset = m->offset + static_cast<uint64_t>(static_cast<const char*>(memory) - m->base);
  return 0;
}

int weft_device_is_peer(const void* memory) {
  const lib::DeviceMapping* m = lib::device_mapping(memory, 1);
  return m ? m->is_peer : -EINVAL;
}

int weft_give_port(weft_port* port, weft_device* device, uint32_t* number) {
  Thread* thread = lib::this_thread();
  if (!port || !device || !thread) return -ENODEV;
  lib::Timed timed(*thread);
  thread->argument[0] = device->number;
  const int result = lib::ask_about_device(*thread, Call::DevicePort, port->index);
  if (result == 0 && number) *number = static_cast<uint32_t>(thread->answer[0]);
  return result;
}

int weft_command(weft_device* device, uint64_t command, const uint64_t* arguments, unsigned count,
                 int interrupt) {
  if (count > 8 || (count && !arguments)) return -EINVAL;
  for (unsigned i = 0; i < count; ++i)
    if (int result = weft_write_register(device, WEFT_COMPUTE_ARGUMENT + 8 * i, arguments[i]); result != 0)
      return result;
  if (int result = weft_write_register(device, WEFT_COMPUTE_COMMAND, command); result != 0) return result;
  return weft_write_register(device, WEFT_COMPUTE_DOORBELL, interrupt ? 1 : 0);
}
}
