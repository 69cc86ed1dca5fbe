/* Ten thousand random operations on one's own memory and the other's, against a model of both memories, of
 * locks and of every notification. */
#include "rma2_pair.h"

enum { kBytes = 16384, kLocks = 8, kSteps = 10000 };
static char model[2][kBytes]; /* 0: here, 1: there */
static int32_t locks[2][kLocks];
static uint64_t told_there;
static unsigned long long state = 20260;

static unsigned draw(unsigned n) { return next_random(&state) % n; }

static void transfer(RMA2_Handle to, int side, int words) {
  uint32_t size = words ? 8 * (1 + draw(60)) : 1 + draw(600), unit = words ? 8 : 1;
  uint32_t mine = draw((kBytes - size) / unit) * unit, theirs = draw((kBytes - size) / unit) * unit;
  RMA2_Notification_Spec spec = (RMA2_Notification_Spec)draw(8);
  const RMA2_NLA remote = (side ? there : here) + theirs;
  if (draw(2)) {
    for (uint32_t i = 0; i < size; ++i) buffer[mine + i] = model[0][mine + i] = (char)draw(256);
    CHECK((words ? rma2_post_put_qw : rma2_post_put_bt)(port, to, region, mine, size, remote,
                                                        RMA2_REQUESTER_NOTIFICATION | spec,
                                                        RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
    expect(RMA2_REQUESTER_NOTIFICATION, words ? RMA2_QW_PUT : RMA2_BT_PUT);
    memmove(model[side] + theirs, model[0] + mine, size);
    weft_compute(5000); /* nobody tells us when it is there, where only the completer could */
    if (!(spec & RMA2_COMPLETER_NOTIFICATION)) return;
    if (side)
      ++told_there;
    else
      expect(RMA2_COMPLETER_NOTIFICATION, words ? RMA2_QW_PUT : RMA2_BT_PUT);
    return;
  }
  CHECK((words ? rma2_post_get_qw : rma2_post_get_bt)(port, to, region, mine, size, remote,
                                                      RMA2_COMPLETER_NOTIFICATION | spec,
                                                      RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
  memmove(model[0] + mine, model[side] + theirs, size);
  if (spec & RMA2_REQUESTER_NOTIFICATION)
    expect(RMA2_REQUESTER_NOTIFICATION, words ? RMA2_QW_GET : RMA2_BT_GET);
  int responder = spec & RMA2_RESPONDER_NOTIFICATION, all = responder && !side ? 2 : 1;
  told_there += responder && side;
  for (int i = 0; i < all; ++i) { /* to oneself, either may be first */
    RMA2_Notification* n;
    CHECK(rma2_noti_get_block(port, &n) == RMA2_SUCCESS);
    CHECK(rma2_noti_get_error(n) == 0 && rma2_noti_get_size(n) == size);
    CHECK(rma2_noti_free(port, n) == RMA2_SUCCESS);
  }
}

static void immediate(RMA2_Handle to, int side) {
  uint32_t count = 1 + draw(8), at = draw(kBytes - 8);
  uint64_t value = (uint64_t)next_random(&state) << 32 | next_random(&state);
  CHECK(rma2_post_immediate_put(port, to, count, value, (side ? there : here) + at,
                                RMA2_REQCOMPL_NOTIFICATION, RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
  memcpy(model[side] + at, &value, count);
  expect(RMA2_REQUESTER_NOTIFICATION, RMA2_IMMEDIATE_PUT);
  weft_compute(5000);
  if (side)
    ++told_there;
  else
    expect(RMA2_COMPLETER_NOTIFICATION, RMA2_IMMEDIATE_PUT);
}

static void notify(RMA2_Handle to, int side) {
  uint64_t value = next_random(&state);
  CHECK(rma2_post_notification(port, to, (RMA2_Class)draw(200), value, RMA2_REQCOMPL_NOTIFICATION,
                               RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
  expect(RMA2_REQUESTER_NOTIFICATION, RMA2_NOTIFICATION_PUT);
  if (side) {
    ++told_there;
    return;
  }
  RMA2_Notification n = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_NOTIFICATION_PUT);
  CHECK(rma2_noti_get_notiput_payload(&n) == value);
}

static void lock(RMA2_Handle to, int side) {
  uint32_t number = draw(kLocks);
  int32_t compare = (int32_t)draw(20) - 10, add = (int32_t)draw(9) - 4;
  CHECK(rma2_post_lock(port, to, draw(2), number, compare, add, RMA2_COMPLETER_NOTIFICATION,
                       RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
  int granted = locks[side][number] <= compare;
  if (granted) locks[side][number] += add;
  RMA2_Notification n = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_LOCK_RSP);
  CHECK(rma2_noti_get_lock_result(&n) == granted && rma2_noti_get_lock_number(&n) == number);
  CHECK((int32_t)rma2_noti_get_lock_value(&n) == locks[side][number]);
}

int main(void) {
  set_up(kBytes);
  uint64_t told = 0, ended = 0;
  if (me() == 0) {
    RMA2_Handle self;
    CHECK(rma2_connect(port, rma2_get_nodeid(port), rma2_get_vpid(port), RMA2_CONN_DEFAULT, &self) ==
          RMA2_SUCCESS);
    for (int step = 0; step < kSteps; ++step) {
      int side = (int)draw(2);
      RMA2_Handle to = side ? other : self;
      switch (draw(6)) {
        case 0:
          immediate(to, side);
          break;
        case 1:
          notify(to, side);
          break;
        case 2:
          lock(to, side);
          break;
        default:
          transfer(to, side, (int)draw(2));
      }
    }
    CHECK(rma2_post_get_bt(port, other, region, 0, kBytes, there, RMA2_COMPLETER_NOTIFICATION,
                           RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
    CHECK(memcmp(buffer, model[0], kBytes) == 0);
    expect(RMA2_COMPLETER_NOTIFICATION, RMA2_GET_BT_RSP);
    CHECK(memcmp(buffer, model[1], kBytes) == 0);
    CHECK(rma2_disconnect(port, self) == RMA2_SUCCESS);
    CHECK(rma2_post_notification(port, other, 255, told_there, RMA2_COMPLETER_NOTIFICATION,
                                 RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
    printf("%llu notifications at the other side\n", (unsigned long long)told_there);
  } else {
    while (!ended) {
      RMA2_Notification* n;
      CHECK(rma2_noti_get_block(port, &n) == RMA2_SUCCESS);
      CHECK(rma2_noti_get_error(n) == 0 && rma2_noti_get_remote_nodeid(n) == other_node);
      if (rma2_noti_get_cmd(n) == RMA2_NOTIFICATION_PUT && rma2_noti_get_notiput_class(n) == 255) {
        ended = 1;
        CHECK(rma2_noti_get_notiput_payload(n) == told);
      }
      ++told;
      CHECK(rma2_noti_free(port, n) == RMA2_SUCCESS);
    }
  }
  return tear_down("rma2_random");
}
