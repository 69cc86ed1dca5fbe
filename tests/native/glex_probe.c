/* Probing MPs where they lie, and discarding all at once. */
#include "glex_pair.h"

int main(void) {
  set_up();
  if (me() == 0) {
    for (int i = 0; i < 9; ++i) {
      struct glex_imm_mp_req r = {there, &i, sizeof i, 0, GLEX_FLAG_NO_CONNECTION, NULL};
      CHECK(glex_send_imm_mp(ep, &r, NULL) == GLEX_SUCCESS);
    }
    meet();
  } else {
    meet();
    weft_compute(50000);
    glex_ep_addr_t source;
    void* at[5];
    uint32_t len;
    CHECK(glex_probe_first_mp(ep, -1, &source, &at[0], &len) == GLEX_SUCCESS);
    for (int i = 1; i < 5; ++i) CHECK(glex_probe_next_mp(ep, &source, &at[i], &len) == GLEX_SUCCESS);
    for (int i = 0; i < 5; ++i) CHECK(*(int*)at[i] == i);
    char in[128];
    CHECK(glex_receive_mp(ep, 0, NULL, in, NULL) == GLEX_BUSY);
    CHECK(glex_discard_probed_mp(ep) == GLEX_SUCCESS);
    for (int i = 5; i < 9; ++i)
      CHECK(glex_probe_next_mp(ep, &source, &at[0], &len) == GLEX_SUCCESS && *(int*)at[0] == i);
    CHECK(glex_probe_next_mp(ep, &source, &at[0], &len) == GLEX_NO_MP);
    CHECK(glex_discard_probed_mp(ep) == GLEX_SUCCESS && glex_discard_probed_mp(ep) == GLEX_SUCCESS);
    CHECK(glex_probe_first_mp(ep, 0, &source, &at[0], &len) == GLEX_NO_MP);
  }
  return tear_down("glex_probe");
}
