/* Ten thousand random steps against a model of both memories and of every event. */
#include "apenet_pair.h"

enum { kSteps = 10000 };
static char model[2][kBytes];
static unsigned long long state = 99;

static unsigned draw(unsigned n) { return next_random(&state) % n; }

int main(void) {
  set_up();
  if (me() == 0) {
    for (uint64_t step = 1; step <= kSteps; ++step) {
      uint32_t size = 1 + draw(500), mine = draw(kBytes - size), theirs = draw(kBytes - size);
      switch (draw(3)) {
        case 0:
          for (uint32_t i = 0; i < size; ++i) buffer[mine + i] = model[0][mine + i] = (char)draw(256);
          CHECK(rdma_put(other, buffer + mine, there + theirs, size, step) == 0);
          CHECK(expect(RDMA_EVENT_SENT).cookie == step);
          memcpy(model[1] + theirs, model[0] + mine, size);
          weft_compute(5000); /* it has left; now it is there */
          break;
        case 1:
          CHECK(rdma_get(other, buffer + mine, there + theirs, size, step) == 0);
          CHECK(expect(RDMA_EVENT_GOT).cookie == step);
          memcpy(model[0] + mine, model[1] + theirs, size);
          break;
        default:
          CHECK(rdma_send(other, &step, sizeof step, (uint32_t)step, step) == 0);
          CHECK(expect(RDMA_EVENT_SENT).cookie == step);
      }
    }
    CHECK(memcmp(buffer, model[0], kBytes) == 0);
    CHECK(rdma_get(other, buffer, there, kBytes, 0) == 0);
    expect(RDMA_EVENT_GOT);
    CHECK(memcmp(buffer, model[1], kBytes) == 0);
    CHECK(rdma_send(other, NULL, 0, 0, 0) == 0);
    expect(RDMA_EVENT_SENT);
  } else {
    unsigned long long counts[8] = {0};
    uint64_t last = 0;
    for (;;) {
      rdma_event_t e;
      CHECK(wait_event(&e, -1) == 0 && e.kind != RDMA_EVENT_FAILED);
      if (e.kind == RDMA_EVENT_MESSAGE && e.size == 0) break;
      ++counts[e.kind];
      if (e.kind != RDMA_EVENT_MESSAGE) continue;
      uint64_t number;
      memcpy(&number, e.data, sizeof number);
      CHECK(number > last && e.tag == (uint32_t)number);
      last = number;
    }
    CHECK(counts[RDMA_EVENT_PUT] + counts[RDMA_EVENT_READ] + counts[RDMA_EVENT_MESSAGE] == kSteps + 1);
    printf("%llu puts, %llu gets, %llu messages\n", counts[RDMA_EVENT_PUT], counts[RDMA_EVENT_READ],
           counts[RDMA_EVENT_MESSAGE]);
  }
  return tear_down("apenet_random");
}
