/* Thousands of messages to one who reads late: sending waits, nothing is lost, order stays. */
#include "velo2_pair.h"

int main(void) {
  set_up();
  enum { kMany = 5000 };
  if (me() == 0) {
    for (uint32_t i = 0; i < kMany; ++i) CHECK(velo2_send(&other, &i, sizeof i, 0, 0) == VELO2_RET_SUCCESS);
  } else {
    weft_compute(200000);
    for (uint32_t i = 0; i < kMany; ++i) {
      uint32_t in;
      CHECK(velo2_recv(&port, &in, sizeof in, NULL, NULL, NULL, 0) == VELO2_RET_SUCCESS && in == i);
    }
  }
  return tear_down("velo2_pressure");
}
