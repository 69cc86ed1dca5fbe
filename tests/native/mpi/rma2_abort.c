/* What ends a program: a transfer of nothing, and freeing another notification than the oldest. */
#include <rma2.h>
#include <string.h>

int main(int argc, char** argv) {
  RMA2_Port port;
  RMA2_Handle self;
  RMA2_Notification* n;
  if (argc < 2 || rma2_open(&port) != RMA2_SUCCESS) return 2;
  if (rma2_connect(port, rma2_get_nodeid(port), rma2_get_vpid(port), RMA2_CONN_DEFAULT, &self) !=
      RMA2_SUCCESS)
    return 3;
  if (strcmp(argv[1], "size") == 0)
    rma2_post_put_bt_direct(port, self, 0, 0, 0, RMA2_NO_NOTIFICATION, RMA2_CMD_DEFAULT);
  for (int i = 0; i < 2; ++i)
    rma2_post_notification(port, self, 1, 1, RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT);
  if (rma2_noti_get_block(port, &n) != RMA2_SUCCESS) return 4;
  rma2_noti_free(port, n + 1);
  return 0;
}
