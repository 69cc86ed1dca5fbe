/* What interfaces can do beyond plain messages and puts, for the tests of `weft run`. The first argument says what. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <weft.h>

#include "must.h"

static weft_address address_of(int other) {
  weft_address a = {0, 0};
  must(weft_lookup(port, other, 0, &a), "lookup");
  return a;
}

static weft_event next_event(void) {
  weft_event e;
  while (weft_poll(port, &e) == 0) weft_wait(port, -1);
  return e;
}

static void receive(void* to, size_t length) {
  weft_message m;
  while (weft_receive(port, to, length, &m) == 0) weft_wait(port, -1);
}

/* Both flood each other and read nothing until the watchdog lets them go: then everything must be there, once. */
static void flood(int count) {
  weft_address other = address_of(1 - rank);
  int received = 0, refused = 0, stalled = 0;
  int64_t longest = 0;
  for (int i = 0; i < count;) {
    int64_t begin = weft_now_ps();
    int result = weft_send(port, other, &i, sizeof i, (uint32_t)i, 0, 0);
    int64_t took = weft_now_ps() - begin;
    if (took > longest) longest = took;
    if (result == 0) {
      ++i;
      continue;
    }
    refused += result == -EAGAIN;
    stalled += result == -ETIMEDOUT;
    weft_message m;
    int number;
    weft_wait(port, -1);
    while (weft_receive(port, &number, sizeof number, &m) == 1)
      if (number != received++) must(-EPROTO, "order");
  }
  for (; received < count; ++received) {
    int number;
    receive(&number, sizeof number);
    if (number != received) must(-EPROTO, "order");
  }
  printf("rank %d: %d received, let go %d times, refused %d times, stood %.0f us at most\n", rank, received, stalled,
         refused, (double)longest / 1e6);
}

/* Sends to one who computes, and stands there until room comes. */
static void stand(void) {
  if (rank == 1) {
    int number;
    weft_compute(1000000);
    for (int i = 0; i < 100; ++i) receive(&number, sizeof number);
    return;
  }
  weft_address other = address_of(1);
  for (int i = 0; i < 100; ++i) must(weft_send(port, other, &i, sizeof i, 0, 0, 0), "send");
  printf("rank 0: all posted after %s than 1 ms\n", weft_now_ps() > 1000000000 ? "more" : "less");
}

/* A mailbox of four messages beside the port of full size. */
static void mailbox(void) {
  weft_limits full, small;
  weft_port* box;
  must(weft_get_limits(port, &full), "limits");
  printf("%d %d\n", weft_open_mailbox(&box, 1), weft_open_mailbox(&box, (full.message_slots + 1) * full.message_limit));
  must(weft_open_mailbox(&box, 4 * full.message_limit), "mailbox");
  must(weft_get_limits(box, &small), "limits");
  printf("%u of %u slots\n", small.message_slots, full.message_slots);
  weft_address to;
  must(weft_self(box, &to), "self");
  for (int i = 0; i < 10; ++i) must(weft_send(port, to, &i, sizeof i, 0, 0, 0), "send");
  weft_compute(50000);
  for (int i = 0; i < 10; ++i) {
    int number = -1;
    weft_message m;
    while (weft_receive(box, &number, sizeof number, &m) == 0) weft_wait(box, -1);
    printf("%d ", number);
  }
  printf("\n");
  must(weft_close(box), "close");
  /* Its index is used again: what was in its slots is not seen any more. */
  must(weft_open_mailbox(&box, 4 * full.message_limit), "mailbox");
  weft_message m;
  int number;
  printf("anew: %d\n", weft_receive(box, &number, sizeof number, &m));
}

/* Plain stores and loads on one side, remote access on the other, and nothing in between. */
static void coherent(void) {
  static volatile uint64_t shared[512];
  weft_memory mine, there;
  must(weft_register(port, (void*)shared, sizeof shared, 7, &mine), "register");
  if (rank == 1) {
    shared[0] = 1;
    must(weft_send(port, address_of(0), &mine, sizeof mine, 0, 0, 0), "send");
    shared[0] = 41; /* after it was made known, and told to nobody */
    while (next_event().kind != WEFT_EVENT_ARRIVED) continue;
    printf("rank 1: loads %llu\n", (unsigned long long)shared[1]);
    shared[1] += 100; /* and the next remote unit adds to it */
    char go = 1;
    must(weft_send(port, address_of(0), &go, 1, 0, 0, 0), "send");
    while (next_event().kind != WEFT_EVENT_ARRIVED) continue;
    printf("rank 1: loads %llu\n", (unsigned long long)shared[1]);
    return;
  }
  receive(&there, sizeof there);
  must(weft_get(port, mine.key, 0, there, 0, 8, WEFT_NOTIFY_DONE, 0), "get");
  while (next_event().kind != WEFT_EVENT_DONE) continue;
  printf("rank 0: gets %llu\n", (unsigned long long)shared[0]);
  uint64_t value = 7;
  must(weft_put_immediate(port, &value, 8, there, 8, 0, WEFT_NOTIFY_REMOTE, 0), "put");
  char go;
  receive(&go, 1);
  must(weft_fetch_add(port, there, 8, 1000, WEFT_NOTIFY_REMOTE, 0), "add");
  weft_event e = next_event();
  printf("rank 0: found %llu\n", (unsigned long long)e.data);
}

