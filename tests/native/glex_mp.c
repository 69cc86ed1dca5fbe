/* Mini packets of every length, in lists. */
#include "glex_pair.h"

int main(void) {
  set_up();
  char data[3][128];
  struct glex_imm_mp_req list[3], *bad = NULL;
  memset(list, 0, sizeof list);
  for (uint32_t len = 0; len <= limits.max_imm_mp_data_len; len += 4) {
    if (me() == 0) {
      for (int i = 0; i < 3; ++i) {
        memset(data[i], (int)len + i, sizeof data[i]);
        list[i] = (struct glex_imm_mp_req){there, data[i], len, 0, 0, i < 2 ? &list[i + 1] : NULL};
      }
      CHECK(glex_send_imm_mp(ep, list, &bad) == GLEX_SUCCESS);
      memset(data, 0, sizeof data); /* it was copied */
    } else {
      for (int i = 0; i < 3; ++i) {
        glex_ep_addr_t source;
        uint32_t got;
        char in[128];
        CHECK(glex_receive_mp(ep, -1, &source, in, &got) == GLEX_SUCCESS);
        CHECK(got == len && source.v == there.v);
        for (uint32_t b = 0; b < len; ++b) CHECK(in[b] == (char)((int)len + i));
      }
    }
    meet();
  }
  struct glex_imm_mp_req two = {there, data, limits.max_imm_mp_data_len + 1, 0, 0, NULL},
                         one = {there, data, 4, 0, 0, &two};
  CHECK(glex_send_imm_mp(ep, &one, &bad) == GLEX_INVALID_PARAM && bad == &two);
  char in[128];
  CHECK(glex_receive_mp(ep, -1, NULL, in, NULL) == GLEX_SUCCESS); /* the first went */
  CHECK(glex_receive_mp(ep, 0, NULL, in, NULL) == GLEX_NO_MP);
  CHECK(glex_receive_mp(ep, 1, NULL, in, NULL) == GLEX_NO_MP);
  return tear_down("glex_mp");
}
