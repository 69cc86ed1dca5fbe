/* Two ranks use libfabric directly: everything the provider offers, each check by itself. Prints "ok NAME" for each
 * that held, and ends with 1 at the first that did not. */
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fi_pair.h"

#include "weft.h"

static struct fid_fabric* fabric;
static struct fid_domain* domain;
static struct fid_av* av;
static struct fid_cq *send_cq, *receive_cq;
static struct fid_cntr *receives, *reads, *writes;
static struct fid_ep* ep;
static struct fi_info* info;
static fi_addr_t peer, myself;

static void meet(const char* name) {
  char c = 0, d;
  exchange(&c, &d, 1);
  if (me == 0) printf("ok %s\n", name);
}

static struct fi_cq_tagged_entry next(struct fid_cq* cq) {
  struct fi_cq_tagged_entry e;
  ssize_t got;
  while ((got = fi_cq_read(cq, &e, 1)) == -FI_EAGAIN) continue;
  CHECK(got == 1);
  return e;
}

static struct fi_cq_err_entry next_error(struct fid_cq* cq) {
  struct fi_cq_tagged_entry e;
  struct fi_cq_err_entry error;
  ssize_t got;
  memset(&error, 0, sizeof error);
  while ((got = fi_cq_read(cq, &e, 1)) == -FI_EAGAIN) continue;
  CHECK(got == -FI_EAVAIL);
  CHECK(fi_cq_readerr(cq, &error, 0) == 1);
  return error;
}

static void open_all(void) {
  struct fi_info* hints = fi_allocinfo();
  struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_UNSPEC};
  struct fi_av_attr table = {.type = FI_AV_TABLE};
  struct fi_cntr_attr counter = {.events = FI_CNTR_EVENTS_COMP};
  char name[64], theirs[64];
  size_t length = sizeof name;
  hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_MULTI_RECV | FI_SOURCE | FI_DIRECTED_RECV;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_PROV_KEY | FI_MR_ALLOCATED | FI_MR_VIRT_ADDR;
  hints->domain_attr->threading = FI_THREAD_SAFE;
  CHECK(fi_getinfo(FI_VERSION(1, 15), NULL, NULL, 0, hints, &info) == 0);
  CHECK(strcmp(info->fabric_attr->prov_name, "weft") == 0);
  CHECK(fi_fabric(info->fabric_attr, &fabric, NULL) == 0);
  CHECK(fi_domain(fabric, info, &domain, NULL) == 0);
  CHECK(fi_av_open(domain, &table, &av, NULL) == 0);
  CHECK(fi_cq_open(domain, &cq, &send_cq, NULL) == 0 && fi_cq_open(domain, &cq, &receive_cq, NULL) == 0);
  CHECK(fi_cntr_open(domain, &counter, &sends, NULL) == 0 && fi_cntr_open(domain, &counter, &receives, NULL) == 0);
  CHECK(fi_cntr_open(domain, &counter, &reads, NULL) == 0 && fi_cntr_open(domain, &counter, &writes, NULL) == 0);
  CHECK(fi_endpoint(domain, info, &ep, NULL) == 0);
  CHECK(fi_ep_bind(ep, &av->fid, 0) == 0);
  CHECK(fi_ep_bind(ep, &send_cq->fid, FI_TRANSMIT) == 0 && fi_ep_bind(ep, &receive_cq->fid, FI_RECV) == 0);
  CHECK(fi_ep_bind(ep, &sends->fid, FI_SEND) == 0 && fi_ep_bind(ep, &receives->fid, FI_RECV) == 0);
  CHECK(fi_ep_bind(ep, &reads->fid, FI_READ) == 0 && fi_ep_bind(ep, &writes->fid, FI_WRITE) == 0);
  CHECK(fi_enable(ep) == 0);
  CHECK(fi_getname(&ep->fid, name, &length) == 0);
  exchange(name, theirs, length);
  CHECK(fi_av_insert(av, theirs, 1, &peer, 0, NULL) == 1 && fi_av_insert(av, name, 1, &myself, 0, NULL) == 1);
  CHECK(fi_av_insert(av, "not an address of anybody here..", 1, NULL, 0, NULL) == 0);
  fi_freeinfo(hints);
}

