/* An RDMA get: its event comes when the data is here. */
#include "glex_pair.h"

int main(void) {
  set_up();
  memset(buffer, me() ? 'n' : 0, kBytes);
  meet();
  if (me() == 0) {
    struct glex_rdma_req r = rdma(GLEX_RDMA_TYPE_GET, 10, 20, 30000,
                                  GLEX_FLAG_LOCAL_EVT | GLEX_FLAG_REMOTE_EVT | GLEX_FLAG_NO_CONNECTION, 5, 6);
    post(&r);
    expect_event(5, ~5ull);
    for (int b = 0; b < kBytes; ++b) CHECK(buffer[b] == (b >= 10 && b < 30010 ? 'n' : 0));
  } else {
    expect_event(6, ~6ull);
  }
  return tear_down("glex_get");
}
