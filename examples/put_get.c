/* Put, get and atomics with their notifications, and what happens to an error.
 *
 *   weft run torus -n 2 -- build/examples/put_get
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

#define SIZE 100000

static void check(int result, const char* what) {
  if (result < 0) {
    fprintf(stderr, "%s: %s\n", what, strerror(-result));
    exit(1);
  }
}

static const char* kind_name(unsigned kind) {
  static const char* const names[] = {"?",         "local",  "done",    "arrived",
                                      "responded", "failed", "stalled", "overflow"};
  return kind < 8 ? names[kind] : "?";
}

/* Prints events until one of a kind has come. */
static weft_event events_until(weft_port* port, int rank, unsigned kind) {
  weft_event e;
  for (;;) {
    int got = weft_poll(port, &e);
    check(got, "poll");
    if (got == 0) {
      check(weft_wait_for(port, 1 - rank, -1), "wait");
      continue;
    }
    printf("rank %d: %-9s context %llu, data %llu, %llu bytes, at %.3f us%s%s\n", rank, kind_name(e.kind),
           (unsigned long long)e.context, (unsigned long long)e.data, (unsigned long long)e.length,
           (double)e.time_ps / 1e6, e.status ? ": " : "", e.status ? weft_status_text(e.status) : "");
    if (e.kind == kind) return e;
  }
}

int main(void) {
  int rank = weft_rank();
  if (rank < 0 || weft_size() != 2) {
    fprintf(stderr, "start it with: weft run MACHINE -n 2 -- put_get\n");
    return 2;
  }
  weft_port* port;
  weft_address peer;
  weft_memory mine, theirs;
  weft_message m;
  int got;
  check(weft_open(&port), "open");
  check(weft_lookup(port, 1 - rank, 0, &peer), "lookup");
  unsigned char* memory = calloc(1, SIZE);
  unsigned rights = WEFT_REMOTE_READ | WEFT_REMOTE_WRITE | WEFT_REMOTE_ATOMIC;
  check(weft_register(port, memory, SIZE, rights, &mine), "register");
  check(weft_send(port, peer, &mine, sizeof mine, 0, 0, 0), "send");
  while ((got = weft_receive(port, &theirs, sizeof theirs, &m)) == 0)
    check(weft_wait_for(port, 1 - rank, -1), "wait");
  check(got, "receive");

  if (rank == 0) {
    for (int i = 8; i < SIZE / 2; ++i) memory[i] = (unsigned char)(i * 7);
    check(weft_put(port, mine.key, 11, theirs, 13, 40000, 42,
                   WEFT_NOTIFY_LOCAL | WEFT_NOTIFY_REMOTE | WEFT_NOTIFY_DONE, 1),
          "put");
    events_until(port, rank, WEFT_EVENT_DONE);
    check(weft_get(port, mine.key, SIZE / 2 + 3, theirs, 13, 40000, WEFT_NOTIFY_REMOTE | WEFT_NOTIFY_DONE, 2),
          "get");
    events_until(port, rank, WEFT_EVENT_DONE);
    if (memcmp(memory + 11, memory + SIZE / 2 + 3, 40000) != 0) {
      fprintf(stderr, "what came back is not what went out\n");
      return 1;
    }
    for (int i = 0; i < 3; ++i) {
      check(weft_fetch_add(port, theirs, 0, 5, 0, 3), "fetch and add");
      if (events_until(port, rank, WEFT_EVENT_DONE).data != (uint64_t)(5 * i)) return 1;
    }
    theirs.key ^= 1ull << 40; /* nobody has given us this key */
    check(weft_put(port, mine.key, 0, theirs, 0, 100, 0, 0, 4), "put");
    if (events_until(port, rank, WEFT_EVENT_FAILED).status != WEFT_BAD_KEY) return 1;
    check(weft_send(port, peer, NULL, 0, 1, 0, 0), "send");
  } else {
    events_until(port, rank, WEFT_EVENT_ARRIVED);
    events_until(port, rank, WEFT_EVENT_RESPONDED);
    while ((got = weft_receive(port, NULL, 0, &m)) == 0) check(weft_wait_for(port, 0, -1), "wait");
    uint64_t counter;
    memcpy(&counter, memory, sizeof counter);
    printf("rank %d: the counter is %llu\n", rank, (unsigned long long)counter);
    if (counter != 15) return 1;
  }
  check(weft_close(port), "close");
  free(memory);
  return 0;
}