/* Rank 0 stands for a kernel; rank 1 tries the same as a process. */
static void kernel(void) {
  static char memory[8192] __attribute__((aligned(4096)));
  weft_memory m;
  weft_port* own = port;
  uint64_t here = 0;
  printf("rank %d: as a process: %s\n", rank, strerror(-weft_physical(port, 1, 0, &here)));
  must(weft_open_kernel(&port), "open");
  must(weft_register(port, memory, sizeof memory, 0, &m), "register");
  must(weft_physical(port, m.key, 0, &here), "physical");
  uint64_t there = 0;
  weft_address other;
  must(weft_lookup(own, 1 - rank, 1, &other), "lookup");
  must(weft_send(port, other, &here, sizeof here, 0, 0, 0), "send");
  receive(&there, sizeof there);
  if (rank == 1) {
    while (next_event().kind != WEFT_EVENT_ARRIVED) continue;
    printf("rank 1: has %d\n", memory[5000]);
    return;
  }
  memory[5000] = 77;
  weft_memory to = {other, 0};
  must(weft_put(own, 0, here + 5000, to, there + 5000, 1, 0, WEFT_PHYSICAL | WEFT_NOTIFY_DONE, 0), "put");
  weft_event e;
  while (weft_poll(own, &e) == 0) weft_wait(own, -1);
  printf("rank 0: a process: %s\n", weft_status_text(e.status));
  must(weft_put(port, 0, here + 5000, to, there + 5000, 1, 0,
                WEFT_PHYSICAL | WEFT_NOTIFY_DONE | WEFT_NOTIFY_REMOTE, 0),
       "put");
  printf("rank 0: the kernel: %s\n", weft_status_text(next_event().status));
}

/* Memory behind a global address is exchanged while another rank writes to it. */
static void move(void) {
  static char memory[2][4096] __attribute__((aligned(4096)));
  weft_memory there;
  char byte = 0;
  must(weft_join_domain(port, 5), "join");
  if (rank == 1) {
    must(weft_register_global(port, memory[0], 4096, WEFT_REMOTE_WRITE, &there), "register");
    must(weft_send(port, address_of(0), &there, sizeof there, 0, 0, 0), "send");
    while (next_event().kind != WEFT_EVENT_ARRIVED) continue;
    int result = weft_move_global(port, there.key, memory[1]);
    printf("rank 1: %s\n", strerror(-result));
    must(weft_send(port, address_of(0), &byte, 1, 0, 0, 0), "send");
    while (next_event().kind != WEFT_EVENT_ARRIVED) continue;
    printf("rank 1: %d %d\n", memory[0][9], memory[1][9]);
    return;
  }
  receive(&there, sizeof there);
  for (byte = 1; byte < 3; ++byte) {
    char go;
    must(weft_put_immediate(port, &byte, 1, there, 9, 0, WEFT_GLOBAL | WEFT_NOTIFY_REMOTE, 0), "put");
    if (byte == 1) receive(&go, 1);
  }
}

/* Two ranks of a node register at once: who keeps the table serves one after the other. */
static void table(void) {
  static char memory[16 * 4096] __attribute__((aligned(4096)));
  weft_memory m;
  weft_address other;
  must(weft_lookup(port, 1 - rank, 0, &other), "lookup");
  int64_t begin = weft_now_ps();
  must(weft_register(port, memory, sizeof memory, 0, &m), "register");
  printf("rank %d: %.0f ns\n", rank, (double)(weft_now_ps() - begin) / 1000);
}

/* Waits for a put by looking at memory alone. */
static void look(void) {
  static volatile char memory[4096];
  weft_memory mine, there;
  must(weft_register(port, (void*)memory, sizeof memory, WEFT_REMOTE_WRITE, &mine), "register");
  if (rank == 1) {
    must(weft_send(port, address_of(0), &mine, sizeof mine, 0, 0, 0), "send");
    int looks = 0;
    for (; !memory[10]; ++looks) weft_pause();
    printf("rank 1: %d at %.3f us after %s looks\n", memory[10], (double)weft_now_ps() / 1e6, looks < 100 ? "few" : "many");
    return;
  }
  receive(&there, sizeof there);
  weft_compute(5000000);
  char byte = 3;
  must(weft_put_immediate(port, &byte, 1, there, 10, 0, WEFT_NOTIFY_DONE, 0), "put");
  next_event();
}

/* All look at memory that nobody writes to. */
static void stare(void) {
  static volatile char memory[1];
  while (!memory[0]) weft_pause();
}

/* Virtual time stands for a while: the system's own sleep is not seen. */
static void stand_still(void) {
  struct timespec time = {11, 0};
  if (rank == 1) syscall(SYS_nanosleep, &time, NULL);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  rank = weft_rank();
  must(weft_open(&port), "open");
  if (!strcmp(what, "flood")) flood(200);
  if (!strcmp(what, "stand")) stand();
  if (!strcmp(what, "mailbox")) mailbox();
  if (!strcmp(what, "coherent")) coherent();
  if (!strcmp(what, "kernel")) kernel();
  if (!strcmp(what, "move")) move();
  if (!strcmp(what, "table")) table();
  if (!strcmp(what, "look")) look();
  if (!strcmp(what, "stare")) stare();
  if (!strcmp(what, "stand-still")) stand_still();
  return 0;
}
