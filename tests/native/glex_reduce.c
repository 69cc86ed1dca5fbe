/* Numbers combined by the interface on their way: every operation and width, places of the largest and
 * smallest, a result sent on to all. */
#include "glex_collective.h"

enum { kUnits = GLEX_COLL_REDUCE_MAX_DATA_UNITS };
typedef union glex_coll_data_loc value;

static unsigned long long state = 77;

static double as_number(const value* v, int kind, int wide) {
  switch (kind) {
    case 0:
      return wide ? v->double_s.data : v->float_s.data;
    case 1:
      return wide ? (double)v->int64_s.data : v->int32_s.data;
    default:
      return wide ? (double)v->uint64_s.data : v->uint32_s.data;
  }
}

static void draw(value* v, int kind, int wide, uint32_t location) {
  memset(v, 0, sizeof *v);
  int32_t n = (int32_t)(next_random(&state) % 2001) - (kind == 2 ? 0 : 1000);
  if (wide) {
    if (kind == 0)
      v->double_s.data = n / 8.0;
    else
      v->int64_s.data = n;
    v->uint64_s.location = location;
  } else {
    if (kind == 0)
      v->float_s.data = (float)n / 8;
    else
      v->int32_s.data = n;
    v->uint32_s.location = location;
  }
}

/* What a sceptic would compute. */
static uint64_t combined(const value* a, const value* b, int op, int wide, uint32_t* location) {
  const int kind = op / 3;
  uint64_t x = wide ? a->uint64_s.data : a->uint32_s.data, y = wide ? b->uint64_s.data : b->uint32_s.data;
  uint32_t from_a = wide ? a->uint64_s.location : a->uint32_s.location,
           from_b = wide ? b->uint64_s.location : b->uint32_s.location;
  *location = from_a;
  if (op >= GLEX_COLL_REDUCE_LAND) {
    const uint64_t results[] = {x && y, x || y, !x != !y, x & y, x | y, x ^ y};
    return results[op - GLEX_COLL_REDUCE_LAND];
  }
  const double u = as_number(a, kind, wide), v = as_number(b, kind, wide);
  if (op % 3 == 0) {
    value sum;
    memset(&sum, 0, sizeof sum);
    if (kind == 0 && wide)
      sum.double_s.data = u + v;
    else if (kind == 0)
      sum.float_s.data = (float)(u + v);
    else if (wide)
      sum.uint64_s.data = x + y;
    else
      sum.uint32_s.data = (uint32_t)(x + y);
    return wide ? sum.uint64_s.data : sum.uint32_s.data;
  }
  const int takes_b = op % 3 == 1 ? v > u : v < u;
  if (takes_b || (u == v && from_b < from_a)) *location = from_b;
  return takes_b ? y : x;
}

/* Rank 1 gives to rank 0's waiting request, which sends the result to both. */
static void reduce(int op, int wide, uint32_t count) {
  value mine_[kUnits], theirs_[kUnits], out[kUnits];
  char data[128];
  uint32_t len;
  const int kind = op >= GLEX_COLL_REDUCE_LAND ? 2 : op / 3;
  for (uint32_t i = 0; i < count; ++i) {
    draw(&mine_[i], kind, wide, 5);
    draw(&theirs_[i], kind, wide, next_random(&state) % 2 ? 3 : 9);
  }
  const enum glex_coll_reduce_data_bits bits =
      wide ? GLEX_COLL_REDUCE_DATA_BITS_64 : GLEX_COLL_REDUCE_DATA_BITS_32;
  CHECK(glex_coll_compose_mp_reduce_data(me() ? theirs_ : mine_, count, bits, (enum glex_coll_reduce_op)op, 1,
                                         data, &len) == GLEX_SUCCESS);
  if (me() == 1) {
    mp(there, data, len, 0,
       kAlone | GLEX_FLAG_COLL_REDUCE | GLEX_FLAG_COLL_CP_SWAP_DATA | GLEX_FLAG_COLL_COUNTER);
  } else {
    mp(here, data, len, 1,
       GLEX_FLAG_COLL | GLEX_FLAG_COLL_SEQ_START | GLEX_FLAG_COLL_REDUCE | GLEX_FLAG_COLL_CP_DATA);
    mp(there, NULL, 0, 0,
       GLEX_FLAG_COLL | GLEX_FLAG_COLL_SEQ_TAIL | GLEX_FLAG_COLL_REDUCE_RESULT | GLEX_FLAG_COLL_CP_DATA);
  }
  char in[128];
  uint32_t got;
  glex_ep_addr_t source;
  CHECK(glex_receive_mp(ep, -1, &source, in, &got) == GLEX_SUCCESS && got == len);
  CHECK(source.v == (me() ? there.v : here.v));
  CHECK(glex_coll_decompose_mp_reduce_data(out, count, bits, in) == GLEX_SUCCESS);
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t location;
    const uint64_t wanted = combined(&mine_[i], &theirs_[i], op, wide, &location);
    CHECK((wide ? out[i].uint64_s.data : out[i].uint32_s.data) == wanted);
    CHECK((wide ? out[i].uint64_s.location : out[i].uint32_s.location) == location);
  }
}

