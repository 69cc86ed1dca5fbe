/* What collective requests refuse, when they are posted and when they are sent. With an argument: on an
 * interface that has none of it. */
#include "glex_collective.h"

enum { kRoom = 1024 }; /* control packets that a port keeps: nic.trigger_inputs times trigger_rounds */

static void refused_when_posted(void) {
  char data[128] = {0};
  CHECK(try_mp(there, data, 8, 0, GLEX_FLAG_COLL_COUNTER) == GLEX_INVALID_PARAM); /* of no collective */
  CHECK(try_mp(there, data, 8, 0, GLEX_FLAG_COLL | GLEX_FLAG_COLL_SWAP) == GLEX_INVALID_PARAM);
  CHECK(try_mp(there, data, 8, 0, GLEX_FLAG_COLL | GLEX_FLAG_COLL_SEQ_TAIL) == GLEX_INVALID_PARAM);
  CHECK(try_mp(there, data, 8, 0, GLEX_FLAG_COLL | GLEX_FLAG_COLL_SWAP_SET) == GLEX_INVALID_PARAM);
  CHECK(try_mp(there, data, 8, 0, GLEX_FLAG_COLL | GLEX_FLAG_COLL_SWAP_EP) == GLEX_INVALID_PARAM);
  CHECK(try_mp(there, data, 8, 0, GLEX_FLAG_COLL | GLEX_FLAG_COLL_REDUCE_RESULT) == GLEX_INVALID_PARAM);
  CHECK(try_mp(there, data, 8, kRoom + 1, kAlone) == GLEX_INVALID_PARAM); /* never so many */
  CHECK(try_mp(there, data, 23, 0, kCount | GLEX_FLAG_COLL_CP_SWAP_ADDR) == GLEX_INVALID_PARAM);
  CHECK(try_mp(there, data, 32, 0, kAlone | GLEX_FLAG_COLL_REDUCE) == GLEX_INVALID_PARAM);
  CHECK(try_mp(there, data, 9, 0, kAlone | GLEX_FLAG_COLL_SWAP_SET) == GLEX_INVALID_PARAM);
  CHECK(try_mp(there, data, 113, 0, kAlone) == GLEX_INVALID_PARAM);
  struct glex_rdma_req r = rdma(GLEX_RDMA_TYPE_GET, 0, 0, 8, kCount, 0, 0);
  CHECK(glex_rdma(ep, &r, NULL) == GLEX_INVALID_PARAM); /* nothing arrives there that could be counted */
  r = rdma(GLEX_RDMA_TYPE_PUT, 0, 0, 8, kAlone | GLEX_FLAG_COLL_CP_DATA, 0, 0);
  CHECK(glex_rdma(ep, &r, NULL) == GLEX_INVALID_PARAM);
  r = rdma(GLEX_RDMA_TYPE_PUT, 0, 0, 8, kAlone | GLEX_FLAG_COLL_SWAP | GLEX_FLAG_COLL_SWAP_SET, 0, 0);
  CHECK(glex_rdma(ep, &r, NULL) == GLEX_INVALID_PARAM); /* a set of none */
  r.coll_set_num = GLEX_COLL_SET_MAX_NUM + 1;
  CHECK(glex_rdma(ep, &r, NULL) == GLEX_INVALID_PARAM);
  glex_event_t none = {0, 0};
  struct glex_imm_rdma_req small = {there, data, 8, theirs, 0, none, kKey, 0, kAlone | GLEX_FLAG_COLL_REDUCE,
                                    NULL};
  struct glex_imm_rdma_req* bad = NULL;
  CHECK(glex_imm_rdma(ep, &small, &bad) == GLEX_INVALID_PARAM && bad == &small);
  /* One sequence at a time. */
  mp(there, data, 8, 0, GLEX_FLAG_COLL | GLEX_FLAG_COLL_SEQ_START);
  CHECK(try_mp(there, data, 8, 0, kAlone) == GLEX_INVALID_PARAM);
  mp(there, data, 8, 0, GLEX_FLAG_COLL | GLEX_FLAG_COLL_SEQ_TAIL);
  /* Where a list is refused, what is before that has been posted. */
  struct glex_imm_mp_req last = {there, data, 8, 0, GLEX_FLAG_COLL | GLEX_FLAG_COLL_SWAP, NULL},
                         first = {there, data, 8, 0, kAlone, &last}, *wrong = NULL;
  CHECK(glex_send_imm_mp(ep, &first, &wrong) == GLEX_INVALID_PARAM && wrong == &last);
}

