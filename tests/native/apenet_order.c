/* Events of puts and messages come in the order of time. */
#include "apenet_pair.h"

int main(void) {
  set_up();
  if (me() == 0) {
    for (int i = 0; i < 10; ++i) {
      buffer[0] = (char)i;
      CHECK(rdma_put(other, buffer, there + (unsigned)i, 1, 1) == 0);
      expect(RDMA_EVENT_SENT);
      weft_compute(5000);
      CHECK(rdma_send(other, &i, sizeof i, 0, 2) == 0);
      expect(RDMA_EVENT_SENT);
      weft_compute(5000);
    }
  } else {
    weft_compute(1000000);
    for (int i = 0; i < 10; ++i) {
      CHECK(expect(RDMA_EVENT_PUT).address == here + (unsigned)i && buffer[i] == (char)i);
      rdma_event_t e = expect(RDMA_EVENT_MESSAGE);
      CHECK(memcmp(e.data, &i, sizeof i) == 0);
    }
  }
  return tear_down("apenet_order");
}
