/* What is refused, here and there. */
#include "apenet_pair.h"

int main(void) {
  rdma_event_t e;
  rdma_address_t address;
  rdma_peer_t nobody = {0, 0};
  CHECK(register_buffer(&e, 1, &address) == -ENODEV && wait_event(&e, 0) == -ENODEV);
  CHECK(rdma_put(nobody, &e, 0, 1, 0) == -ENODEV && rdma_send(nobody, &e, 1, 0, 0) == -ENODEV);
  CHECK(rdma_self(&nobody) == -ENODEV && unregister_buffer(&e) == -ENODEV);
  set_up();
  CHECK(register_buffer(NULL, 8, &address) == -EINVAL && register_buffer(buffer, 0, &address) == -EINVAL);
  CHECK(wait_event(NULL, 0) == -EINVAL && rdma_self(NULL) == -EINVAL);
  CHECK(rdma_put(other, &e, there, 8, 0) == -EFAULT); /* not registered */
  CHECK(rdma_put(other, buffer + kBytes - 4, there, 8, 0) == -EFAULT);
  CHECK(rdma_get(other, buffer, there, 0, 0) == -EMSGSIZE);
  if (me() == 0) {
    CHECK(rdma_put(other, buffer, there + kBytes - 4, 8, 71) == 0); /* beyond the other's buffer */
    CHECK(expect(RDMA_EVENT_SENT).cookie == 71);
    e = expect(RDMA_EVENT_FAILED);
    CHECK(e.cookie == 71 && e.error == -EFAULT);
    CHECK(rdma_get(other, buffer, 1 << 20, 8, 72) == 0);
    e = expect(RDMA_EVENT_FAILED);
    CHECK(e.cookie == 72 && e.error == -EFAULT);
    nobody = other;
    nobody.process = 99;
    CHECK(rdma_send(nobody, buffer, 8, 0, 73) == 0);
    CHECK(expect(RDMA_EVENT_SENT).cookie == 73);
    e = expect(RDMA_EVENT_FAILED);
    CHECK(e.cookie == 73 && e.error == -ECONNREFUSED);
  }
  return tear_down("apenet_errors");
}
