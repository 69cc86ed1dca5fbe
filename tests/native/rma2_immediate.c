/* Immediate puts carry the low bytes of a value. */
#include "rma2_pair.h"

int main(void) {
  set_up(4096);
  if (me() == 0) {
    CHECK(rma2_post_immediate_put(port, other, 0, 1, there, RMA2_NO_NOTIFICATION, RMA2_CMD_DEFAULT) ==
          RMA2_ERR_WRONG_ARG);
    CHECK(rma2_post_immediate_put(port, other, 9, 1, there, RMA2_NO_NOTIFICATION, RMA2_CMD_DEFAULT) ==
          RMA2_ERR_WRONG_ARG);
    for (uint32_t count = 1; count <= 8; ++count)
      CHECK(rma2_post_immediate_put(port, other, count, 0x8877665544332211ull, there + count * 16,
                                    RMA2_REQCOMPL_NOTIFICATION, RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
    for (uint32_t count = 1; count <= 8; ++count) expect(RMA2_REQUESTER_NOTIFICATION, RMA2_IMMEDIATE_PUT);
  } else {
    for (uint32_t count = 1; count <= 8; ++count) {
      RMA2_Notification n = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_IMMEDIATE_PUT);
      CHECK(rma2_noti_get_size(&n) == count && rma2_noti_get_local_address(&n) == here + count * 16);
      for (uint32_t b = 0; b < 16; ++b)
        CHECK((unsigned char)buffer[count * 16 + b] == (b < count ? 0x11 * (b + 1) : 0));
    }
  }
  return tear_down("rma2_immediate");
}
