/* Gets: an event here when the data has come, one there when it was read. */
#include "apenet_pair.h"

int main(void) {
  set_up();
  memset(buffer, me() ? 'a' : 0, kBytes);
  meet();
  if (me() == 0) {
    CHECK(rdma_get(other, buffer + 1000, there + 7, 20000, 12) == 0);
    rdma_event_t e = expect(RDMA_EVENT_GOT);
    CHECK(e.cookie == 12 && e.size == 20000);
    for (int b = 0; b < kBytes; ++b) CHECK(buffer[b] == (b >= 1000 && b < 21000 ? 'a' : 0));
  } else {
    rdma_event_t e = expect(RDMA_EVENT_READ);
    CHECK(e.address == here + 7 && e.size == 20000);
  }
  return tear_down("apenet_get");
}