static void fill(char* at, size_t length, int seed) {
  for (size_t i = 0; i < length; ++i) at[i] = (char)(i * 31 + (size_t)seed);
}
static int holds(const char* at, size_t length, int seed) {
  for (size_t i = 0; i < length; ++i)
    if (at[i] != (char)(i * 31 + (size_t)seed)) return 0;
  return 1;
}

static void tagged(void) {
  size_t sizes[] = {0, 1, 8, 16, 100, 300, 2048, 2049, 70000};
  static char buffer[70000];
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    size_t n = sizes[i];
    if (me == 0) {
      fill(buffer, n, (int)i);
      CHECK(fi_tsenddata(ep, buffer, n, NULL, 17 + i, peer, 1008 + i, &sizes[i]) == 0);
      struct fi_cq_tagged_entry e = next(send_cq);
      CHECK(e.op_context == &sizes[i] && (e.flags & FI_SEND));
    } else {
      memset(buffer, 0, sizeof buffer);
      CHECK(fi_trecv(ep, buffer, sizeof buffer, NULL, i % 2 ? peer : FI_ADDR_UNSPEC, 1008, 15, &sizes[i]) == 0);
      struct fi_cq_tagged_entry e = next(receive_cq);
      CHECK(e.op_context == &sizes[i] && e.len == n && e.tag == 1008 + i && e.data == 17 + i);
      CHECK((e.flags & FI_REMOTE_CQ_DATA) && holds(buffer, n, (int)i));
    }
  }
  meet("tagged messages of all lengths");
}

static void unexpected(void) {
  enum { kCount = 20 };
  static char b[kCount][3000];
  if (me == 0) {
    for (int i = 0; i < kCount; ++i) {
      fill(b[i], sizeof b[i], i);
      CHECK(fi_tsend(ep, b[i], i % 3 == 0 ? 3000 : i % 3 == 1 ? 500 : 8, NULL, peer, (uint64_t)i, b[i]) == 0);
    }
    exchange("", NULL, 0);
    for (int i = 0; i < kCount; ++i) next(send_cq);
  } else {
    exchange("", NULL, 0);
    for (int i = kCount - 1; i >= 0; --i) {
      size_t n = i % 3 == 0 ? 3000 : i % 3 == 1 ? 500 : 8;
      CHECK(fi_trecv(ep, b[i], 3000, NULL, peer, (uint64_t)i, 0, b[i]) == 0);
      struct fi_cq_tagged_entry e = next(receive_cq);
      CHECK(e.op_context == b[i] && e.len == n && holds(b[i], n, i));
    }
  }
  meet("unexpected messages, taken backwards");
}

static void scattered(void) {
  static char out[9000], in[9000];
  for (size_t n = 900; n <= 9000; n *= 10) { /* at once, and after a request */
    struct iovec from[3] = {{out, n / 3}, {out + n / 3, 1}, {out + n / 3 + 1, n - n / 3 - 1}};
    struct iovec to[2] = {{in, n / 2}, {in + n / 2, n - n / 2}};
    if (me == 0) {
      fill(out, n, 5);
      CHECK(fi_sendv(ep, from, NULL, 3, peer, out) == 0);
      next(send_cq);
    } else {
      memset(in, 0, sizeof in);
      CHECK(fi_recvv(ep, to, NULL, 2, FI_ADDR_UNSPEC, in) == 0);
      CHECK(next(receive_cq).len == n && holds(in, n, 5));
    }
  }
  meet("scattered buffers");
}

static void truncated(void) {
  static char big[5000];
  for (int i = 0; i < 3; ++i) {
    size_t n = i == 0 ? 10 : i == 1 ? 1000 : 5000;
    if (me == 0) {
      CHECK(fi_tsend(ep, big, n, NULL, peer, 3, big) == 0);
      next(send_cq);
    } else {
      CHECK(fi_trecv(ep, big, n - 4, NULL, peer, 3, 0, big) == 0);
      struct fi_cq_err_entry e = next_error(receive_cq);
      CHECK(e.err == FI_ETRUNC && e.olen == 4 && e.op_context == big);
    }
  }
  meet("truncated messages");
}