static void refused_payloads(void) {
  union glex_coll_data_loc v[8];
  char data[128] = {0};
  uint32_t len;
  memset(v, 0, sizeof v);
  const enum glex_coll_reduce_data_bits b32 = GLEX_COLL_REDUCE_DATA_BITS_32,
                                        b64 = GLEX_COLL_REDUCE_DATA_BITS_64;
  const enum glex_coll_reduce_op sum = GLEX_COLL_REDUCE_SUM_SIGNED;
  CHECK(glex_coll_compose_mp_reduce_data(v, 0, b32, sum, 1, data, &len) == GLEX_INVALID_PARAM);
  CHECK(glex_coll_compose_mp_reduce_data(v, 7, b32, sum, 1, data, &len) == GLEX_INVALID_PARAM);
  CHECK(glex_coll_compose_mp_reduce_data(v, 1, (enum glex_coll_reduce_data_bits)2, sum, 1, data, &len) ==
        GLEX_INVALID_PARAM);
  CHECK(glex_coll_compose_mp_reduce_data(v, 1, b32, (enum glex_coll_reduce_op)15, 1, data, &len) ==
        GLEX_INVALID_PARAM);
  CHECK(glex_coll_compose_mp_reduce_data(v, 1, b32, sum, GLEX_COLL_MAX_BRANCH_DEGREE + 1, data, &len) ==
        GLEX_INVALID_PARAM);
  CHECK(glex_coll_compose_mp_reduce_data(NULL, 1, b32, sum, 1, data, &len) == GLEX_INVALID_PARAM);
  CHECK(glex_coll_compose_mp_reduce_data(v, 1, b32, sum, 1, NULL, &len) == GLEX_INVALID_PARAM);
  CHECK(glex_coll_decompose_mp_reduce_data(v, 1, b32, data) == GLEX_INVALID_PARAM); /* it is none */
  CHECK(glex_coll_compose_mp_reduce_data(v, 2, b64, sum, 1, data, &len) == GLEX_SUCCESS && len == 48);
  CHECK(glex_coll_decompose_mp_reduce_data(v, 1, b64, data) == GLEX_INVALID_PARAM);
  CHECK(glex_coll_decompose_mp_reduce_data(v, 2, b32, data) == GLEX_INVALID_PARAM);
  CHECK(glex_coll_decompose_mp_reduce_data(v, 7, b64, data) == GLEX_INVALID_PARAM);
  CHECK(glex_coll_decompose_mp_reduce_data(NULL, 2, b64, data) == GLEX_INVALID_PARAM);
  CHECK(glex_coll_compose_mp_set_data(&there, GLEX_COLL_SET_MAX_NUM + 1, data, &len) == GLEX_INVALID_PARAM);
  CHECK(glex_coll_compose_mp_set_data(NULL, 1, data, &len) == GLEX_INVALID_PARAM);
  CHECK(glex_coll_compose_mp_set_data(NULL, 0, data, &len) == GLEX_SUCCESS && len == 0);
  CHECK(glex_coll_compose_mp_swap_addr_data(NULL, mine, 0, kKey, data, &len) == GLEX_INVALID_PARAM);
  CHECK(glex_coll_compose_mp_swap_addr_data(ep, mine, 0, kKey, NULL, &len) == GLEX_INVALID_PARAM);
}

