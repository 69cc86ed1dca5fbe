/* A port of VELO, connected to the other rank's. */
#ifndef VELO2_PAIR_H
#define VELO2_PAIR_H

#include <velo2.h>
#include <velo2_mod.h>

#include "pair.h"

static velo2_port_t port;
static velo2_connection_t other;
static uint32_t other_id;

static inline void set_up(void) {
  meet(); /* its port is the first of each */
  CHECK(velo2_open(&port) == VELO2_RET_SUCCESS && port.map);
  uint32_t mine = VELO2_ADDR_PACK(velo2_get_nodeid(&port), velo2_get_vpid(&port)), node, vpid;
  exchange(&mine, &other_id, sizeof mine);
  VELO2_ADDR_UNPACK(other_id, node, vpid);
  CHECK(velo2_connect(&port, &other, (velo2_nodeid_t)node, (velo2_vpid_t)vpid) == VELO2_RET_SUCCESS);
  CHECK(other.dest.raw == other_id && other.state_map);
}

static inline int tear_down(const char* what) {
  meet();
  CHECK(velo2_disconnect(&port, &other) == VELO2_RET_SUCCESS && !other.state_map);
  CHECK(velo2_close(&port) == VELO2_RET_SUCCESS && !port.map);
  return done(what);
}

#endif
