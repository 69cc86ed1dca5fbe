/* The same messages by libweft and by VELO: as long, within 2%. */
#include "velo2_pair.h"

enum { kPings = 100, kMany = 500 };

int main(void) {
  set_up();
  int64_t times[2], rates[2];
  char data[64] = {0};
  weft_message head;
  weft_port* plain;
  CHECK(weft_open(&plain) == 0);
  weft_address mine, theirs;
  CHECK(weft_self(plain, &mine) == 0);
  exchange(&mine, &theirs, sizeof mine);
  for (int by_velo = 0; by_velo < 2; ++by_velo) {
    meet();
    int64_t begin = weft_now_ps();
    for (int i = 0; i < 2 * kPings; ++i) {
      const int turn = i % 2 == me();
      if (by_velo) {
        if (turn)
          CHECK(velo2_send(&other, data, 64, 0, 0) == VELO2_RET_SUCCESS);
        else
          CHECK(velo2_recv(&port, data, 64, NULL, NULL, NULL, 0) == VELO2_RET_SUCCESS);
      } else if (turn) {
        CHECK(weft_send(plain, theirs, data, 64, 0, 0, 0) == 0);
      } else {
        while (weft_receive(plain, data, 64, &head) != 1) weft_wait(plain, -1);
      }
    }
    times[by_velo] = weft_now_ps() - begin;
    meet();
    begin = weft_now_ps();
    for (int i = 0; i < kMany; ++i) {
      if (me() == 0 && by_velo)
        CHECK(velo2_send(&other, data, 64, 0, 0) == VELO2_RET_SUCCESS);
      else if (me() == 0)
        while (weft_send(plain, theirs, data, 64, 0, 0, 0) != 0) weft_wait(plain, -1);
      else if (by_velo)
        CHECK(velo2_recv(&port, data, 64, NULL, NULL, NULL, 0) == VELO2_RET_SUCCESS);
      else
        while (weft_receive(plain, data, 64, &head) != 1) weft_wait(plain, -1);
    }
    rates[by_velo] = weft_now_ps() - begin;
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
  return tear_down("velo2_speed");
}
