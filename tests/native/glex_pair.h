/* An endpoint of GLEX with a buffer, and what the other rank has. */
#ifndef GLEX_PAIR_H
#define GLEX_PAIR_H

#include <glex.h>

#include "pair.h"

enum { kKey = 4711, kBytes = 65536 };

static glex_device_handle_t device;
static glex_device_attr_t limits;
static glex_ep_handle_t ep;
static glex_ep_addr_t here, there;
static glex_mem_handle_t mine, theirs;
static char* buffer;

static inline void set_up(void) {
  struct {
    uint64_t address, memory;
  } out, in;
  meet(); /* its port is the first of each */
  uint32_t count;
  CHECK(glex_num_of_device(&count) == GLEX_SUCCESS && count == 1);
  CHECK(glex_open_device(0, &device) == GLEX_SUCCESS);
  CHECK(glex_query_device(device, &limits) == GLEX_SUCCESS);
  struct glex_ep_attr wanted = {GLEX_EP_TYPE_FAST,
                                GLEX_MPQ_TYPE_NORMAL,
                                GLEX_EQ_TYPE_NORMAL,
                                GLEX_ANY_EP_NUM,
                                kKey,
                                GLEX_EP_DQ_CAPACITY_DEFAULT,
                                GLEX_EP_MPQ_CAPACITY_DEFAULT,
                                GLEX_EP_EQ_CAPACITY_DEFAULT};
  CHECK(glex_create_ep(device, &wanted, &ep) == GLEX_SUCCESS);
  CHECK(glex_get_ep_addr(ep, &here) == GLEX_SUCCESS);
  buffer = calloc(1, kBytes);
  CHECK(glex_register_mem(ep, buffer, kBytes, GLEX_MEM_READ | GLEX_MEM_WRITE, &mine) == GLEX_SUCCESS);
  out.address = here.v;
  out.memory = mine.v;
  exchange(&out, &in, sizeof out);
  there.v = in.address;
  theirs.v = in.memory;
}

static inline void expect_event(uint64_t cookie_0, uint64_t cookie_1) {
  glex_event_t* e;
  CHECK(glex_probe_first_event(ep, -1, &e) == GLEX_SUCCESS);
  CHECK(e->cookie_0 == cookie_0 && e->cookie_1 == cookie_1);
  CHECK(glex_discard_probed_event(ep) == GLEX_SUCCESS);
}

static inline struct glex_rdma_req rdma(enum glex_rdma_type type, uint32_t local, uint32_t remote,
                                        uint32_t len, int flag, uint64_t local_cookie,
                                        uint64_t remote_cookie) {
  struct glex_rdma_req r;
  memset(&r, 0, sizeof r);
  r.rmt_ep_addr = there;
  r.local_mh = mine;
  r.local_offset = local;
  r.len = len;
  r.rmt_mh = theirs;
  r.rmt_offset = remote;
  r.type = type;
  r.local_evt.cookie_0 = local_cookie;
  r.local_evt.cookie_1 = ~local_cookie;
  r.rmt_evt.cookie_0 = remote_cookie;
  r.rmt_evt.cookie_1 = ~remote_cookie;
  r.rmt_key = kKey;
  r.flag = flag;
  return r;
}

static inline void post(struct glex_rdma_req* r) {
  glex_ret_t result;
  while ((result = glex_rdma(ep, r, NULL)) == GLEX_BUSY) {
  }
  CHECK(result == GLEX_SUCCESS);
}

static inline int tear_down(const char* what) {
  glex_event_t* e;
  meet();
  CHECK(glex_probe_first_event(ep, 0, &e) == GLEX_NO_EVENT);
  CHECK(glex_deregister_mem(ep, mine) == GLEX_SUCCESS);
  CHECK(glex_destroy_ep(ep) == GLEX_SUCCESS);
  CHECK(glex_close_device(device) == GLEX_SUCCESS);
  free(buffer);
  return done(what);
}

#endif
