/* Transfers of words want whole words at whole addresses. */
#include "rma2_pair.h"

int main(void) {
  set_up(4096);
  if (me() == 0) {
    const RMA2_Notification_Spec none = RMA2_NO_NOTIFICATION;
    CHECK(rma2_post_put_qw(port, other, region, 0, 12, there, none, RMA2_CMD_DEFAULT) == RMA2_ERR_WRONG_ARG);
    CHECK(rma2_post_put_qw(port, other, region, 4, 8, there, none, RMA2_CMD_DEFAULT) == RMA2_ERR_WRONG_ARG);
    CHECK(rma2_post_get_qw(port, other, region, 0, 8, there + 1, none, RMA2_CMD_DEFAULT) ==
          RMA2_ERR_WRONG_ARG);
    memset(buffer, 5, 64);
    CHECK(rma2_post_put_qw(port, other, region, 8, 48, there + 16, RMA2_COMPLETER_NOTIFICATION,
                           RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
  } else {
    RMA2_Notification n = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_QW_PUT);
    CHECK(rma2_noti_get_size(&n) == 48);
    for (int b = 0; b < 128; ++b) CHECK(buffer[b] == (b >= 16 && b < 64 ? 5 : 0));
  }
  return tear_down("rma2_words");
}
