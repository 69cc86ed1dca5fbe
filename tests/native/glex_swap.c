/* What a control packet brings takes the place of what waiting requests have: data, addresses, targets. */
#include "glex_collective.h"

enum { kPass = kAlone | GLEX_FLAG_COLL_CP_DATA | GLEX_FLAG_COLL_SWAP };

static void at_zero(void) {
  char address[128];
  uint32_t len;
  /* Data: what we send comes back in place of what the other prepared. */
  mp(there, "brought", 7, 0, kCount | GLEX_FLAG_COLL_CP_SWAP_DATA);
  expect_mp(there, "brought", 7);
  /* A packet without data changes nothing. */
  mp(there, "ignored", 7, 0, kCount);
  expect_mp(there, "own", 3);
  /* It may be seen there, too. */
  mp(there, "both", 4, 0, kCount | GLEX_FLAG_COLL_CP_SWAP_DATA | GLEX_FLAG_COLL_CP_DATA);
  expect_mp(there, "both", 4);
  /* Whom it goes to: whoever sent the packet. */
  mp(there, "answer", 6, 0, kCount | GLEX_FLAG_COLL_CP_SWAP_DATA);
  expect_mp(there, "answer", 6);
  /* Of several packets the last brings it. */
  mp(there, "one", 3, 0, kCount | GLEX_FLAG_COLL_CP_SWAP_DATA);
  mp(there, "two", 3, 0, kCount | GLEX_FLAG_COLL_CP_SWAP_DATA);
  expect_mp(there, "two", 3);
  /* An address of ours for the other's put, and one after the other for two. */
  CHECK(glex_coll_compose_mp_swap_addr_data(ep, mine, 100, kKey, address, &len) == GLEX_SUCCESS);
  mp(there, address, len, 0, kCount | GLEX_FLAG_COLL_CP_SWAP_ADDR);
  expect_event(21, ~21ull);
  for (int i = 0; i < 64; ++i) CHECK(buffer[100 + i] == 'x' && buffer[i] == 0);
  for (uint32_t i = 0; i < 2; ++i) {
    CHECK(glex_coll_compose_mp_swap_addr_data(ep, mine, 1000 + 1000 * i, kKey, address, &len) ==
          GLEX_SUCCESS);
    mp(there, address, len, 0, kCount | GLEX_FLAG_COLL_CP_SWAP_ADDR);
  }
  expect_event(22, ~22ull);
  expect_event(23, ~23ull);
  for (int i = 0; i < 64; ++i) CHECK(buffer[1000 + i] == 'x' && buffer[2000 + i] == 'x');
  /* A set of puts is one for each address; the other's descriptor names no target at all. */
  for (uint32_t i = 0; i < 3; ++i) {
    CHECK(glex_coll_compose_mp_swap_addr_data(ep, mine, 4000 + 100 * i, kKey, address, &len) == GLEX_SUCCESS);
    mp(there, address, len, 0, kCount | GLEX_FLAG_COLL_CP_SWAP_ADDR);
  }
  for (int i = 0; i < 3; ++i) expect_event(24, ~24ull);
  for (int i = 0; i < 300; ++i) CHECK(buffer[4000 + i] == (i % 100 < 64 ? 'x' : 0));
  /* A set of messages. */
  mp(there, "all", 3, 0, kCount | GLEX_FLAG_COLL_CP_SWAP_DATA);
  for (int i = 0; i < 3; ++i) expect_mp(there, "all", 3);
}

static void put_swapped(uint64_t cookie, int flag, uint32_t counter, uint32_t set) {
  struct glex_rdma_req r =
      rdma(GLEX_RDMA_TYPE_PUT, 0, 0, 64, GLEX_FLAG_COLL | GLEX_FLAG_COLL_SWAP | GLEX_FLAG_REMOTE_EVT | flag,
           0, cookie);
  r.coll_counter = counter;
  r.coll_set_num = set;
  if (set) r.rmt_ep_addr = here; /* the packets know better */
  post(&r);
}

static void at_one(void) {
  char set[128];
  uint32_t len;
  memset(buffer, 'x', 64);
  mp(there, "own", 3, 1, kPass);
  mp(there, "own", 3, 1, kPass);
  mp(there, "own", 3, 1, kPass);
  mp(here, "own", 3, 1, kPass | GLEX_FLAG_COLL_SWAP_EP);
  mp(there, "own", 3, 2, kPass);
  const int whole = GLEX_FLAG_COLL_SEQ_START | GLEX_FLAG_COLL_SEQ_TAIL;
  put_swapped(21, whole, 1, 0);
  put_swapped(22, GLEX_FLAG_COLL_SEQ_START, 2, 0);
  put_swapped(23, GLEX_FLAG_COLL_SEQ_TAIL, 0, 0);
  put_swapped(24, whole | GLEX_FLAG_COLL_SWAP_EP | GLEX_FLAG_COLL_SWAP_SET, 3, 3);
  glex_ep_addr_t twice[2] = {there, there};
  CHECK(glex_coll_compose_mp_set_data(twice, 2, set, &len) == GLEX_SUCCESS);
  mp(there, set, len, 1, kPass | GLEX_FLAG_COLL_SWAP_SET);
  expect_mp(there, "both", 4);
}

int main(void) {
  set_up();
  if (me() == 0)
    at_zero();
  else
    at_one();
  meet();
  expect_no_failure();
  expect_no_mp();
  return tear_down("glex_swap");
}
