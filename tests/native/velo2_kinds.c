/* Four kinds of messages, received apart and each in order. */
#include "velo2_pair.h"

int main(void) {
  set_up();
  uint32_t in, got, source;
  uint8_t tag, kind;
  if (me() == 0) {
    for (uint32_t i = 0; i < 40; ++i)
      CHECK(velo2_send(&other, &i, sizeof i, (uint8_t)i, (uint8_t)(i % 4)) == VELO2_RET_SUCCESS);
  } else {
    for (uint32_t k = 4; k-- > 1;)
      for (uint32_t i = 0; i < 10; ++i) {
        CHECK(velo2_recv(&port, &in, sizeof in, &got, &source, &tag, (uint8_t)k) == VELO2_RET_SUCCESS);
        CHECK(in == i * 4 + k && tag == in);
      }
    for (uint32_t i = 0; i < 10; ++i) {
      CHECK(velo2_probe_recv(&port, &in, sizeof in, &got, &source, &tag, &kind) == VELO2_RET_SUCCESS);
      CHECK(in == i * 4 && kind == 0);
    }
    CHECK(velo2_probe_recv(&port, &in, sizeof in, &got, &source, &tag, &kind) == VELO2_RET_NO_MSG);
  }
  return tear_down("velo2_kinds");
}
