/* A process with a registered buffer, and the other rank's. */
#ifndef APENET_PAIR_H
#define APENET_PAIR_H

#include <apenet.h>
#include <errno.h>

#include "pair.h"

enum { kBytes = 65536 };
static rdma_peer_t self, other;
static rdma_address_t here, there;
static char* buffer;

static inline void set_up(void) {
  struct {
    rdma_peer_t peer;
    rdma_address_t address;
  } mine, theirs;
  meet();
  CHECK(rdma_open() == 0 && rdma_open() == -EALREADY);
  CHECK(rdma_self(&self) == 0);
  buffer = calloc(1, kBytes);
  CHECK(register_buffer(buffer, kBytes, &here) == 0);
  mine.peer = self;
  mine.address = here;
  exchange(&mine, &theirs, sizeof mine);
  other = theirs.peer;
  there = theirs.address;
}

static inline rdma_event_t expect(enum rdma_event_kind kind) {
  rdma_event_t e;
  CHECK(wait_event(&e, -1) == 0);
  if (e.kind != kind) fprintf(stderr, "event of kind %d, error %d\n", e.kind, e.error);
  CHECK(e.kind == kind);
  return e;
}

static inline int tear_down(const char* what) {
  rdma_event_t e;
  meet();
  CHECK(wait_event(&e, 0) == -ETIMEDOUT);
  CHECK(unregister_buffer(buffer) == 0 && unregister_buffer(buffer) == -ENOENT);
  CHECK(rdma_close() == 0 && rdma_close() == -ENODEV);
  free(buffer);
  return done(what);
}

#endif
