/* Prepared descriptors: their words, and that they do what the calls do. */
#include "rma2_pair.h"

int main(void) {
  set_up(4096);
  CHECK(sizeof(RMA2_Descriptor) == 64 && sizeof(RMA2_Region) == 80 && sizeof(RMA2_Notification) == 16);
  int free_before, free_after;
  CHECK(rma2_desc_query_free(port, &free_before) == RMA2_SUCCESS && free_before == 32);
  RMA2_Descriptor *d, *many[40];
  for (int i = 0; i < 40; ++i) CHECK(rma2_desc_alloc(port, &many[i]) == RMA2_SUCCESS);
  for (int i = 0; i < 40; ++i) CHECK(rma2_desc_free(port, many[i]) == RMA2_SUCCESS);
  CHECK(rma2_desc_query_free(port, &free_after) == RMA2_SUCCESS && free_after == 40);
  CHECK(rma2_desc_alloc(port, &d) == RMA2_SUCCESS);
  if (me() == 0) {
    memset(buffer, 9, 256);
    CHECK(rma2_desc_set_put_get(d, other, RMA2_BT_PUT, 200, RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT,
                                here, there) == RMA2_SUCCESS);
    CHECK((d->value[0] & 3) == 3 && (d->value[0] >> 2 & 15) == RMA2_BT_PUT && (d->value[0] >> 40) == 199);
    CHECK((d->value[0] >> 16 & 0xffff) == other_node && (d->value[0] >> 8 & 0xff) == other_vpid);
    CHECK(rma2_post_descriptor(port, other, d) == RMA2_SUCCESS);
    CHECK(rma2_desc_set_immediate_put(d, other, RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT, 4, there + 512,
                                      0x01020304) == RMA2_SUCCESS);
    CHECK(rma2_post_descriptor(port, other, d) == RMA2_SUCCESS);
    CHECK(rma2_desc_set_noti_put(d, other, RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT, 3, 44) ==
          RMA2_SUCCESS);
    CHECK(rma2_post_descriptor(port, other, d) == RMA2_SUCCESS);
    CHECK(rma2_desc_set_lock(d, other, RMA2_RESPCOMPL_NOTIFICATION, RMA2_CMD_DEFAULT, 1, 12, 0, 7) ==
          RMA2_SUCCESS);
    CHECK(rma2_post_descriptor(port, other, d) == RMA2_SUCCESS);
    RMA2_Notification n = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_LOCK_RSP);
    CHECK(rma2_noti_get_lock_value(&n) == 7);
    /* A command there is none of: the interface refuses it. */
    CHECK(rma2_desc_set_put_get(d, other, (RMA2_Command)9, 8, RMA2_NO_NOTIFICATION, RMA2_CMD_DEFAULT, here,
                                there) == RMA2_SUCCESS);
    CHECK(rma2_post_descriptor(port, other, d) == RMA2_SUCCESS);
    n = expect(RMA2_REQUESTER_NOTIFICATION, (RMA2_Command)9);
    CHECK(rma2_noti_get_error(&n) == RMA2_ERROR_REQ);
  } else {
    expect(RMA2_COMPLETER_NOTIFICATION, RMA2_BT_PUT);
    expect(RMA2_COMPLETER_NOTIFICATION, RMA2_IMMEDIATE_PUT);
    CHECK(buffer[199] == 9 && buffer[200] == 0 && buffer[512] == 4 && buffer[515] == 1 && buffer[516] == 0);
    RMA2_Notification n = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_NOTIFICATION_PUT);
    CHECK(rma2_noti_get_notiput_class(&n) == 3 && rma2_noti_get_notiput_payload(&n) == 44);
    expect(RMA2_RESPONDER_NOTIFICATION, RMA2_LOCK_REQ);
  }
  CHECK(rma2_desc_free(port, d) == RMA2_SUCCESS);
  return tear_down("rma2_descriptors");
}
