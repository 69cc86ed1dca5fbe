/* A get: all three units tell of it, two at home and one there. */
#include "rma2_pair.h"

int main(void) {
  set_up(8192);
  memset(buffer, me() ? 'g' : 0, 8192);
  meet();
  if (me() == 0) {
    CHECK(rma2_post_get_bt(port, other, region, 100, 3000, there + 8, RMA2_ALL_NOTIFICATIONS,
                           RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
    RMA2_Notification n = expect(RMA2_REQUESTER_NOTIFICATION, RMA2_BT_GET);
    CHECK(rma2_noti_get_local_address(&n) == here + 100);
    n = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_GET_BT_RSP);
    CHECK(rma2_noti_get_size(&n) == 3000 && rma2_noti_get_remote_nodeid(&n) == other_node);
    for (int b = 0; b < 8192; ++b) CHECK(buffer[b] == (b >= 100 && b < 3100 ? 'g' : 0));
    /* Only what was asked for. */
    CHECK(rma2_post_get_qw_direct(port, other, here, 64, there, RMA2_COMPLETER_NOTIFICATION,
                                  RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
    expect(RMA2_COMPLETER_NOTIFICATION, RMA2_GET_QW_RSP);
    CHECK(buffer[0] == 'g' && buffer[63] == 'g' && buffer[64] == 0);
  } else {
    RMA2_Notification n = expect(RMA2_RESPONDER_NOTIFICATION, RMA2_BT_GET);
    CHECK(rma2_noti_get_local_address(&n) == here + 8 && rma2_noti_get_remote_nodeid(&n) == other_node);
  }
  return tear_down("rma2_get");
}
