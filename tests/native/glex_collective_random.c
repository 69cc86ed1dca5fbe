/* Ten thousand random steps of collective requests on two endpoints, against a model of counters, of what
 * waits and of both memories. Both ranks draw the same steps. Packets that count go to the other side alone,
 * so that those of one counter come in one order, whatever fires what. */
#include "glex_collective.h"

enum { kSteps = 10000, kMost = 24, kRequests = 3, kTypes = 4, kQueue = 4096 };
enum { Plain, Swap, Reduce, Put }; /* kinds of requests */

struct packet {
  int has_number;
  int64_t number;
};
struct request {
  int kind, counts, in_queue, brings;
  int64_t number;
  uint32_t offset; /* of a put: eight bytes of the number there */
};
struct sequence {
  unsigned counter, count;
  struct request request[kRequests];
};
struct side {
  struct packet packets[kQueue];
  unsigned packets_begin, packets_end;
  struct sequence waiting[kQueue];
  unsigned waiting_begin, waiting_end;
  struct packet seen[kQueue]; /* MPs of this step */
  unsigned seen_count;
  char memory[kBytes], own[kBytes]; /* what others have put here; what this side puts from */
};
static struct side sides[2];
static unsigned long long state = 909;
static uint64_t fired;

static unsigned draw(unsigned n) { return next_random(&state) % n; }

static unsigned packets_of(const struct side* s) { return s->packets_end - s->packets_begin; }
static unsigned waiting_of(const struct side* s) { return s->waiting_end - s->waiting_begin; }

static void arrive(int to, const struct request* r, int64_t number) {
  struct side* s = &sides[to];
  if (r->kind == Put) memcpy(s->memory + r->offset, sides[1 - to].own + r->offset, 8);
  if (r->kind != Put && r->in_queue) s->seen[s->seen_count++] = (struct packet){1, number};
  if (!r->counts) return;
  s->packets[s->packets_end++ % kQueue] = (struct packet){r->kind != Put && r->brings, number};
}

/* All of a side that can be sent, as the interface sends it. */
static void fire(int from) {
  struct side* s = &sides[from];
  int any = 0;
  while (waiting_of(s) && packets_of(s) >= s->waiting[s->waiting_begin % kQueue].counter) {
    const struct sequence q = s->waiting[s->waiting_begin++ % kQueue];
    int64_t last = 0, sum = 0;
    int brought = 0;
    for (unsigned i = 0; i < q.counter; ++i) {
      const struct packet p = s->packets[s->packets_begin++ % kQueue];
      if (!p.has_number) continue;
      brought = 1;
      last = p.number;
      sum += p.number;
    }
    for (unsigned i = 0; i < q.count; ++i) {
      const struct request* r = &q.request[i];
      int64_t number = r->number;
      if (r->kind == Swap && brought) number = last;
      if (r->kind == Reduce) number += sum;
      arrive(1 - from, r, number);
    }
    any = 1;
    ++fired;
  }
  if (any) fire(1 - from);
}

static uint32_t compose(char* data, int64_t number) {
  union glex_coll_data_loc v;
  uint32_t len;
  memset(&v, 0, sizeof v);
  v.int64_s.data = number;
  CHECK(glex_coll_compose_mp_reduce_data(&v, 1, GLEX_COLL_REDUCE_DATA_BITS_64, GLEX_COLL_REDUCE_SUM_SIGNED, 1,
                                         data, &len) == GLEX_SUCCESS);
  return len;
}

