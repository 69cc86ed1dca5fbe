/* What programs share that use libfabric between two ranks: checks, and a way around the provider to agree on
 * things. */
#pragma once
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

static void exchange(const void* mine, void* theirs, size_t length) {
  weft_message m;
  char buffer[128];
  int got;
  CHECK(weft_send(side, other_side, mine, length, 1, 0, 0) == 0);
  while ((got = weft_receive(side, buffer, sizeof buffer, &m)) == 0) {
    if (sends) fi_cntr_read(sends); /* what was injected may need a hand to leave */
  }
  CHECK(got == 1 && m.length == length);
  if (length) memcpy(theirs, buffer, length);
}
