/* The same puts by libweft and by the calls of APEnet+: as long, and as many a second, within 2%. */
#include "apenet_pair.h"

enum { kPings = 50, kPuts = 200, kSize = 64 };
static weft_port* plain;
static weft_memory mine, theirs;

static void close_to(const char* what, double library, double weft) {
  double apart = library / weft - 1;
  printf("%s: %.1f ns, by libweft %.1f ns\n", what, library, weft);
  CHECK(apart < 0.02 && apart > -0.02);
}

/* Both ways tell the sender that its buffer is free, and the target that data is there. */
static void put(int by_library) {
  if (by_library) {
    CHECK(rdma_put(other, buffer, there, kSize, 0) == 0);
    return;
  }
  while (weft_put(plain, mine.key, 0, theirs, 0, kSize, 0, WEFT_NOTIFY_LOCAL | WEFT_NOTIFY_REMOTE, 0) != 0)
    weft_wait(plain, -1);
}

static void take(int by_library, int arrived) {
  weft_event e;
  if (by_library) {
    expect(arrived ? RDMA_EVENT_PUT : RDMA_EVENT_SENT);
    return;
  }
  while (weft_poll(plain, &e) != 1) weft_wait(plain, -1);
  CHECK(e.kind == (arrived ? WEFT_EVENT_ARRIVED : WEFT_EVENT_LOCAL));
}

int main(void) {
  set_up();
  CHECK(weft_open(&plain) == 0);
  CHECK(weft_register(plain, buffer, kBytes, WEFT_REMOTE_WRITE, &mine) == 0);
  exchange(&mine, &theirs, sizeof mine);
  int64_t times[2], rates[2];
  for (int by_library = 0; by_library < 2; ++by_library) {
    meet();
    int64_t begin = weft_now_ps();
    for (int i = 0; i < 2 * kPings; ++i)
      if (i % 2 == me()) {
        put(by_library);
        take(by_library, 0);
      } else {
        take(by_library, 1);
      }
    times[by_library] = weft_now_ps() - begin;
    meet();
    begin = weft_now_ps();
    for (int i = 0; i < kPuts; ++i) {
      if (me() == 0) put(by_library);
      take(by_library, me());
    }
    rates[by_library] = weft_now_ps() - begin;
  }
  if (me() == 1) close_to("a put there and back", times[1] / 2e3 / kPings, times[0] / 2e3 / kPings);
  if (me() == 1) close_to("a put of many", rates[1] / 1e3 / kPuts, rates[0] / 1e3 / kPuts);
  weft_close(plain);
  return tear_down("apenet_speed");
}
