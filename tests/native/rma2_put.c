/* A put of bytes: requester and completer tell of it, sizes from one byte to several packets. */
#include "rma2_pair.h"

int main(void) {
  set_up(65536);
  const uint32_t sizes[] = {1, 7, 64, 500, 4000, 65536};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    if (me() == 0) {
      memset(buffer, (int)i + 1, sizeof(char) * 65536);
      CHECK(rma2_post_put_bt(port, other, region, 0, sizes[i], there, RMA2_REQCOMPL_NOTIFICATION,
                             RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
      RMA2_Notification n = expect(RMA2_REQUESTER_NOTIFICATION, RMA2_BT_PUT);
      CHECK(rma2_noti_get_size(&n) == sizes[i] && rma2_noti_get_local_address(&n) == here);
      CHECK(rma2_noti_get_remote_nodeid(&n) == other_node && rma2_noti_get_remote_vpid(&n) == other_vpid);
    } else {
      memset(buffer, 0, 65536);
    }
    if (me() == 1) {
      RMA2_Notification n = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_BT_PUT);
      CHECK(rma2_noti_get_size(&n) == sizes[i] && rma2_noti_get_local_address(&n) == here);
      CHECK(rma2_noti_get_remote_nodeid(&n) == other_node && rma2_noti_get_error(&n) == 0);
      CHECK(rma2_noti_get_mode(&n) == RMA2_NOTI_TE);
      CHECK(rma2_noti_get_total_size(here, &n) == sizes[i]);
      for (uint32_t b = 0; b < 65536; ++b) CHECK(buffer[b] == (b < sizes[i] ? (char)(i + 1) : 0));
    }
    meet();
  }
  return tear_down("rma2_put");
}
