/* Loads and stores to memory of another rank's node. Rank 0 owns the memory, rank 1 uses it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "weft.h"

static uint64_t memory[512];

static int owner(weft_port* port) {
  weft_memory registered;
  weft_shared shared;
  weft_address other;
  weft_register_anywhere(port, memory, sizeof memory, WEFT_REMOTE_READ | WEFT_REMOTE_WRITE, &registered);
  memory[5] = 55;
  int result = weft_share(port, registered.key, 0, 4088, &shared);
  if (result) return printf("share: %s\n", strerror(-result)), 1;
  weft_lookup(port, 1, 0, &other);
  weft_send(port, other, &shared, sizeof shared, 0, 0, 0);
  while (*(volatile uint64_t*)&memory[7] != 78) weft_pause();
  printf("seen %llu and %llu\n", (unsigned long long)memory[6], (unsigned long long)memory[7]);
  weft_message end;
  while (weft_receive(port, NULL, 0, &end) != 1) weft_wait(port, -1);
  printf("the last word is %llu\n", (unsigned long long)memory[511]);
  return 0;
}

static int user(weft_port* port) {
  weft_shared shared;
  weft_message message;
  weft_window* window;
  while (weft_receive(port, &shared, sizeof shared, &message) != 1) weft_wait(port, -1);
  int result = weft_map_remote(port, shared, &window);
  if (result) return printf("map: %s\n", strerror(-result)), 1;
  uint64_t value = 0;
  int64_t begin = weft_now_ps();
  result = weft_load(window, 40, 8, &value);
  int64_t loaded = weft_now_ps();
  printf("load %d: %llu\n", result, (unsigned long long)value);
  weft_store(window, 48, 8, 66);
  int64_t stored = weft_now_ps();
  weft_store(window, 56, 4, 78);
  printf("a load waits %s than a store\n", loaded - begin > 4 * (stored - loaded) ? "longer" : "no longer");
  printf("beyond the window: %s\n", strerror(-weft_load(window, 4088, 8, &value)));
  shared.length = 4096;
  weft_window* wider;
  weft_map_remote(port, shared, &wider);
  printf("beyond what is shared: %s\n", strerror(-weft_load(wider, 4088, 8, &value)));
  weft_store(wider, 4088, 8, 1);
  weft_event event;
  while (weft_poll(port, &event) != 1) weft_wait(port, -1);
  printf("event %u, operation %u: %s\n", event.kind, event.operation, weft_status_text(event.status));
  printf("unmapped: %d\n", weft_unmap_remote(window) | weft_unmap_remote(wider));
  weft_send(port, message.from, NULL, 0, 0, 0, 0);
  return 0;
}

int main(void) {
  weft_port* port;
  if (weft_open(&port)) return 1;
  return weft_rank() == 0 ? owner(port) : user(port);
}
