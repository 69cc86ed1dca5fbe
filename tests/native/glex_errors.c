/* What interfaces refuse is in the list of errors, and nothing is written. */
#include "glex_pair.h"

static void expect_error(enum glex_err_op op, enum glex_err_status status) {
  struct glex_err_req e[4];
  uint32_t count = 0;
  CHECK(glex_poll_error_req(ep, &count, NULL) == GLEX_SUCCESS && count == 0);
  for (int i = 0; i < 100 && !count; ++i) {
    weft_compute(10000);
    count = 4;
    CHECK(glex_poll_error_req(ep, &count, e) == GLEX_SUCCESS);
  }
  if (count == 1 && e[0].status != status) fprintf(stderr, "%s\n", glex_error_req_status_str(e[0].status));
  CHECK(count == 1 && e[0].op == op && e[0].status == status && e[0].rmt_nic_id == there.nic_id);
}

int main(void) {
  set_up();
  if (me() == 0) {
    memset(buffer, 1, kBytes);
    struct glex_rdma_req r = rdma(GLEX_RDMA_TYPE_PUT, 0, 0, 64, 0, 0, 0);
    r.rmt_key = kKey + 1; /* another endpoint's key */
    post(&r);
    expect_error(GLEX_ERR_OP_RDMA_PUT, GLEX_ERR_STATUS_MMT);
    r.rmt_key = kKey;
    r.rmt_offset = kBytes - 10;
    post(&r);
    expect_error(GLEX_ERR_OP_RDMA_PUT, GLEX_ERR_STATUS_ATT);
    r.type = GLEX_RDMA_TYPE_GET;
    post(&r);
    expect_error(GLEX_ERR_OP_RDMA_GET, GLEX_ERR_STATUS_ATT);
    r.rmt_offset = 0;
    r.rmt_ep_addr.s.ep_num = 999;
    post(&r);
    expect_error(GLEX_ERR_OP_RDMA_GET, GLEX_ERR_STATUS_DEST_VP_STOP);
    struct glex_imm_mp_req mp = {r.rmt_ep_addr, buffer, 8, 0, 0, NULL};
    CHECK(glex_send_imm_mp(ep, &mp, NULL) == GLEX_SUCCESS);
    expect_error(GLEX_ERR_OP_IMM_MP, GLEX_ERR_STATUS_DEST_VP_STOP);
    r = rdma(GLEX_RDMA_TYPE_PUT, 0, 0, 0, 0, 0, 0);
    CHECK(glex_rdma(ep, &r, NULL) == GLEX_INVALID_PARAM);
    r = rdma(GLEX_RDMA_TYPE_PUT, 0, 0, 8, GLEX_FLAG_LOCAL_EVT, ~0ull, 0);
    CHECK(glex_rdma(ep, &r, NULL) == GLEX_INVALID_PARAM); /* its second cookie is 0 */
  }
  meet();
  if (me() == 1)
    for (int b = 0; b < kBytes; ++b) CHECK(buffer[b] == 0);
  return tear_down("glex_errors");
}
