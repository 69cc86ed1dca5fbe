// The functions of weft.h for registers of chips anywhere in the machine.
#include "abi/registers.hpp"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/port.hpp"

namespace lib = weft::lib;
namespace registers = weft::abi::registers;
using weft::nic::Descriptor;
using weft::nic::Operation;

namespace {

constexpr unsigned kMost = 64;  // registers of one request; fewer where packets are small

/// A port of its own, so that events of the program's work stay where the program looks for them.
struct Requester {
  weft_port* port = nullptr;
  weft_memory memory{};
  std::uint64_t values[kMost] = {};
  bool busy = false;
};
Requester requester;

int ready(Requester& r) {
  if (__atomic_exchange_n(&r.busy, true, __ATOMIC_ACQUIRE)) return -EBUSY;
  if (r.port) return 0;
  int result = weft_open(&r.port);
  if (result == 0) result = weft_register_anywhere(r.port, r.values, sizeof r.values, 0, &r.memory);
  if (result != 0 && r.port) {
    weft_close(r.port);
    r.port = nullptr;
  }
  if (result != 0) __atomic_store_n(&r.busy, false, __ATOMIC_RELEASE);
  return result;
}

/// The request has ended: how.
int finish(Requester& r, int posted) {
  weft_event event{};
  int result = posted;
  while (result == 0) {
    if (weft_poll(r.port, &event) == 1) break;
    result = weft_wait(r.port, -1);
  }
  if (result == 0) result = static_cast<int>(event.status);
  __atomic_store_n(&r.busy, false, __ATOMIC_RELEASE);
  return result;
}

}  // namespace

extern "C" {

int weft_register_read(weft_chip chip, uint64_t offset, uint64_t* values, unsigned count) {
  if (!values || count == 0) return -EINVAL;
  if (count > kMost) return -EMSGSIZE;
  int result = ready(requester);
  if (result != 0) return result;
  result = weft_get(requester.port, requester.memory.key, 0, {{chip.node, 0}, chip.router}, offset,
                    std::uint64_t{count} * 8, weft::nic::kRegisters | WEFT_NOTIFY_DONE, 0);
  result = finish(requester, result);
  if (result == 0) memcpy(values, requester.values, std::size_t{count} * 8);
  return result;
}

int weft_register_write(weft_chip chip, uint64_t offset, uint64_t value) {
  int result = ready(requester);
  if (result != 0) return result;
  result = weft_put_immediate(requester.port, &value, 8, {{chip.node, 0}, chip.router}, offset, 0,
                              weft::nic::kRegisters | WEFT_NOTIFY_DONE, 0);
  return finish(requester, result);
}

int64_t weft_register_offset(const char* name, uint64_t index) {
  registers::Spot spot;
  if (!name || !registers::find(std::string_view(name, strlen(name)), spot)) return -ENOENT;
  if (index && !spot.stride) return -ERANGE;
  return static_cast<int64_t>(spot.at(index));
}

int weft_register_field(const char* name, uint64_t value, uint64_t* field) {
  registers::Spot spot;
  if (!field) return -EINVAL;
  if (!name || !registers::find(std::string_view(name, strlen(name)), spot)) return -ENOENT;
  *field = spot.of(value);
  return 0;
}
}
