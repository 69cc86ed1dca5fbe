/* Many buffers; what is no longer registered is refused. */
#include "apenet_pair.h"

int main(void) {
  set_up();
  enum { kMany = 40 };
  static char more[kMany][512];
  rdma_address_t mine[kMany], theirs[kMany];
  for (int i = 0; i < kMany; ++i) CHECK(register_buffer(more[i], sizeof more[i], &mine[i]) == 0);
  for (int i = 0; i < kMany; i += 4) exchange(mine + i, theirs + i, 4 * sizeof *mine);
  if (me() == 0) {
    for (int i = 0; i < kMany; ++i) {
      more[i][0] = (char)(i + 1);
      CHECK(rdma_put(other, more[i], theirs[i] + 100, 1, 0) == 0);
      expect(RDMA_EVENT_SENT);
    }
  } else {
    for (int i = 0; i < kMany; ++i)
      CHECK(expect(RDMA_EVENT_PUT).address == mine[i] + 100 && more[i][100] == (char)(i + 1));
    CHECK(unregister_buffer(more[3]) == 0);
  }
  meet();
  if (me() == 0) {
    CHECK(rdma_put(other, more[3], theirs[3], 1, 0) == 0);
    expect(RDMA_EVENT_SENT);
    CHECK(expect(RDMA_EVENT_FAILED).error == -EFAULT);
  }
  meet();
  for (int i = 0; i < kMany; ++i) CHECK(unregister_buffer(more[i]) == (me() == 1 && i == 3 ? -ENOENT : 0));
  return tear_down("apenet_buffers");
}
