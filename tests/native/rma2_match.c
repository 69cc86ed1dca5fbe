/* Matching looks at the oldest notification alone. */
#include "rma2_pair.h"

int main(void) {
  set_up(4096);
  RMA2_Notification* n;
  CHECK(rma2_noti_noti_match(port, 1, 0, RMA2_VPID_ANY, &n) == RMA2_NO_NOTI);
  meet();
  if (me() == 0) {
    CHECK(rma2_post_put_bt(port, other, region, 0, 64, there + 128, RMA2_COMPLETER_NOTIFICATION,
                           RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
    CHECK(rma2_post_notification(port, other, 9, 1, RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT) ==
          RMA2_SUCCESS);
    CHECK(rma2_post_lock(port, other, 0, 4, 0, 1, RMA2_RESPONDER_NOTIFICATION, RMA2_CMD_DEFAULT) ==
          RMA2_SUCCESS);
  } else {
    const RMA2_Notification_Spec done_there = RMA2_COMPLETER_NOTIFICATION;
    const RMA2_VPID any = RMA2_VPID_ANY;
    CHECK(rma2_noti_match_block(port, RMA2_GETS, 0, any, done_there, RMA2_ANY_NLA, RMA2_DEFAULT_FLAG, &n) ==
          RMA2_ERR_NO_MATCH);
    CHECK(rma2_noti_match(port, RMA2_PUTS, 0, any, RMA2_RESPONDER_NOTIFICATION, RMA2_ANY_NLA, 0, &n) ==
          RMA2_ERR_NO_MATCH);
    CHECK(rma2_noti_match(port, RMA2_PUTS, other_node, other_vpid, done_there, here, 0, &n) ==
          RMA2_ERR_NO_MATCH);
    CHECK(rma2_noti_match(port, RMA2_ANY, (RMA2_Nodeid)(other_node + 1), other_vpid, done_there, RMA2_ANY_NLA,
                          0, &n) == RMA2_ERR_NO_MATCH);
    CHECK(rma2_noti_noti_match(port, 9, 0, any, &n) == RMA2_ERR_NO_MATCH);
    CHECK(rma2_noti_match(port, RMA2_BT_PUT, other_node, other_vpid, done_there, here + 128, 0, &n) ==
          RMA2_SUCCESS);
    CHECK(rma2_noti_match(port, RMA2_BT_PUT, other_node, other_vpid, done_there, here + 191,
                          RMA2_MATCH_LAST_NLA_FLAG, &n) == RMA2_SUCCESS);
    CHECK(rma2_noti_free(port, n) == RMA2_SUCCESS);
    CHECK(rma2_noti_noti_match_block(port, RMA2_CLASS_ANY, 0, any, &n) == RMA2_SUCCESS);
    CHECK(rma2_noti_noti_match(port, 8, 0, any, &n) == RMA2_ERR_NO_MATCH);
    CHECK(rma2_noti_noti_match(port, 9, other_node, other_vpid, &n) == RMA2_SUCCESS);
    CHECK(rma2_noti_free(port, n) == RMA2_SUCCESS);
    CHECK(rma2_noti_lock_match_block(port, 5, 0, any, &n) == RMA2_ERR_NO_MATCH);
    CHECK(rma2_noti_lock_match(port, RMA2_LOCK_ANY, 0, any, &n) == RMA2_SUCCESS);
    CHECK(rma2_noti_lock_match(port, 4, other_node, other_vpid, &n) == RMA2_SUCCESS);
    CHECK(rma2_noti_free(port, n) == RMA2_SUCCESS);
  }
  return tear_down("rma2_match");
}
