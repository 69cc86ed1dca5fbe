/* What calls refuse. */
#include "velo2_pair.h"

int main(void) {
  set_up();
  char data[256] = {0};
  velo2_port_t closed = {0};
  velo2_connection_t none = {0};
  uint32_t got, source;
  uint8_t tag;
  weft_limits limits;
  CHECK(weft_get_limits(pair_port, &limits) == 0);
  uint32_t most = limits.message_limit < 120 ? limits.message_limit : 120;
  CHECK(velo2_send(&other, data, most + 1, 0, 0) == VELO2_RET_INV_MSG);
  CHECK(velo2_send(&other, NULL, 1, 0, 0) == VELO2_RET_INV_MSG);
  CHECK(velo2_send(&other, data, 1, 0, 4) == VELO2_RET_INV_MTT);
  CHECK(velo2_send(&none, data, 1, 0, 0) == VELO2_RET_ERROR);
  CHECK(velo2_recv(&port, data, 1, &got, &source, &tag, 4) == VELO2_RET_INV_MTT);
  CHECK(velo2_recv(&closed, data, 1, &got, &source, &tag, 0) == VELO2_RET_INVALID_MBOX);
  CHECK(velo2_probe_recv(&closed, data, 1, &got, &source, &tag, &tag) == VELO2_RET_INVALID_MBOX);
  CHECK(velo2_close(&closed) == VELO2_RET_INVALID_MBOX && velo2_open(NULL) == VELO2_RET_ERROR);
  CHECK(velo2_connect(&port, &none, 60000, 0) == VELO2_RET_INVALID_NODE);
  CHECK(velo2_connect(&port, &none, 0, 256) == VELO2_RET_INVALID_MBOX);
  CHECK(velo2_connect(&closed, &none, 0, 0) == VELO2_RET_INVALID_MBOX);
  CHECK(velo2_disconnect(&port, &none) == VELO2_RET_ERROR);
  return tear_down("velo2_limits");
}
