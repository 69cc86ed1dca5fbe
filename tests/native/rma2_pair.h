/* A port of RMA2 with a buffer, connected to the other rank's. */
#ifndef RMA2_PAIR_H
#define RMA2_PAIR_H

#include <rma2.h>

#include "pair.h"

static RMA2_Port port;
static RMA2_Handle other;
static RMA2_Region* region;
static char* buffer;
static RMA2_NLA there, here; /* first byte of the other's buffer and of ours */
static RMA2_Nodeid other_node;
static RMA2_VPID other_vpid;

static inline void set_up(size_t size) {
  struct {
    RMA2_Nodeid node;
    RMA2_VPID vpid;
    RMA2_NLA nla;
  } mine, theirs;
  meet(); /* its port is the first of each */
  CHECK(rma2_open(&port) == RMA2_SUCCESS);
  CHECK(posix_memalign((void**)&buffer, 4096, size) == 0);
  memset(buffer, 0, size);
  CHECK(rma2_register(port, buffer, size, &region) == RMA2_SUCCESS);
  memset(&mine, 0, sizeof mine);
  mine.node = rma2_get_nodeid(port);
  mine.vpid = rma2_get_vpid(port);
  CHECK(rma2_get_nla(region, 0, &mine.nla) == RMA2_SUCCESS);
  exchange(&mine, &theirs, sizeof mine);
  here = mine.nla;
  there = theirs.nla;
  other_node = theirs.node;
  other_vpid = theirs.vpid;
  CHECK(rma2_connect(port, theirs.node, theirs.vpid, RMA2_CONN_DEFAULT, &other) == RMA2_SUCCESS);
}

/* The next notification, which must be of this unit and command; freed. */
static inline RMA2_Notification expect(RMA2_Notification_Spec unit, RMA2_Command command) {
  RMA2_Notification *n, copy;
  CHECK(rma2_noti_get_block(port, &n) == RMA2_SUCCESS);
  if (rma2_noti_get_notification_type(n) != unit || rma2_noti_get_cmd(n) != command)
    rma2_noti_fdump(n, stderr);
  CHECK(rma2_noti_get_notification_type(n) == unit);
  CHECK(rma2_noti_get_cmd(n) == command);
  CHECK(rma2_noti_dup(n, &copy) == RMA2_SUCCESS);
  CHECK(rma2_noti_free(port, n) == RMA2_SUCCESS);
  return copy;
}

static inline int tear_down(const char* what) {
  RMA2_Notification* n;
  meet();
  CHECK(rma2_noti_probe(port, &n) == RMA2_NO_NOTI); /* nothing that nobody asked for */
  CHECK(rma2_disconnect(port, other) == RMA2_SUCCESS);
  CHECK(rma2_unregister(port, region) == RMA2_SUCCESS);
  CHECK(rma2_close(port) == RMA2_SUCCESS);
  free(buffer);
  return done(what);
}

#endif