/* What only the packets show: an error of the waiting request. They come from ourselves. */
static void refused_when_sent(void) {
  union glex_coll_data_loc v[2];
  char two[128], one[128], address[128];
  uint32_t len_two, len_one, len;
  memset(v, 0, sizeof v);
  CHECK(glex_coll_compose_mp_reduce_data(v, 2, GLEX_COLL_REDUCE_DATA_BITS_64, GLEX_COLL_REDUCE_BOR, 1, two,
                                         &len_two) == GLEX_SUCCESS);
  CHECK(glex_coll_compose_mp_reduce_data(v, 1, GLEX_COLL_REDUCE_DATA_BITS_64, GLEX_COLL_REDUCE_BOR, 1, one,
                                         &len_one) == GLEX_SUCCESS);
  const int bring = kCount | GLEX_FLAG_COLL_CP_SWAP_DATA;
  mp(there, two, len_two, 1, kAlone | GLEX_FLAG_COLL_REDUCE | GLEX_FLAG_COLL_CP_DATA);
  mp(here, one, len_one, 0, bring);
  expect_failure(GLEX_ERR_OP_IMM_MP, GLEX_ERR_STATUS_FORMAT);
  mp(there, NULL, 0, 1, kAlone | GLEX_FLAG_COLL_REDUCE_RESULT | GLEX_FLAG_COLL_CP_DATA);
  mp(here, "no number", 9, 0, bring);
  expect_failure(GLEX_ERR_OP_IMM_MP, GLEX_ERR_STATUS_FORMAT);
  /* A set of two, and one address. */
  struct glex_rdma_req r =
      rdma(GLEX_RDMA_TYPE_PUT, 0, 0, 8, kAlone | GLEX_FLAG_COLL_SWAP | GLEX_FLAG_COLL_SWAP_SET, 0, 0);
  r.coll_set_num = 2;
  r.coll_counter = 1;
  post(&r);
  CHECK(glex_coll_compose_mp_swap_addr_data(ep, mine, 0, kKey, address, &len) == GLEX_SUCCESS);
  mp(here, address, len, 0, kCount | GLEX_FLAG_COLL_CP_SWAP_ADDR);
  expect_failure(GLEX_ERR_OP_RDMA_PUT, GLEX_ERR_STATUS_FORMAT);
  /* Addresses are checked where they come to: another key, and beyond the end. */
  r = rdma(GLEX_RDMA_TYPE_PUT, 0, 0, 8, kAlone | GLEX_FLAG_COLL_SWAP | GLEX_FLAG_COLL_SWAP_EP, 0, 0);
  r.coll_counter = 1;
  post(&r);
  CHECK(glex_coll_compose_mp_swap_addr_data(ep, mine, 0, kKey + 1, address, &len) == GLEX_SUCCESS);
  mp(here, address, len, 0, kCount | GLEX_FLAG_COLL_CP_SWAP_ADDR);
  expect_failure(GLEX_ERR_OP_RDMA_PUT, GLEX_ERR_STATUS_MMT);
  post(&r);
  CHECK(glex_coll_compose_mp_swap_addr_data(ep, mine, kBytes, kKey, address, &len) == GLEX_SUCCESS);
  mp(here, address, len, 0, kCount | GLEX_FLAG_COLL_CP_SWAP_ADDR);
  expect_failure(GLEX_ERR_OP_RDMA_PUT, GLEX_ERR_STATUS_ATT);
  /* A target that is not there, of a waiting request and of one in a set. */
  glex_ep_addr_t nobody = there;
  nobody.s.ep_num = 999;
  mp(nobody, NULL, 0, 1, kAlone);
  mp(here, NULL, 0, 0, kCount);
  expect_failure(GLEX_ERR_OP_IMM_MP, GLEX_ERR_STATUS_DEST_VP_STOP);
  CHECK(glex_coll_compose_mp_set_data(&nobody, 1, address, &len) == GLEX_SUCCESS);
  mp(there, address, len, 1, kAlone | GLEX_FLAG_COLL_SWAP | GLEX_FLAG_COLL_SWAP_SET);
  mp(here, NULL, 0, 0, kCount);
  expect_failure(GLEX_ERR_OP_IMM_MP, GLEX_ERR_STATUS_DEST_VP_STOP);
  expect_no_failure();
}

/* Room is bounded on both sides. */
static void no_more_room(void) {
  /* A queue full of what waits takes no more; then all of it goes. */
  uint32_t posted = 0;
  while (try_mp(there, &posted, sizeof posted, 1, kAlone | GLEX_FLAG_COLL_CP_DATA) == GLEX_SUCCESS) ++posted;
  CHECK(posted == limits.max_ep_dq_capacity);
  meet();
  for (uint32_t i = 0; i < posted; ++i) expect_mp(there, &i, sizeof i);
  /* The other end keeps so many control packets that nothing waits for, and refuses the next. */
  meet();
  for (int i = 0; i <= kRoom; ++i) mp(there, NULL, 0, 0, kCount | GLEX_FLAG_NO_CONNECTION);
  expect_failure(GLEX_ERR_OP_IMM_MP, GLEX_ERR_STATUS_DEST_MPQ_FULL);
  struct glex_rdma_req r = rdma(GLEX_RDMA_TYPE_PUT, 0, 0, 8, kCount, 0, 0);
  post(&r);
  expect_failure(GLEX_ERR_OP_RDMA_PUT, GLEX_ERR_STATUS_DEST_MPQ_FULL);
  meet();
  expect_mp(there, "all", 3);
}

static void other_side(void) {
  meet();
  for (uint32_t i = 0; i < limits.max_ep_dq_capacity; ++i) {
    mp(there, NULL, 0, 0, kCount);
    uint32_t k = 0, len;
    CHECK(glex_receive_mp(ep, -1, NULL, &k, &len) == GLEX_SUCCESS && k == i);
    mp(there, &i, sizeof i, 0, 0);
  }
  meet();
  meet();
  mp(there, "all", 3, kRoom, kAlone | GLEX_FLAG_COLL_CP_DATA);
  expect_no_mp();
}

int main(int argc, char** argv) {
  (void)argv;
  set_up();
  if (argc > 1) {
    CHECK(try_mp(there, NULL, 0, 0, kCount) == GLEX_NOT_IMPLEMENTED);
    CHECK(try_mp(there, NULL, 0, 0, kAlone | GLEX_FLAG_COLL_REDUCE_RESULT) == GLEX_NOT_IMPLEMENTED);
  } else if (me() == 0) {
    refused_when_posted();
    refused_payloads();
    refused_when_sent();
    no_more_room();
  } else {
    other_side();
  }
  return tear_down("glex_collective_errors");
}
