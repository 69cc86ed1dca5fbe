/* What the units refuse: the unit that found it says so, and nothing is written. */
#include "rma2_pair.h"

int main(void) {
  set_up(4096);
  const RMA2_Notification_Spec none = RMA2_NO_NOTIFICATION;
  if (me() == 0) {
    /* Beyond the page of the local memory: found before anything is sent. */
    CHECK(rma2_post_put_bt(port, other, region, 4000, 200, there, none, RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
    RMA2_Notification n = expect(RMA2_REQUESTER_NOTIFICATION, RMA2_BT_PUT);
    CHECK(rma2_noti_get_error(&n) == RMA2_ERROR_REQ);
    /* Beyond the other's, and where there is nothing: found by the completer there. */
    CHECK(rma2_post_put_bt(port, other, region, 0, 200, there + 4000, none, RMA2_CMD_DEFAULT) ==
          RMA2_SUCCESS);
    n = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_BT_PUT);
    CHECK(rma2_noti_get_error(&n) == RMA2_ERROR_CMPL);
    CHECK(rma2_post_immediate_put(port, other, 8, 1, 0x1000, none, RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
    n = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_IMMEDIATE_PUT);
    CHECK(rma2_noti_get_error(&n) == RMA2_ERROR_CMPL);
    /* Of a get, by the responder. */
    CHECK(rma2_post_get_bt(port, other, region, 0, 200, there + 4000, none, RMA2_CMD_DEFAULT) ==
          RMA2_SUCCESS);
    n = expect(RMA2_RESPONDER_NOTIFICATION, RMA2_BT_GET);
    CHECK(rma2_noti_get_error(&n) == RMA2_ERROR_RESP);
    /* A lock there is none of. */
    CHECK(rma2_post_lock(port, other, 0, 65536, 0, 1, none, RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
    n = expect(RMA2_RESPONDER_NOTIFICATION, RMA2_LOCK_REQ);
    CHECK(rma2_noti_get_error(&n) == RMA2_ERROR_RESP);
    /* A port and a node there are none of. */
    RMA2_Handle nobody;
    CHECK(rma2_connect(port, other_node, 200, RMA2_CONN_DEFAULT, &nobody) == RMA2_SUCCESS);
    CHECK(rma2_post_notification(port, nobody, 1, 1, RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT) ==
          RMA2_SUCCESS);
    n = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_NOTIFICATION_PUT);
    CHECK(rma2_noti_get_error(&n) == RMA2_ERROR_CMPL && rma2_noti_get_remote_vpid(&n) == 200);
    CHECK(rma2_disconnect(port, nobody) == RMA2_SUCCESS);
    CHECK(rma2_connect(port, 60000, 0, RMA2_CONN_DEFAULT, &nobody) == RMA2_SUCCESS);
    CHECK(rma2_post_put_bt(port, nobody, region, 0, 8, there, none, RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
    n = expect(RMA2_REQUESTER_NOTIFICATION, RMA2_BT_PUT);
    CHECK(rma2_noti_get_error(&n) == RMA2_ERROR_REQ);
    CHECK(rma2_disconnect(port, nobody) == RMA2_SUCCESS);
    /* Physical addresses are the kernel's. */
    CHECK(rma2_connect(port, other_node, other_vpid, RMA2_CONN_PHYSICAL, &nobody) == RMA2_SUCCESS);
    CHECK(rma2_post_put_bt(port, nobody, region, 0, 8, 0, none, RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
    n = expect(RMA2_REQUESTER_NOTIFICATION, RMA2_BT_PUT);
    CHECK(rma2_noti_get_error(&n) == RMA2_ERROR_REQ);
    CHECK(rma2_disconnect(port, nobody) == RMA2_SUCCESS);
  }
  meet();
  for (int b = 0; b < 4096; ++b) CHECK(buffer[b] == 0);
  return tear_down("rma2_errors");
}
