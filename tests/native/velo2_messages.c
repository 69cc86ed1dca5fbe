/* Messages of every length there and back, with their tags. */
#include "velo2_pair.h"

int main(void) {
  set_up();
  for (uint32_t length = 0; length <= 64; ++length) {
    char out[64], in[64];
    uint32_t got, source;
    uint8_t tag;
    memset(out, (int)length, sizeof out);
    if (me() == 0) CHECK(velo2_send(&other, out, length, (uint8_t)(length * 3), 0) == VELO2_RET_SUCCESS);
    CHECK(velo2_recv(&port, in, sizeof in, &got, &source, &tag, 0) == VELO2_RET_SUCCESS);
    CHECK(got == length && source == other_id && tag == (uint8_t)(length * 3) &&
          memcmp(in, out, length) == 0);
    if (me() == 1) CHECK(velo2_send(&other, in, got, tag, 0) == VELO2_RET_SUCCESS);
  }
  return tear_down("velo2_messages");
}
