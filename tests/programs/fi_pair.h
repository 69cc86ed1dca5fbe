/* What programs share that use libfabric between two ranks: checks, and a way around the provider to agree on
 * things. */
#pragma once
#include <errno.h>
#include <rdma/fi_domain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

static struct fid_cntr* sends;
static weft_port* side; /* how the ranks agree on things outside of the provider */
static weft_address other_side;
static int me;

#define CHECK(condition)                                                                  \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      fprintf(stderr, "rank %d, line %d: %s does not hold\n", me, __LINE__, #condition); \
      exit(1);                                                                            \
    }                                                                                     \
  } while (0)

/* A queue has few slots on some machines: what was posted before may not have left yet. */
static void send_aside(const void* mine, size_t length) {
  int sent;
  while ((sent = weft_send(side, other_side, mine, length, 1, 0, 0)) == -EAGAIN);
  CHECK(sent == 0);
}

static void exchange(const void* mine, void* theirs, size_t length) {
  weft_message m;
  char buffer[128];
  int got;
  send_aside(mine, length);
  while ((got = weft_receive(side, buffer, sizeof buffer, &m)) == 0) {
    if (sends) fi_cntr_read(sends); /* what was injected may need a hand to leave */
  }
  CHECK(got == 1 && m.length == length);
  if (length) memcpy(theirs, buffer, length);
}
