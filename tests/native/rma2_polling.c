/* A client that waits for the last word of a buffer: what comes before it is there then, in order. */
#include "rma2_pair.h"

int main(void) {
  enum { kBytes = 20000 };
  set_up(kBytes);
  volatile uint64_t* last = (volatile uint64_t*)(buffer + kBytes - 8);
  for (uint64_t round = 1; round <= 5; ++round) {
    if (me() == 0) {
      for (int i = 0; i < kBytes / 8; ++i) ((uint64_t*)buffer)[i] = round;
      CHECK(rma2_post_put_bt(port, other, region, 0, kBytes, there, RMA2_NO_NOTIFICATION, RMA2_CMD_DEFAULT) ==
            RMA2_SUCCESS);
    } else {
      while (*last != round) weft_pause();
      for (int i = 0; i < kBytes / 8; ++i) CHECK(((uint64_t*)buffer)[i] == round);
    }
    meet();
  }
  return tear_down("rma2_polling");
}
