/* The same puts by libweft and by RMA2: as long, and as many a second, within 2%. */
#include "rma2_pair.h"

enum { kPings = 50, kPuts = 400 };

static void close_to(const char* what, double library, double weft) {
  double apart = library / weft - 1;
  printf("%s: %.1f ns, by libweft %.1f ns\n", what, library, weft);
  CHECK(apart < 0.02 && apart > -0.02);
}

static void weft_event_of(weft_port* p, unsigned kind) {
  weft_event e;
  for (;;) {
    if (weft_poll(p, &e) == 1) {
      CHECK(e.kind == kind);
      return;
    }
    weft_wait(p, -1);
  }
}

int main(void) {
  set_up(4096);
  weft_port* plain;
  CHECK(weft_open(&plain) == 0);
  weft_memory mine, theirs;
  CHECK(weft_register(plain, buffer, 4096, WEFT_REMOTE_WRITE, &mine) == 0);
  exchange(&mine, &theirs, sizeof mine);
  int64_t times[2], rates[2];
  for (int by_rma = 0; by_rma < 2; ++by_rma) {
    meet();
    int64_t begin = weft_now_ps();
    for (int i = 0; i < 2 * kPings; ++i) {
      const int turn = i % 2 == me();
      if (by_rma) {
        if (turn)
          CHECK(rma2_post_put_bt(port, other, region, 0, 64, there, RMA2_COMPLETER_NOTIFICATION,
                                 RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
        else
          expect(RMA2_COMPLETER_NOTIFICATION, RMA2_BT_PUT);
      } else if (turn) {
        CHECK(weft_put(plain, mine.key, 0, theirs, 0, 64, 0, WEFT_NOTIFY_REMOTE, 0) == 0);
      } else {
        weft_event_of(plain, WEFT_EVENT_ARRIVED);
      }
    }
    times[by_rma] = weft_now_ps() - begin;
    meet();
    begin = weft_now_ps();
    for (int i = 0; i < kPuts; ++i) {
      if (me() == 0 && by_rma)
        CHECK(rma2_post_put_bt(port, other, region, 0, 64, there,
                               i == kPuts - 1 ? RMA2_COMPLETER_NOTIFICATION : 0,
                               RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
      if (me() == 0 && !by_rma)
        while (weft_put(plain, mine.key, 0, theirs, 0, 64, 0, i == kPuts - 1 ? WEFT_NOTIFY_REMOTE : 0, 0) !=
               0)
          weft_wait(plain, -1);
    }
    if (me() == 1 && by_rma) expect(RMA2_COMPLETER_NOTIFICATION, RMA2_BT_PUT);
    if (me() == 1 && !by_rma) weft_event_of(plain, WEFT_EVENT_ARRIVED);
    rates[by_rma] = weft_now_ps() - begin;
  }
  if (me() == 1) close_to("a put there and back", times[1] / 2e3 / kPings, times[0] / 2e3 / kPings);
  if (me() == 1) close_to("a put of many", rates[1] / 1e3 / kPuts, rates[0] / 1e3 / kPuts);
  weft_close(plain);
  return tear_down("rma2_speed");
}
