/* Collective requests by mini packets, for programs that exercise them. */
#ifndef GLEX_COLLECTIVE_H
#define GLEX_COLLECTIVE_H

#include "glex_pair.h"

enum {
  kAlone = GLEX_FLAG_COLL | GLEX_FLAG_COLL_SEQ_START | GLEX_FLAG_COLL_SEQ_TAIL,
  kCount = GLEX_FLAG_COLL | GLEX_FLAG_COLL_COUNTER
};

static inline glex_ret_t try_mp(glex_ep_addr_t to, const void* data, uint32_t len, uint32_t counter,
                                int flag) {
  struct glex_imm_mp_req r = {to, (void*)data, len, counter, flag, NULL};
  return glex_send_imm_mp(ep, &r, NULL);
}

static inline void mp(glex_ep_addr_t to, const void* data, uint32_t len, uint32_t counter, int flag) {
  glex_ret_t result;
  while ((result = try_mp(to, data, len, counter, flag)) == GLEX_BUSY) {
  }
  CHECK(result == GLEX_SUCCESS);
}

/* The next MP must be this one. */
static inline void expect_mp(glex_ep_addr_t from, const void* data, uint32_t len) {
  char in[128];
  uint32_t got = 0;
  glex_ep_addr_t source;
  CHECK(glex_receive_mp(ep, -1, &source, in, &got) == GLEX_SUCCESS);
  CHECK(source.v == from.v);
  CHECK(got == len);
  if (len) CHECK(memcmp(in, data, len) == 0);
}

static inline void expect_no_mp(void) {
  char in[128];
  weft_compute(20000);
  CHECK(glex_receive_mp(ep, 0, NULL, in, NULL) == GLEX_NO_MP);
}

static inline void expect_failure(enum glex_err_op op, enum glex_err_status status) {
  struct glex_err_req error;
  uint32_t num;
  do {
    num = 1;
    CHECK(glex_poll_error_req(ep, &num, &error) == GLEX_SUCCESS);
    if (!num) weft_compute(1000);
  } while (!num);
  if (error.op != op || error.status != status)
    fprintf(stderr, "%s: %s\n", glex_error_req_opcode_str(error.op), glex_error_req_status_str(error.status));
  CHECK(error.op == op && error.status == status);
}

static inline void expect_no_failure(void) {
  struct glex_err_req error;
  uint32_t num = 1;
  weft_compute(20000);
  CHECK(glex_poll_error_req(ep, &num, &error) == GLEX_SUCCESS && num == 0);
}

#endif
