/* More notifications than one reads at once wait in order; sizes of the queue. */
#include "rma2_pair.h"

int main(void) {
  set_up(4096);
  CHECK(rma2_get_queue_size(port) == 256 * 1024);
  CHECK(rma2_set_queue_size(port, 8192) == RMA2_SUCCESS && rma2_get_queue_size(port) == 8192);
  CHECK(rma2_set_queue_segment_size(port, 4096) == RMA2_SUCCESS && rma2_get_queue_segment_size(port) == 4096);
  CHECK(rma2_replay_buffer_drain(port) == RMA2_SUCCESS);
  CHECK(rma2_get_replay_buffer_mode(port) == RMA2_REPLAY_ALL);
  CHECK(rma2_set_replay_mode(port, RMA2_REPLAY_MANUAL) == RMA2_SUCCESS);
  CHECK(rma2_get_replay_buffer_mode(port) == RMA2_REPLAY_MANUAL);
  meet();
  enum { kMany = 3000 };
  if (me() == 0) {
    for (uint64_t i = 0; i < kMany; ++i)
      CHECK(rma2_post_notification(port, other, (RMA2_Class)(i % 200), i, RMA2_COMPLETER_NOTIFICATION,
                                   RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
  } else {
    weft_compute(5000000); /* all wait here by then */
    RMA2_Notification* n;
    CHECK(rma2_noti_get_block(port, &n) == RMA2_SUCCESS);
    CHECK(rma2_set_queue_size(port, 4096) == RMA2_ERR_NOT_FREE);
    for (uint64_t i = 0; i < kMany; ++i) {
      RMA2_Notification one = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_NOTIFICATION_PUT);
      CHECK(rma2_noti_get_notiput_payload(&one) == i && rma2_noti_get_notiput_class(&one) == i % 200);
    }
    char text[200];
    rma2_noti_sdump(&(RMA2_Notification){{7}, {1}}, text, sizeof text);
    CHECK(strstr(text, "size 2 ") != NULL);
  }
  return tear_down("rma2_queue");
}
