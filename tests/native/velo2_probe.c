/* Looking without waiting. */
#include "velo2_pair.h"

int main(void) {
  set_up();
  char in[64];
  uint32_t got, source;
  uint8_t tag, kind;
  CHECK(velo2_probe_recv(&port, in, sizeof in, &got, &source, &tag, &kind) == VELO2_RET_NO_MSG);
  meet();
  if (me() == 0) {
    CHECK(velo2_send(&other, "abcdef", 6, 200, 3) == VELO2_RET_SUCCESS);
  } else {
    velo2_ret_t result;
    while ((result = velo2_probe_recv(&port, in, 3, &got, &source, &tag, &kind)) == VELO2_RET_NO_MSG) {
    }
    CHECK(result == VELO2_RET_INV_MSG); /* too long, and still there */
    CHECK(velo2_probe_recv(&port, in, sizeof in, &got, &source, &tag, &kind) == VELO2_RET_SUCCESS);
    CHECK(got == 6 && memcmp(in, "abcdef", 6) == 0 && tag == 200 && kind == 3 && source == other_id);
  }
  return tear_down("velo2_probe");
}
