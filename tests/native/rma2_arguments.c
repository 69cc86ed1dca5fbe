/* What calls refuse by themselves. */
#include "rma2_pair.h"

int main(void) {
  set_up(4096);
  RMA2_Handle h;
  RMA2_Notification* n;
  RMA2_Region* r;
  size_t size;
  const RMA2_Notification_Spec none = RMA2_NO_NOTIFICATION;
  CHECK(rma2_open(NULL) == RMA2_ERR_WRONG_ARG && rma2_close(NULL) == RMA2_ERR_INV_PORT);
  CHECK(rma2_connect(port, 0, 0, (RMA2_Connection_Options)32, &h) == RMA2_ERR_INV_VALUE);
  CHECK(rma2_connect(NULL, 0, 0, RMA2_CONN_DEFAULT, &h) == RMA2_ERR_INV_PORT);
  CHECK(rma2_disconnect(port, NULL) == RMA2_ERR_INV_HANDLE);
  CHECK(rma2_post_put_bt(NULL, other, region, 0, 8, there, none, RMA2_CMD_DEFAULT) == RMA2_ERR_INV_PORT);
  CHECK(rma2_post_put_bt(port, NULL, region, 0, 8, there, none, RMA2_CMD_DEFAULT) == RMA2_ERR_INV_HANDLE);
  CHECK(rma2_post_put_bt(port, other, NULL, 0, 8, there, none, RMA2_CMD_DEFAULT) == RMA2_ERR_WRONG_ARG);
  CHECK(rma2_post_put_bt(port, other, region, 0, (8u << 20) + 1, there, none, RMA2_CMD_DEFAULT) ==
        RMA2_ERR_WRONG_ARG);
  CHECK(rma2_post_put_bt(port, other, region, 0, 8, there, none, RMA2_CMD_MC) == RMA2_ERR_WRONG_ARG);
  CHECK(rma2_post_notification(port, NULL, 0, 0, none, RMA2_CMD_DEFAULT) == RMA2_ERR_INV_HANDLE);
  CHECK(rma2_post_lock(port, NULL, 0, 0, 0, 0, none, RMA2_CMD_DEFAULT) == RMA2_ERR_INV_HANDLE);
  CHECK(rma2_post_descriptor(port, other, NULL) == RMA2_ERR_WRONG_ARG);
  CHECK(rma2_desc_alloc(NULL, NULL) == RMA2_ERR_INV_PORT && rma2_desc_free(port, NULL) == RMA2_ERR_WRONG_ARG);
  CHECK(rma2_noti_probe(port, &n) == RMA2_NO_NOTI && rma2_noti_probe(NULL, &n) == RMA2_ERR_INV_PORT);
  CHECK(rma2_register(port, NULL, 8, &r) == RMA2_ERR_WRONG_ARG &&
        rma2_register(port, buffer, 0, &r) == RMA2_ERR_WRONG_ARG);
  CHECK(rma2_unregister(port, NULL) == RMA2_ERR_WRONG_ARG &&
        rma2_get_size(NULL, &size) == RMA2_ERR_WRONG_ARG);
  CHECK(rma2_set_queue_size(port, 100) == RMA2_ERR_INV_VALUE);
  CHECK(rma2_set_replay_mode(port, (RMA2_Replay_Buffer_Mode)9) == RMA2_ERR_INV_VALUE);
  char text[80];
  rma2_serror(RMA2_NO_NOTI, text, sizeof text);
  CHECK(strcmp(text, "no notification") == 0);
  rma2_serror((RMA2_ERROR)99, text, sizeof text);
  CHECK(strcmp(text, "unknown error") == 0);
  rma2_serror(RMA2_ERR_INV_PORT, text, 4);
  CHECK(strcmp(text, "inv") == 0);
  return tear_down("rma2_arguments");
}
