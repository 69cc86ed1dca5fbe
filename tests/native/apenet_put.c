/* Puts, and the events on both sides. */
#include "apenet_pair.h"

int main(void) {
  set_up();
  for (uint32_t size = 1; size <= kBytes; size *= 8) {
    if (me() == 0) {
      memset(buffer, (int)size + 1, size);
      CHECK(rdma_put(other, buffer, there + kBytes - size, size, size) == 0);
      rdma_event_t e = expect(RDMA_EVENT_SENT);
      CHECK(e.cookie == size && e.size == size && e.peer.node == other.node);
    } else {
      rdma_event_t e = expect(RDMA_EVENT_PUT);
      CHECK(e.address == here + kBytes - size && e.size == size && e.peer.process == other.process &&
            e.cookie == 0);
      for (uint32_t b = kBytes - size; b < kBytes; ++b) CHECK(buffer[b] == (char)(size + 1));
    }
    meet();
  }
  return tear_down("apenet_put");
}
