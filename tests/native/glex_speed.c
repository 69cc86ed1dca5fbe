/* The same messages by libweft and by GLEX: as long, within 2%. */
#include "glex_pair.h"

enum { kPings = 100, kMany = 500 };

int main(void) {
  set_up();
  int64_t times[2], rates[2];
  char data[64] = {0};
  weft_message head;
  weft_port* plain;
  CHECK(weft_open(&plain) == 0);
  weft_address own, its;
  CHECK(weft_self(plain, &own) == 0);
  exchange(&own, &its, sizeof own);
  struct glex_imm_mp_req r = {there, data, 64, 0, GLEX_FLAG_NO_CONNECTION, NULL};
  for (int by_glex = 0; by_glex < 2; ++by_glex) {
    meet();
    int64_t begin = weft_now_ps();
    for (int i = 0; i < 2 * kPings; ++i) {
      const int turn = i % 2 == me();
      if (by_glex) {
        if (turn)
          CHECK(glex_send_imm_mp(ep, &r, NULL) == GLEX_SUCCESS);
        else
          CHECK(glex_receive_mp(ep, -1, NULL, data, NULL) == GLEX_SUCCESS);
      } else if (turn) {
        CHECK(weft_send(plain, its, data, 64, 0, 0, 0) == 0);
      } else {
        while (weft_receive(plain, data, 64, &head) != 1) weft_wait(plain, -1);
      }
    }
    times[by_glex] = weft_now_ps() - begin;
    meet();
    begin = weft_now_ps();
    for (int i = 0; i < kMany; ++i) {
      if (me() == 0 && by_glex)
        while (glex_send_imm_mp(ep, &r, NULL) != GLEX_SUCCESS) {
        }
      else if (me() == 0)
        while (weft_send(plain, its, data, 64, 0, 0, 0) != 0) {
        }
      else if (by_glex)
        CHECK(glex_receive_mp(ep, -1, NULL, data, NULL) == GLEX_SUCCESS);
      else
        while (weft_receive(plain, data, 64, &head) != 1) weft_wait(plain, -1);
    }
    rates[by_glex] = weft_now_ps() - begin;
  }
  double apart = (double)times[1] / (double)times[0] - 1;
  if (me() == 0)
    printf("there and back: %.1f ns, by libweft %.1f ns\n", (double)times[1] / 1e3 / kPings,
           (double)times[0] / 1e3 / kPings);
  CHECK(apart < 0.02 && apart > -0.02);
  apart = (double)rates[1] / (double)rates[0] - 1;
  if (me() == 1)
    printf("one of many: %.1f ns, by libweft %.1f ns\n", (double)rates[1] / 1e3 / kMany,
           (double)rates[0] / 1e3 / kMany);
  CHECK(me() == 0 || (apart < 0.02 && apart > -0.02)); /* whoever sends is done when all is in the queue */
  weft_close(plain);
  return tear_down("glex_speed");
}