static void multi_receive(void) {
  static char buffer[1024];
  size_t least = 200;
  if (me == 0) {
    char c[300];
    meet("multi-receive is posted");
    for (int i = 0; i < 9; ++i) {
      fill(c, sizeof c, i);
      CHECK(fi_inject(ep, c, 100, peer) == 0);
    }
  } else {
    struct iovec v = {buffer, sizeof buffer};
    struct fi_msg m = {.msg_iov = &v, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = buffer};
    CHECK(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least) == 0);
    CHECK(fi_recvmsg(ep, &m, FI_MULTI_RECV) == 0);
    meet("");
    for (int i = 0; i < 9; ++i) { /* 1024 - 900 < 200: the ninth is the last */
      struct fi_cq_tagged_entry e = next(receive_cq);
      CHECK(e.op_context == buffer && e.len == 100 && e.buf == buffer + 100 * i && holds(e.buf, 100, i));
      CHECK(!!(e.flags & FI_MULTI_RECV) == (i == 8));
    }
  }
  meet("one buffer for several messages");
}

static void cancelled(void) {
  char c;
  if (me == 1) {
    CHECK(fi_trecv(ep, &c, 1, NULL, peer, 77, 0, &c) == 0);
    CHECK(fi_cancel(&ep->fid, &c) == 0);
    struct fi_cq_err_entry e = next_error(receive_cq);
    CHECK(e.err == FI_ECANCELED && e.op_context == &c);
    CHECK(fi_cancel(&ep->fid, &c) != 0);
  }
  meet("a receive is cancelled");
}

static void peeked(void) {
  static char b[4000];
  if (me == 0) {
    meet("nothing to see");
    fill(b, sizeof b, 9);
    CHECK(fi_tinject(ep, b, 20, peer, 5) == 0);
    CHECK(fi_tsend(ep, b, sizeof b, NULL, peer, 6, b) == 0);
    next(send_cq);
  } else {
    struct fi_msg_tagged m = {.addr = peer, .tag = 5, .context = b};
    struct iovec v = {b, sizeof b};
    CHECK(fi_trecvmsg(ep, &m, FI_PEEK) == 0);
    CHECK(next_error(receive_cq).err == FI_ENOMSG);
    meet("");
    for (;;) {
      struct fi_cq_tagged_entry e;
      CHECK(fi_trecvmsg(ep, &m, FI_PEEK | FI_CLAIM) == 0);
      if (fi_cq_read(receive_cq, &e, 1) == 1) {
        CHECK(e.len == 20 && e.tag == 5);
        break;
      }
      struct fi_cq_err_entry error;
      CHECK(fi_cq_readerr(receive_cq, &error, 0) == 1 && error.err == FI_ENOMSG);
    }
    m.msg_iov = &v;
    m.iov_count = 1;
    CHECK(fi_trecvmsg(ep, &m, FI_CLAIM) == 0);
    CHECK(next(receive_cq).len == 20 && holds(b, 20, 9));
    CHECK(fi_trecv(ep, b, sizeof b, NULL, peer, 6, 0, b) == 0);
    CHECK(next(receive_cq).len == sizeof b && holds(b, sizeof b, 9));
  }
  meet("peek and claim");
}

static void waits(void) {
  char c = 0;
  struct fi_cq_tagged_entry e;
  if (me == 0) {
    weft_compute(5000000);
    CHECK(fi_tinject(ep, &c, 1, peer, 8) == 0);
  } else {
    int64_t begin = weft_now_ps();
    CHECK(fi_cq_sread(receive_cq, &e, 1, NULL, 2) == -FI_EAGAIN);
    CHECK(weft_now_ps() - begin == 2000000000);
    CHECK(fi_trecv(ep, &c, 1, NULL, peer, 8, 0, &c) == 0);
    CHECK(fi_cq_sread(receive_cq, &e, 1, NULL, -1) == 1 && e.op_context == &c);
    CHECK(weft_now_ps() - begin > 4900000000 && weft_now_ps() - begin < 5100000000);
  }
  meet("waiting in fi_cq_sread takes the time it should");
}

