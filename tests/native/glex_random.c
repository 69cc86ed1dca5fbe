/* Ten thousand random steps against a model of both memories and of every event. */
#include "glex_pair.h"

enum { kSteps = 10000 };
static char model[2][kBytes];
static unsigned long long state = 4242;

static unsigned draw(unsigned n) { return next_random(&state) % n; }

int main(void) {
  set_up();
  uint64_t told = 0;
  if (me() == 0) {
    for (uint64_t step = 1; step <= kSteps; ++step) {
      uint32_t len = 1 + draw(800), local = draw(kBytes - len), remote = draw(kBytes - len);
      int flag = (draw(2) ? GLEX_FLAG_NO_CONNECTION : 0) | (draw(4) ? 0 : GLEX_FLAG_FENCE);
      if (draw(2)) flag |= GLEX_FLAG_REMOTE_EVT;
      const int put = (int)draw(2);
      if (put)
        for (uint32_t i = 0; i < len; ++i) buffer[local + i] = model[0][local + i] = (char)draw(256);
      struct glex_rdma_req r = rdma(put ? GLEX_RDMA_TYPE_PUT : GLEX_RDMA_TYPE_GET, local, remote, len,
                                    flag | GLEX_FLAG_LOCAL_EVT, step, step);
      post(&r);
      memcpy(put ? model[1] + remote : model[0] + local, put ? model[0] + local : model[1] + remote, len);
      expect_event(step, ~step);
      told += flag & GLEX_FLAG_REMOTE_EVT ? 1 : 0;
      if (put) weft_compute(5000); /* its event says that it has left, not that it is there */
    }
    CHECK(memcmp(buffer, model[0], kBytes) == 0);
    struct glex_rdma_req all = rdma(GLEX_RDMA_TYPE_GET, 0, 0, kBytes, GLEX_FLAG_LOCAL_EVT, 1, 0);
    post(&all);
    expect_event(1, ~1ull);
    CHECK(memcmp(buffer, model[1], kBytes) == 0);
    struct glex_imm_mp_req end = {there, &told, sizeof told, 0, 0, NULL};
    CHECK(glex_send_imm_mp(ep, &end, NULL) == GLEX_SUCCESS);
    printf("%llu events at the other side\n", (unsigned long long)told);
  } else {
    uint64_t seen = 0, before = 0, ended = 0;
    while (!ended || seen < told) {
      glex_event_t* e;
      while (glex_probe_first_event(ep, 0, &e) == GLEX_SUCCESS) {
        CHECK(e->cookie_0 > before && e->cookie_1 == ~e->cookie_0);
        before = e->cookie_0;
        ++seen;
        CHECK(glex_discard_probed_event(ep) == GLEX_SUCCESS);
      }
      if (!ended && glex_receive_mp(ep, 0, NULL, &told, NULL) == GLEX_SUCCESS) ended = 1;
    }
    CHECK(seen == told);
  }
  return tear_down("glex_random");
}
