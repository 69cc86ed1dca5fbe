/* Sequences that wait for a number of control packets: none before all have come, in the order of posting,
 * without the processor. */
#include "glex_collective.h"

int main(void) {
  set_up();
  if (me() == 0) {
    /* Waits for three; what comes before is neither an MP nor an event. */
    mp(there, "go", 2, 3, kAlone | GLEX_FLAG_COLL_CP_DATA);
    /* The next is ready at once, but comes after it. */
    mp(there, "later", 5, 0, kAlone | GLEX_FLAG_COLL_CP_DATA);
    /* One that is no sequence waits for nothing. */
    mp(there, "first", 5, 0, GLEX_FLAG_COLL | GLEX_FLAG_COLL_CP_DATA);
    meet();
    expect_no_mp();
    meet();
    meet();
    /* Three requests in one sequence, fired by one packet; two of them by RDMA. */
    for (int i = 0; i < 256; ++i) buffer[i] = (char)i;
    struct glex_rdma_req first =
        rdma(GLEX_RDMA_TYPE_PUT, 0, 512, 256,
             GLEX_FLAG_COLL | GLEX_FLAG_COLL_SEQ_START | GLEX_FLAG_LOCAL_EVT | GLEX_FLAG_REMOTE_EVT, 11, 12);
    first.coll_counter = 1;
    post(&first);
    glex_event_t event = {13, 14};
    struct glex_imm_rdma_req second = {
        there, buffer, 8, theirs, 1024, event, kKey, 0, GLEX_FLAG_COLL | GLEX_FLAG_REMOTE_EVT, NULL};
    CHECK(glex_imm_rdma(ep, &second, NULL) == GLEX_SUCCESS);
    mp(there, NULL, 0, 0, GLEX_FLAG_COLL | GLEX_FLAG_COLL_CP_DATA | GLEX_FLAG_COLL_SEQ_TAIL);
    meet();
    expect_event(11, ~11ull); /* this processor did nothing for it */
    /* A put that counts: its data is there when what it fires comes back. */
    struct glex_rdma_req counted = rdma(GLEX_RDMA_TYPE_PUT, 0, 4096, 256, kCount, 0, 0);
    meet();
    post(&counted);
    expect_mp(there, "put", 3);
    struct glex_imm_rdma_req small = {there, buffer, 8, theirs, 2048, event, kKey, 0, kCount, NULL};
    CHECK(glex_imm_rdma(ep, &small, NULL) == GLEX_SUCCESS);
    expect_mp(there, "small", 5);
  } else {
    char first[8];
    uint32_t len = sizeof first;
    meet();
    CHECK(glex_receive_mp(ep, -1, NULL, first, &len) == GLEX_SUCCESS && len == 5);
    CHECK(memcmp(first, "first", 5) == 0);
    mp(there, NULL, 0, 0, kCount | GLEX_FLAG_NO_CONNECTION);
    mp(there, "unseen", 6, 0, kCount);
    expect_no_mp(); /* two of three */
    meet();
    mp(there, NULL, 0, 0, kCount);
    expect_mp(there, "go", 2);
    expect_mp(there, "later", 5);
    meet();
    meet();
    mp(there, NULL, 0, 0, kCount);
    expect_mp(there, NULL, 0);
    expect_event(12, ~12ull);
    expect_event(13, 14);
    for (int i = 0; i < 256; ++i) CHECK(buffer[512 + i] == (char)i);
    CHECK(memcmp(buffer + 1024, buffer + 512, 8) == 0);
    mp(there, "put", 3, 1, kAlone | GLEX_FLAG_COLL_CP_DATA);
    mp(there, "small", 5, 1, kAlone | GLEX_FLAG_COLL_CP_DATA);
    meet();
  }
  return tear_down("glex_counter");
}
