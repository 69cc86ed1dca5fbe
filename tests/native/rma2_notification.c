/* A notification put: a class and eight bytes, and no memory. */
#include "rma2_pair.h"

int main(void) {
  set_up(4096);
  if (me() == 0) {
    CHECK(rma2_post_notification(port, other, 17, 0x123456789abcdef0ull, RMA2_REQCOMPL_NOTIFICATION,
                                 RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
    expect(RMA2_REQUESTER_NOTIFICATION, RMA2_NOTIFICATION_PUT);
    /* To oneself alone, and to nobody. */
    CHECK(rma2_post_notification(port, other, 18, 1, RMA2_REQUESTER_NOTIFICATION, RMA2_CMD_DEFAULT) ==
          RMA2_SUCCESS);
    expect(RMA2_REQUESTER_NOTIFICATION, RMA2_NOTIFICATION_PUT);
    CHECK(rma2_post_notification(port, other, 19, 1, RMA2_NO_NOTIFICATION, RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
  } else {
    RMA2_Notification n = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_NOTIFICATION_PUT);
    CHECK(rma2_noti_get_notiput_class(&n) == 17);
    CHECK(rma2_noti_get_notiput_payload(&n) == 0x123456789abcdef0ull);
    CHECK(rma2_noti_get_remote_vpid(&n) == other_vpid);
  }
  return tear_down("rma2_notification");
}
