// The functions of weft.h for loads and stores to memory of other nodes.
#include <errno.h>
#include <stdlib.h>

#include "lib/port.hpp"

using weft::abi::Call;
using weft::abi::Thread;
namespace abi = weft::abi;
namespace lib = weft::lib;

struct weft_window {
  weft_port* port;
  std::uint64_t number;  // of its interface
};

namespace {

int ask(weft_port* port, Call call, std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d,
        std::uint64_t* answer) {
  Thread* thread = lib::this_thread();
  if (!port || !thread) return -ENODEV;
  lib::Timed timed(*thread);
  thread->argument[0] = a;
  thread->argument[1] = b;
  thread->argument[2] = c;
  thread->argument[3] = d;
  int result = lib::ask(*thread, call, port->index, abi::kNoDeadline, abi::kNoRank);
  if (result == 0 && answer) *answer = thread->answer[0];
  return result;
}

int map(weft_port* port, std::uint64_t node, std::uint64_t share, std::uint64_t size, std::uint64_t how,
        weft_window** out) {
  if (!out) return -EINVAL;
  auto* window = static_cast<weft_window*>(calloc(1, sizeof(weft_window)));
  if (!window) return -ENOMEM;
  window->port = port;
  int result = ask(port, Call::Map, node, share, size, how, &window->number);
  if (result != 0) {
    free(window);
    return result;
  }
  *out = window;
  return 0;
}

}  // namespace

extern "C" {

int weft_share(weft_port* port, uint64_t key, uint64_t offset, uint64_t length, weft_shared* shared) {
  if (!shared) return -EINVAL;
  std::uint64_t number = 0;
  int result = ask(port, Call::Share, key, offset, length, 0, &number);
  if (result != 0) return result;
  *shared = {port->self.node, static_cast<uint32_t>(number), length};
  return 0;
}

int weft_unshare(weft_port* port, weft_shared shared) {
  return ask(port, Call::Unshare, shared.number, 0, 0, 0, nullptr);
}

int weft_map_remote(weft_port* port, weft_shared shared, weft_window** window) {
  return map(port, shared.node, shared.number, shared.length, 0, window);
}

int weft_map_all(weft_port* port, uint32_t number, uint64_t size, weft_window** window) {
  return map(port, 0, number, size, 1, window);
}

int weft_map_physical(weft_port* port, uint32_t node, uint64_t size, weft_window** window) {
  return map(port, node, 0, size, 2, window);
}

int weft_unmap_remote(weft_window* window) {
  if (!window) return -EINVAL;
  int result = ask(window->port, Call::Unmap, window->number, 0, 0, 0, nullptr);
  free(window);
  return result;
}

int weft_load(weft_window* window, uint64_t offset, unsigned bytes, uint64_t* value) {
  if (!window || !value || bytes > 8) return -EINVAL;
  return ask(window->port, Call::Load, window->number, offset, bytes, 0, value);
}

int weft_store(weft_window* window, uint64_t offset, unsigned bytes, uint64_t value) {
  if (!window || bytes > 8) return -EINVAL;
  return ask(window->port, Call::Store, window->number, offset, value, bytes, nullptr);
}
}
