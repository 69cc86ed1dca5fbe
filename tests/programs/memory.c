/* Memory in the tests of `weft run`: the registration cache and protection domains. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

#include "must.h"

static weft_event next_event(void) {
  weft_event e;
  while (weft_poll(port, &e) == 0) weft_wait(port, -1);
  return e;
}

/* Registers and says what it took, in nanoseconds. */
static weft_memory timed_register(void* base, size_t length, const char* what) {
  weft_memory m;
  int64_t begin = weft_now_ps();
  must(weft_register(port, base, length, 7, &m), "register");
  printf("%s %.0f ns\n", what, (double)(weft_now_ps() - begin) / 1000);
  return m;
}

/* Does a put to this key of our own still work? */
static const char* state_of(weft_memory m) {
  char byte = 1;
  must(weft_put_immediate(port, &byte, 1, m, 0, 0, WEFT_NOTIFY_DONE, 0), "put");
  return weft_status_text(next_event().status);
}

static void cache(void) {
  static char memory[3][8192] __attribute__((aligned(4096)));
  weft_memory a = timed_register(memory[0], 4096, "first");
  weft_memory again = timed_register(memory[0], 4096, "again");
  weft_memory other = timed_register(memory[0], 8192, "longer");
  printf("same key %d, other key %d\n", a.key == again.key, a.key != other.key);
  must(weft_unregister(port, a.key), "unregister");
  printf("one user left: %s\n", state_of(a));
  must(weft_unregister(port, again.key), "unregister");
  printf("none left: %s\n", state_of(a));
  timed_register(memory[0], 4096, "anew");
  /* Released ones are found again until their room is needed; there is room for three. */
  weft_memory b = timed_register(memory[1], 4096, "second");
  must(weft_release(port, b.key), "release");
  printf("released: %s\n", state_of(b));
  weft_memory c = timed_register(memory[1], 4096, "released");
  printf("same key %d\n", b.key == c.key);
  must(weft_release(port, c.key), "release");
  timed_register(memory[2], 4096, "third");
  printf("pushed out: %s\n", state_of(b));
}

/* Ranks 0 and 1 share a node, 2 is on another. 0 and 2 are in domain 7, 1 wants it too and gets 8. */
static void domains(void) {
  static char memory[4096];
  weft_message m;
  weft_memory there = {{0, 0}, 0};
  weft_address other;
  if (rank == 2) {
    must(weft_join_domain(port, 7), "join");
    must(weft_register_global(port, memory, sizeof memory, WEFT_REMOTE_WRITE, &there), "register");
    for (int i = 0; i < 2; ++i) {
      must(weft_lookup(port, i, 0, &other), "lookup");
      must(weft_send(port, other, &there, sizeof there, 0, 0, 0), "send");
    }
    weft_event e = next_event();
    printf("rank 2: event %u, memory %d %d\n", e.kind, memory[100], memory[200]);
    return;
  }
  if (rank == 1) {
    weft_compute(50000); /* after rank 0 */
    printf("rank 1: join %s\n", strerror(-weft_join_domain(port, 7)));
    must(weft_join_domain(port, 8), "join");
  } else {
    must(weft_join_domain(port, 7), "join");
    weft_compute(100000); /* after rank 1's attempt */
  }
  while (weft_receive(port, &there, sizeof there, &m) == 0) weft_wait(port, -1);
  char byte = (char)(rank + 41);
  must(weft_put_immediate(port, &byte, 1, there, rank ? 200 : 100, 0,
                          WEFT_GLOBAL | WEFT_NOTIFY_DONE | WEFT_NOTIFY_REMOTE, 0),
       "put");
  printf("rank %d: %s\n", rank, weft_status_text(next_event().status));
}

int main(int argc, char** argv) {
  must(weft_open(&port), "open");
  rank = weft_rank();
  if (argc > 1 && !strcmp(argv[1], "cache")) cache();
  if (argc > 1 && !strcmp(argv[1], "domains")) domains();
  return 0;
}
