/* A mailbox there is none of: a later send to it says so. */
#include "velo2_pair.h"

int main(void) {
  set_up();
  if (me() == 0) {
    velo2_connection_t nobody;
    CHECK(velo2_connect(&port, &nobody, (velo2_nodeid_t)(other_id & 0xffff), 200) == VELO2_RET_SUCCESS);
    CHECK(velo2_send(&nobody, "x", 1, 0, 0) == VELO2_RET_SUCCESS);
    weft_compute(100000);
    CHECK(velo2_probe_recv(&port, NULL, 0, NULL, NULL, NULL, NULL) ==
          VELO2_RET_NO_MSG); /* a look at the interface */
    CHECK(velo2_send(&nobody, "x", 1, 0, 0) == VELO2_RET_INVALID_MBOX);
    CHECK(velo2_send(&other, "y", 1, 0, 0) == VELO2_RET_SUCCESS);
  } else {
    char in;
    CHECK(velo2_recv(&port, &in, 1, NULL, NULL, NULL, 0) == VELO2_RET_SUCCESS && in == 'y');
  }
  return tear_down("velo2_refused");
}