static void post_request(const struct request* r, unsigned counter, int flag) {
  /* A put reads memory before it leaves: what follows would overtake it. */
  flag |= GLEX_FLAG_FENCE | (r->counts ? GLEX_FLAG_COLL_COUNTER : 0);
  if (r->kind == Put) {
    memcpy(buffer + r->offset, &r->number, 8);
    struct glex_rdma_req put = rdma(GLEX_RDMA_TYPE_PUT, r->offset, r->offset, 8, flag, 0, 0);
    put.coll_counter = counter;
    post(&put);
    return;
  }
  char data[128];
  const uint32_t len = compose(data, r->number);
  if (r->in_queue) flag |= GLEX_FLAG_COLL_CP_DATA;
  if (r->brings) flag |= GLEX_FLAG_COLL_CP_SWAP_DATA;
  if (r->kind == Swap) flag |= GLEX_FLAG_COLL_SWAP;
  if (r->kind == Reduce) flag |= GLEX_FLAG_COLL_REDUCE;
  mp(there, data, len, counter, flag | (r->number & 1 ? GLEX_FLAG_NO_CONNECTION : 0));
}

static struct request draw_request(int from) {
  struct request r;
  memset(&r, 0, sizeof r);
  r.kind = (int)draw(kTypes);
  /* Each side puts into its own half of the other's memory, from the same place of its own. */
  r.offset = (uint32_t)from * (kBytes / 2) + draw(kBytes / 16) * 8;
  r.number = (int64_t)next_random(&state) - 1000000000;
  r.counts = packets_of(&sides[1 - from]) < kMost && draw(3) > 0;
  r.in_queue = draw(2) == 0;
  r.brings = draw(2) == 0;
  if (r.kind == Put) memcpy(sides[from].own + r.offset, &r.number, 8);
  return r;
}

static void step(void) {
  const int from = (int)draw(2);
  struct side* s = &sides[from];
  if (waiting_of(s) < kMost && draw(2)) {
    struct sequence q;
    memset(&q, 0, sizeof q);
    q.counter = draw(4);
    q.count = 1 + draw(kRequests);
    for (unsigned i = 0; i < q.count; ++i) q.request[i] = draw_request(from);
    if (me() == from)
      for (unsigned i = 0; i < q.count; ++i)
        post_request(&q.request[i], i ? 0 : q.counter,
                     GLEX_FLAG_COLL | (i ? 0 : GLEX_FLAG_COLL_SEQ_START) |
                         (i + 1 < q.count ? 0 : GLEX_FLAG_COLL_SEQ_TAIL));
    s->waiting[s->waiting_end++ % kQueue] = q;
    fire(from);
  } else {
    struct request r = draw_request(from);
    if (r.kind == Swap) r.kind = Plain;
    if (me() == from) post_request(&r, 0, GLEX_FLAG_COLL);
    arrive(1 - from, &r, r.number);
    fire(1 - from);
  }
}

/* What has come is what the model has seen come. */
static void compare(void) {
  struct side* s = &sides[me()];
  for (unsigned i = 0; i < s->seen_count; ++i) {
    union glex_coll_data_loc v;
    char in[128];
    uint32_t len;
    CHECK(glex_receive_mp(ep, -1, NULL, in, &len) == GLEX_SUCCESS);
    CHECK(glex_coll_decompose_mp_reduce_data(&v, 1, GLEX_COLL_REDUCE_DATA_BITS_64, in) == GLEX_SUCCESS);
    CHECK(v.int64_s.data == s->seen[i].number);
  }
  sides[0].seen_count = sides[1].seen_count = 0;
  weft_compute(50000);
  char in[128];
  CHECK(glex_receive_mp(ep, 0, NULL, in, NULL) == GLEX_NO_MP);
}

int main(void) {
  set_up();
  for (int i = 0; i < kSteps; ++i) {
    step();
    compare();
    meet();
  }
  /* Puts of a side lie in its half of the other's memory; its own half has what it put from. */
  const uint32_t theirs_begin = (uint32_t)(1 - me()) * (kBytes / 2);
  CHECK(memcmp(buffer + theirs_begin, sides[me()].memory + theirs_begin, kBytes / 2) == 0);
  CHECK(fired > kSteps / 8);
  expect_no_failure();
  if (me() == 0) printf("%llu sequences were sent\n", (unsigned long long)fired);
  /* What still waits goes with its endpoint. */
  return tear_down("glex_collective_random");
}
