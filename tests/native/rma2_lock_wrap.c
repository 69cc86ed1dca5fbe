/* Locks have 32 bits with a sign: one more than the largest is the smallest. Two ranks count on one lock. */
#include "rma2_pair.h"

int main(void) {
  set_up(4096);
  if (me() == 0) {
    for (int i = 0; i < 2; ++i)
      CHECK(rma2_post_lock(port, other, 0, 5, 0x7fffffff, i ? 1 : 0x7fffffff, RMA2_COMPLETER_NOTIFICATION,
                           RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
    RMA2_Notification n = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_LOCK_RSP);
    CHECK(rma2_noti_get_lock_value(&n) == 0x7fffffff);
    n = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_LOCK_RSP);
    CHECK(rma2_noti_get_lock_value(&n) == 0x80000000u);
  }
  meet();
  /* Both on rank 1's lock 6: one by the network, one by a connection to itself. */
  RMA2_Handle target = other;
  if (me() == 1)
    CHECK(rma2_connect(port, rma2_get_nodeid(port), rma2_get_vpid(port), RMA2_CONN_DEFAULT, &target) ==
          RMA2_SUCCESS);
  uint32_t seen = 0;
  for (int i = 0; i < 50; ++i) {
    CHECK(rma2_post_lock(port, target, 0, 6, 1000, 1, RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT) ==
          RMA2_SUCCESS);
    RMA2_Notification n = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_LOCK_RSP);
    CHECK(rma2_noti_get_lock_value(&n) > seen);
    seen = rma2_noti_get_lock_value(&n);
  }
  uint32_t theirs;
  exchange(&seen, &theirs, sizeof seen);
  CHECK((seen > theirs ? seen : theirs) == 100);
  if (me() == 1) CHECK(rma2_disconnect(port, target) == RMA2_SUCCESS);
  return tear_down("rma2_lock_wrap");
}
