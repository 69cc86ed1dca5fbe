/* An RDMA put with events at both sides. */
#include "glex_pair.h"

int main(void) {
  set_up();
  for (uint32_t len = 1; len <= kBytes; len *= 4) {
    if (me() == 0) {
      memset(buffer, (int)len + 1, len);
      struct glex_rdma_req r = rdma(GLEX_RDMA_TYPE_PUT, 0, kBytes - len, len,
                                    GLEX_FLAG_LOCAL_EVT | GLEX_FLAG_REMOTE_EVT, 100 + len, 200 + len);
      post(&r);
      expect_event(100 + len, ~(uint64_t)(100 + len));
    } else {
      memset(buffer, 0, kBytes);
      expect_event(200 + len, ~(uint64_t)(200 + len));
      for (uint32_t b = 0; b < kBytes; ++b) CHECK(buffer[b] == (b >= kBytes - len ? (char)(len + 1) : 0));
    }
    meet();
  }
  return tear_down("glex_put");
}