/* As clients run an all-reduce: the root's result triggers what forwards it, on another endpoint. */
static void forward_by_another_endpoint(void) {
  struct glex_ep_attr wanted;
  glex_ep_handle_t second, first = ep;
  glex_ep_addr_t mine_, other, own = here;
  value v = {.double_s = {1.5 + me(), 0}}, out;
  char data[128], in[128];
  uint32_t len, got;
  CHECK(glex_query_ep(ep, &wanted) == GLEX_SUCCESS);
  wanted.num = GLEX_ANY_EP_NUM;
  wanted.mpq_capacity = wanted.dq_capacity = wanted.eq_capacity = 0;
  CHECK(glex_create_ep(device, &wanted, &second) == GLEX_SUCCESS);
  CHECK(glex_get_ep_addr(second, &mine_) == GLEX_SUCCESS);
  exchange(&mine_, &other, sizeof mine_);
  CHECK(glex_coll_compose_mp_reduce_data(&v, 1, GLEX_COLL_REDUCE_DATA_BITS_64, GLEX_COLL_REDUCE_SUM_FLOAT, 1,
                                         data, &len) == GLEX_SUCCESS);
  const int reduce_flags =
      kAlone | GLEX_FLAG_COLL_REDUCE | GLEX_FLAG_COLL_CP_SWAP_DATA | GLEX_FLAG_COLL_COUNTER;
  if (me() == 1) {
    mp(there, data, len, 0, reduce_flags);
  } else {
    mp(mine_, data, len, 1, reduce_flags | GLEX_FLAG_COLL_SWAP | GLEX_FLAG_COLL_CP_DATA);
    ep = second;
    mp(other, NULL, 0, 1,
       kAlone | GLEX_FLAG_COLL_REDUCE_RESULT | GLEX_FLAG_COLL_SWAP | GLEX_FLAG_COLL_CP_DATA);
  }
  ep = second;
  glex_ep_addr_t source;
  CHECK(glex_receive_mp(ep, -1, &source, in, &got) == GLEX_SUCCESS && got == len);
  CHECK(source.v == (me() ? other.v : own.v));
  CHECK(glex_coll_decompose_mp_reduce_data(&out, 1, GLEX_COLL_REDUCE_DATA_BITS_64, in) == GLEX_SUCCESS);
  CHECK(out.double_s.data == 1.5 + 2.5);
  ep = first;
  meet();
  CHECK(glex_destroy_ep(second) == GLEX_SUCCESS);
}

int main(void) {
  set_up();
  for (int op = 0; op <= GLEX_COLL_REDUCE_BXOR; ++op)
    for (int wide = 0; wide < 2; ++wide)
      for (uint32_t count = 1; count <= kUnits; count += 5) reduce(op, wide, count);
  forward_by_another_endpoint();
  expect_no_failure();
  return tear_down("glex_reduce");
}
