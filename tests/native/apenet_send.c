/* Sends need no buffer at the other side. */
#include "apenet_pair.h"

int main(void) {
  set_up();
  weft_limits limits;
  CHECK(weft_get_limits(pair_port, &limits) == 0);
  char data[256];
  memset(data, 's', sizeof data);
  CHECK(rdma_send(other, data, limits.message_limit + 1, 0, 0) == -EMSGSIZE);
  CHECK(rdma_send(other, NULL, 1, 0, 0) == -EINVAL);
  if (me() == 0) {
    for (uint32_t i = 0; i < 20; ++i) CHECK(rdma_send(other, data, i, 100 + i, i) == 0);
    for (uint32_t i = 0; i < 20; ++i) CHECK(expect(RDMA_EVENT_SENT).cookie == i);
  } else {
    for (uint32_t i = 0; i < 20; ++i) {
      rdma_event_t e = expect(RDMA_EVENT_MESSAGE);
      CHECK(e.size == i && e.tag == 100 + i && memcmp(e.data, data, i) == 0 && e.peer.node == other.node);
    }
  }
  return tear_down("apenet_send");
}