struct window {
  uint64_t key;
};

static void remote_memory(void) {
  static char local[100000];
  static char there[100000];
  struct fid_mr* mr;
  struct window mine, theirs;
  CHECK(fi_mr_reg(domain, there, sizeof there, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL) == 0);
  mine.key = fi_mr_key(mr);
  memset(there, 0, sizeof there);
  exchange(&mine, &theirs, sizeof mine);
  if (me == 0) {
    uint64_t before = fi_cntr_read(writes);
    size_t sizes[] = {1, 8, 96, 97, 4096, 90000};
    size_t at = 0;
    for (unsigned i = 0; i < 6; ++i) {
      fill(local, sizes[i], (int)i);
      CHECK(fi_write(ep, local, sizes[i], NULL, peer, at, theirs.key, &sizes[i]) == 0);
      CHECK(next(send_cq).op_context == &sizes[i]);
      at += sizes[i];
    }
    CHECK(fi_cntr_wait(writes, before + 6, -1) == 0);
    at = 0;
    for (unsigned i = 0; i < 6; ++i) {
      memset(local, 0, sizeof local);
      CHECK(fi_read(ep, local, sizes[i], NULL, peer, at, theirs.key, &sizes[i]) == 0);
      struct fi_cq_tagged_entry e = next(send_cq);
      CHECK(e.op_context == &sizes[i] && (e.flags & FI_READ) && holds(local, sizes[i], (int)i));
      at += sizes[i];
    }
    CHECK(fi_write(ep, local, 8, NULL, peer, sizeof there - 4, theirs.key, local) == 0);
    CHECK(next_error(send_cq).err != 0); /* beyond its end */
    CHECK(fi_write(ep, local, 8, NULL, peer, 0, theirs.key + 1, local) == 0);
    CHECK(next_error(send_cq).err == FI_EACCES); /* not a key */
    CHECK(fi_writedata(ep, local, 5000, NULL, 4711, peer, 0, theirs.key, local) == 0);
    next(send_cq);
  } else {
    struct fi_cq_tagged_entry e = next(receive_cq);
    CHECK((e.flags & FI_REMOTE_WRITE) && (e.flags & FI_REMOTE_CQ_DATA) && e.data == 4711);
  }
  meet("reads and writes of remote memory");
  CHECK(fi_close(&mr->fid) == 0);
}

static void atomics(void) {
  static struct {
    int64_t words[4];
    int32_t small[40];
    double reals[4];
  } there;
  struct fid_mr* mr;
  struct window mine, theirs;
  memset(&there, 0, sizeof there);
  there.reals[0] = 2.5;
  there.words[1] = 40;
  CHECK(fi_mr_reg(domain, &there, sizeof there, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL) == 0);
  mine.key = fi_mr_key(mr);
  exchange(&mine, &theirs, sizeof mine);
  if (me == 0) {
    int64_t add = 5, old = -1, want = 42, compare = 45;
    double factor = 4, before = 0;
    int32_t many[40], results[40];
    CHECK(fi_atomic(ep, &add, 1, NULL, peer, 0, theirs.key, FI_INT64, FI_SUM, &add) == 0);
    next(send_cq);
    CHECK(fi_fetch_atomic(ep, &add, 1, NULL, &old, NULL, peer, 8, theirs.key, FI_INT64, FI_SUM, &add) == 0);
    next(send_cq);
    CHECK(old == 40);
    CHECK(fi_compare_atomic(ep, &want, 1, NULL, &compare, NULL, &old, NULL, peer, 8, theirs.key, FI_INT64, FI_CSWAP,
                            &add) == 0);
    next(send_cq);
    CHECK(old == 45);
    CHECK(fi_fetch_atomic(ep, &factor, 1, NULL, &before, NULL, peer, offsetof(__typeof__(there), reals), theirs.key,
                          FI_DOUBLE, FI_PROD, &add) == 0);
    next(send_cq);
    CHECK(before == 2.5);
    for (int i = 0; i < 40; ++i) many[i] = i;
    CHECK(fi_fetch_atomic(ep, many, 40, NULL, results, NULL, peer, offsetof(__typeof__(there), small), theirs.key,
                          FI_INT32, FI_MAX, &add) == 0);
    next(send_cq);
    for (int i = 0; i < 40; ++i) CHECK(results[i] == 0);
    CHECK(fi_atomicvalid(ep, FI_DOUBLE, FI_BOR, NULL) != 0 && fi_atomicvalid(ep, FI_DOUBLE, FI_MAX, NULL) == 0);
    exchange("", NULL, 0);
  } else {
    struct fi_cq_tagged_entry e;
    weft_message m;
    char b[8];
    while (weft_receive(side, b, sizeof b, &m) == 0) fi_cq_read(receive_cq, &e, 1); /* progress */
    send_aside(b, 0);
    CHECK(there.words[0] == 5 && there.words[1] == 42 && there.reals[0] == 10);
    for (int i = 0; i < 40; ++i) CHECK(there.small[i] == i);
  }
  meet("atomics, by the interface and by the processor");
  CHECK(fi_close(&mr->fid) == 0);
}

