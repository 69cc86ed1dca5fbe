/* A connection to oneself: one queue, the requester's notification first. */
#include "rma2_pair.h"

int main(void) {
  set_up(8192);
  RMA2_Handle self;
  CHECK(rma2_connect(port, rma2_get_nodeid(port), rma2_get_vpid(port), RMA2_CONN_DEFAULT, &self) ==
        RMA2_SUCCESS);
  memset(buffer, 6, 100);
  CHECK(rma2_post_put_bt(port, self, region, 0, 100, here + 4096, RMA2_REQCOMPL_NOTIFICATION,
                         RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
  expect(RMA2_REQUESTER_NOTIFICATION, RMA2_BT_PUT);
  expect(RMA2_COMPLETER_NOTIFICATION, RMA2_BT_PUT);
  CHECK(buffer[4096] == 6 && buffer[4195] == 6 && buffer[4196] == 0);
  CHECK(rma2_disconnect(port, self) == RMA2_SUCCESS);
  return tear_down("rma2_self");
}
