/* Several ports of a process: numbers and queues of their own. */
#include "rma2_pair.h"

int main(void) {
  set_up(4096);
  RMA2_Port more[3];
  RMA2_Handle to[3];
  for (int i = 0; i < 3; ++i) {
    CHECK(rma2_open(&more[i]) == RMA2_SUCCESS);
    CHECK(rma2_get_vpid(more[i]) != rma2_get_vpid(port));
    CHECK(rma2_get_nodeid(more[i]) == rma2_get_nodeid(port));
    CHECK(rma2_connect(port, rma2_get_nodeid(port), rma2_get_vpid(more[i]), RMA2_CONN_DEFAULT, &to[i]) ==
          RMA2_SUCCESS);
    CHECK(rma2_handle_get_vpid(to[i]) == rma2_get_vpid(more[i]));
    CHECK(rma2_handle_get_node(to[i]) == rma2_get_nodeid(port));
  }
  for (int i = 0; i < 3; ++i)
    CHECK(rma2_post_notification(port, to[i], (RMA2_Class)i, 100 + (uint64_t)i, RMA2_COMPLETER_NOTIFICATION,
                                 RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
  for (int i = 2; i >= 0; --i) {
    RMA2_Notification* n;
    CHECK(rma2_noti_get_block(more[i], &n) == RMA2_SUCCESS);
    CHECK(rma2_noti_get_notiput_payload(n) == 100 + (uint64_t)i);
    CHECK(rma2_noti_free(more[i], n) == RMA2_SUCCESS);
    CHECK(rma2_disconnect(port, to[i]) == RMA2_SUCCESS);
    CHECK(rma2_close(more[i]) == RMA2_SUCCESS);
  }
  /* As many as an interface has for a process, and no more. */
  RMA2_Port all[64];
  int opened = 0;
  RMA2_ERROR last = RMA2_SUCCESS;
  while (opened < 64 && (last = rma2_open(&all[opened])) == RMA2_SUCCESS) ++opened;
  CHECK(opened < 64 && last == RMA2_ERR_PORTS_USED);
  while (opened) CHECK(rma2_close(all[--opened]) == RMA2_SUCCESS);
  CHECK(rma2_get_node_num(port) > 1 && rma2_get_proc_num(port) == 2);
  return tear_down("rma2_ports");
}
