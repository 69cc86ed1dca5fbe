/* A lock is taken, refused while it is held, and given back. */
#include "rma2_pair.h"

static RMA2_Notification ask(int32_t compare, int32_t add) {
  CHECK(rma2_post_lock(port, other, 0, 77, compare, add, RMA2_REQCOMPL_NOTIFICATION, RMA2_CMD_DEFAULT) ==
        RMA2_SUCCESS);
  RMA2_Notification n = expect(RMA2_REQUESTER_NOTIFICATION, RMA2_LOCK_REQ);
  CHECK(rma2_noti_get_lock_result(&n) == 0 && rma2_noti_get_lock_value(&n) == (uint32_t)compare);
  n = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_LOCK_RSP);
  CHECK(rma2_noti_get_lock_number(&n) == 77);
  return n;
}

int main(void) {
  set_up(4096);
  if (me() == 0) {
    RMA2_Notification n = ask(0, 1);
    CHECK(rma2_noti_get_lock_result(&n) == 1 && rma2_noti_get_lock_value(&n) == 1);
    n = ask(0, 1);
    CHECK(rma2_noti_get_lock_result(&n) == 0 && rma2_noti_get_lock_value(&n) == 1);
    n = ask(1, -1);
    CHECK(rma2_noti_get_lock_result(&n) == 1 && rma2_noti_get_lock_value(&n) == 0);
    n = ask(0x7fffffff, -5);
    CHECK(rma2_noti_get_lock_result(&n) == 1 && (int32_t)rma2_noti_get_lock_value(&n) == -5);
    n = ask(-6, 1);
    CHECK(rma2_noti_get_lock_result(&n) == 0 && (int32_t)rma2_noti_get_lock_value(&n) == -5);
    CHECK(rma2_post_lock(port, other, 2, 0, 0, 1, RMA2_NO_NOTIFICATION, RMA2_CMD_DEFAULT) ==
          RMA2_ERR_WRONG_ARG);
    CHECK(rma2_post_lock(port, other, 0, 1u << 24, 0, 1, RMA2_NO_NOTIFICATION, RMA2_CMD_DEFAULT) ==
          RMA2_ERR_WRONG_ARG);
    /* With all three, and with none. */
    CHECK(rma2_post_lock(port, other, 1, 78, 0, 3, RMA2_ALL_NOTIFICATIONS, RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
    expect(RMA2_REQUESTER_NOTIFICATION, RMA2_LOCK_REQ);
    n = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_LOCK_RSP);
    CHECK(rma2_noti_get_lock_value(&n) == 3);
    CHECK(rma2_post_lock(port, other, 1, 79, 0, 3, RMA2_NO_NOTIFICATION, RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
  } else {
    RMA2_Notification n = expect(RMA2_RESPONDER_NOTIFICATION, RMA2_LOCK_REQ);
    CHECK(rma2_noti_get_lock_number(&n) == 78 && rma2_noti_get_lock_value(&n) == 3);
    CHECK(rma2_noti_get_lock_result(&n) == 1);
  }
  return tear_down("rma2_lock");
}