static void delivered(void) {
  char c = 0;
  struct iovec v = {&c, 1};
  struct fi_msg_tagged m = {.msg_iov = &v, .iov_count = 1, .addr = peer, .tag = 12, .context = &c};
  if (me == 0) {
    int64_t begin = weft_now_ps();
    CHECK(fi_tsendmsg(ep, &m, FI_COMPLETION) == 0);
    next(send_cq);
    int64_t at_once = weft_now_ps() - begin;
    begin = weft_now_ps();
    CHECK(fi_tsendmsg(ep, &m, FI_COMPLETION | FI_DELIVERY_COMPLETE) == 0);
    next(send_cq);
    CHECK(weft_now_ps() - begin > at_once + 500000); /* there and back */
  } else {
    for (int i = 0; i < 2; ++i) {
      CHECK(fi_trecv(ep, &c, 1, NULL, peer, 12, 0, &c) == 0);
      next(receive_cq);
    }
  }
  meet("completion on delivery");
}

static void oneself(void) {
  char a[3000], b[3000];
  fill(a, sizeof a, me);
  for (size_t n = 10; n <= 3000; n += 2990) {
    CHECK(fi_trecv(ep, b, sizeof b, NULL, myself, 1, 0, b) == 0);
    CHECK(fi_tsend(ep, a, n, NULL, myself, 1, a) == 0);
    CHECK(next(receive_cq).len == n && holds(b, n, me));
    next(send_cq);
  }
  meet("messages to oneself");
}

static void refusals(void) {
  struct fi_info *hints = fi_allocinfo(), *none = NULL;
  hints->ep_attr->type = FI_EP_MSG;
  CHECK(fi_getinfo(FI_VERSION(1, 15), NULL, NULL, 0, hints, &none) == -FI_ENODATA);
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_RMA; /* without keys of the provider's choosing */
  CHECK(fi_getinfo(FI_VERSION(1, 15), NULL, NULL, 0, hints, &none) == -FI_ENODATA);
  fi_freeinfo(hints);
  CHECK(fi_tinject(ep, "", 1, 99, 1) == -FI_EINVAL);
  meet("refusals");
}

int main(void) {
  me = weft_rank();
  CHECK(weft_size() == 2 && weft_open(&side) == 0 && weft_lookup(side, 1 - me, 0, &other_side) == 0);
  open_all();
  tagged();
  unexpected();
  scattered();
  truncated();
  multi_receive();
  cancelled();
  peeked();
  waits();
  remote_memory();
  atomics();
  delivered();
  oneself();
  refusals();
  if (me == 0)
    printf("counted %llu sends, %llu receives\n", (unsigned long long)fi_cntr_read(sends),
           (unsigned long long)fi_cntr_read(receives));
  CHECK(fi_close(&ep->fid) == 0 && fi_close(&send_cq->fid) == 0 && fi_close(&receive_cq->fid) == 0);
  CHECK(fi_close(&av->fid) == 0 && fi_close(&domain->fid) == 0 && fi_close(&fabric->fid) == 0);
  weft_close(side);
  return 0;
}
