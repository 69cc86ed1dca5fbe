/* Immediate RDMA: data in the request, an event there. */
#include "glex_pair.h"

int main(void) {
  set_up();
  char data[128];
  memset(data, 'i', sizeof data);
  struct glex_imm_rdma_req r, *bad;
  memset(&r, 0, sizeof r);
  r.rmt_ep_addr = there;
  r.data = data;
  r.len = limits.max_imm_rdma_data_len;
  r.rmt_mh = theirs;
  r.rmt_offset = 1000;
  r.rmt_key = kKey;
  r.flag = GLEX_FLAG_REMOTE_EVT;
  CHECK(glex_imm_rdma(ep, &r, &bad) == GLEX_INVALID_PARAM && bad == &r); /* an event without a cookie */
  r.rmt_evt.cookie_1 = 3;
  r.len = limits.max_imm_rdma_data_len + 1;
  CHECK(glex_imm_rdma(ep, &r, &bad) == GLEX_INVALID_PARAM);
  r.len = 0;
  CHECK(glex_imm_rdma(ep, &r, &bad) == GLEX_INVALID_PARAM);
  r.len = limits.max_imm_rdma_data_len;
  if (me() == 0) {
    CHECK(glex_imm_rdma(ep, &r, NULL) == GLEX_SUCCESS);
  } else {
    expect_event(0, 3);
    for (uint32_t b = 0; b < 2000; ++b) CHECK(buffer[b] == (b >= 1000 && b < 1000 + r.len ? 'i' : 0));
  }
  return tear_down("glex_immediate");
}
