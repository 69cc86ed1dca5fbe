/* Requests in a list, a fence between them, and events probed together. */
#include "glex_pair.h"

int main(void) {
  set_up();
  if (me() == 0) {
    struct glex_rdma_req list[4];
    for (int i = 0; i < 4; ++i) {
      memset(buffer + i * 1000, i + 1, 1000);
      list[i] = rdma(GLEX_RDMA_TYPE_PUT, (uint32_t)i * 1000, 0, 1000,
                     GLEX_FLAG_LOCAL_EVT | GLEX_FLAG_REMOTE_EVT | (i ? GLEX_FLAG_FENCE : 0), 10 + (uint64_t)i,
                     20 + (uint64_t)i);
      list[i].next = i < 3 ? &list[i + 1] : NULL;
    }
    post(list);
    for (uint64_t i = 0; i < 4; ++i) expect_event(10 + i, ~(10 + i));
  } else {
    weft_compute(200000);
    glex_event_t* e;
    CHECK(glex_probe_first_event(ep, -1, &e) == GLEX_SUCCESS && e->cookie_0 == 20);
    for (uint64_t i = 1; i < 4; ++i) {
      CHECK(glex_probe_next_event(ep, &e) == GLEX_SUCCESS && e->cookie_0 == 20 + i);
    }
    CHECK(glex_probe_next_event(ep, &e) == GLEX_NO_EVENT);
    CHECK(glex_discard_probed_event(ep) == GLEX_SUCCESS);
    for (int b = 0; b < 1000; ++b) CHECK(buffer[b] == 4);
  }
  return tear_down("glex_lists");
}
