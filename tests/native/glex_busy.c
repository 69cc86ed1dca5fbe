/* A full queue: the request that did not fit is named, and clients try again. */
#include "glex_pair.h"

int main(void) {
  set_up();
  enum { kMany = 3000, kPut = 8192 };
  unsigned busy = 0;
  if (me() == 0) {
    static struct glex_rdma_req list[kMany];
    for (int i = 0; i < kMany; ++i) {
      list[i] = rdma(GLEX_RDMA_TYPE_PUT, 0, (uint32_t)(i % 8) * kPut, kPut, GLEX_FLAG_NO_CONNECTION, 0, 0);
      list[i].next = i + 1 < kMany ? &list[i + 1] : NULL;
    }
    list[kMany - 1].flag |= GLEX_FLAG_LOCAL_EVT;
    list[kMany - 1].local_evt.cookie_1 = 9;
    memset(buffer, 7, kPut);
    struct glex_rdma_req *next = list, *bad;
    while (glex_rdma(ep, next, &bad) == GLEX_BUSY) {
      ++busy;
      next = bad;
    }
    CHECK(busy > 0);
    expect_event(0, 9);
    weft_compute(100000);
  }
  meet();
  if (me() == 1)
    for (int b = 0; b < 8 * kPut; ++b) CHECK(buffer[b] == 7);
  return tear_down("glex_busy");
}
