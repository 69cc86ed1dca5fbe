/* Two ranks use libfabric directly: the same provider through other objects than fi_all.c opens. A map of
 * addresses, queues of every form, selective completion, wait objects, counters and their time-outs, limits,
 * and what is refused. Prints "ok NAME" for each check that held, and ends with 1 at the first that did not.
 */
#include <poll.h>
#include <pthread.h>
#include <rdma/fabric.h>
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
static struct fi_info* info;
static struct fid_av* av;
static struct fid_cq *send_cq, *receive_cq;
static struct fid_cntr *receives;
static struct fid_ep* ep;
static fi_addr_t peer;

static void meet(const char* name) {
  char c = 0, d;
  exchange(&c, &d, 1);
  if (me == 0 && *name) printf("ok %s\n", name);
}

static ssize_t read_one(struct fid_cq* cq, void* entry) {
  ssize_t got;
  while ((got = fi_cq_read(cq, entry, 1)) == -FI_EAGAIN) continue;
  return got;
}

struct forms {
  enum fi_cq_format format;
  enum fi_wait_obj wait;
  uint64_t selective;
  enum fi_av_type addresses;
};

static void open_all(struct forms f) {
  struct fi_cq_attr cq = {.format = f.format, .wait_obj = f.wait};
  struct fi_av_attr addresses = {.type = f.addresses};
  struct fi_cntr_attr counter = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};
  char name[64], theirs[64];
  size_t length = sizeof name;
  CHECK(fi_domain(fabric, info, &domain, NULL) == 0);
  CHECK(fi_av_open(domain, &addresses, &av, NULL) == 0 && addresses.type == f.addresses);
  CHECK(fi_cq_open(domain, &cq, &send_cq, NULL) == 0 && fi_cq_open(domain, &cq, &receive_cq, NULL) == 0);
  CHECK(fi_cntr_open(domain, &counter, &sends, NULL) == 0 &&
        fi_cntr_open(domain, &counter, &receives, NULL) == 0);
  CHECK(fi_endpoint(domain, info, &ep, NULL) == 0);
  CHECK(fi_ep_bind(ep, &av->fid, 0) == 0);
  CHECK(fi_ep_bind(ep, &send_cq->fid, FI_TRANSMIT | f.selective) == 0);
  CHECK(fi_ep_bind(ep, &receive_cq->fid, FI_RECV | f.selective) == 0);
  CHECK(fi_ep_bind(ep, &sends->fid, FI_SEND) == 0 && fi_ep_bind(ep, &receives->fid, FI_RECV) == 0);
  CHECK(fi_enable(ep) == 0 && fi_getname(&ep->fid, name, &length) == 0);
  exchange(name, theirs, length);
  CHECK(fi_av_insert(av, theirs, 1, &peer, 0, NULL) == 1);
}

static void close_all(void) {
  meet("");
  CHECK(fi_close(&ep->fid) == 0 && fi_close(&sends->fid) == 0 && fi_close(&receives->fid) == 0);
  sends = NULL;
  CHECK(fi_close(&send_cq->fid) == 0 && fi_close(&receive_cq->fid) == 0);
  CHECK(fi_close(&av->fid) == 0 && fi_close(&domain->fid) == 0);
}

/* An address vector, as a map and as a table: what goes in comes out, and what is taken out is gone. */
static void addresses(enum fi_av_type type) {
  open_all((struct forms){FI_CQ_FORMAT_TAGGED, FI_WAIT_NONE, 0, type});
  char name[64], again[64], text[64];
  size_t length = sizeof name, room = sizeof again, short_room = 4;
  int c = 7, errors[2] = {-1, -1};
  fi_addr_t two[2];
  CHECK(fi_getname(&ep->fid, name, &length) == 0);
  char both[128];
  memcpy(both, name, length);
  memset(both + length, 'x', length);
  CHECK(fi_av_insert(av, both, 2, two, FI_SYNC_ERR, errors) == 1);
  CHECK(errors[0] == 0 && errors[1] == FI_EINVAL && two[1] == FI_ADDR_NOTAVAIL);
  CHECK(fi_av_lookup(av, two[0], again, &room) == 0 && room == length && memcmp(again, name, length) == 0);
  CHECK(fi_av_lookup(av, two[0], again, &short_room) == -FI_ETOOSMALL && short_room == length);
  CHECK(fi_av_lookup(av, 12345, again, &room) == -FI_EINVAL);
  room = sizeof text;
  CHECK(strncmp(fi_av_straddr(av, name, text, &room), "fi_addr_weft://node", 19) == 0);
  if (me == 0) {
    CHECK(fi_tsend(ep, &c, sizeof c, NULL, peer, 1, &c) == 0);
    struct fi_cq_tagged_entry e;
    CHECK(read_one(send_cq, &e) == 1);
    CHECK(fi_av_remove(av, &peer, 1, 0) == 0);
    CHECK(fi_tsend(ep, &c, sizeof c, NULL, peer, 1, &c) == -FI_EINVAL);
    CHECK(fi_av_lookup(av, peer, again, &room) == -FI_EINVAL);
  } else {
    int got = 0;
    struct fi_cq_tagged_entry e;
    fi_addr_t from;
    CHECK(fi_trecv(ep, &got, sizeof got, NULL, peer, 1, 0, &got) == 0);
    ssize_t n;
    while ((n = fi_cq_readfrom(receive_cq, &e, 1, &from)) == -FI_EAGAIN) continue;
    CHECK(n == 1 && got == 7 && from == peer);
  }
  meet(type == FI_AV_MAP ? "a map of addresses" : "a table of addresses");
  close_all();
}

/* Every form of entries holds what the shorter ones do. */
static void forms(void) {
  const enum fi_cq_format all[] = {FI_CQ_FORMAT_CONTEXT, FI_CQ_FORMAT_MSG, FI_CQ_FORMAT_DATA,
                                   FI_CQ_FORMAT_TAGGED};
  const size_t sizes[] = {sizeof(struct fi_cq_entry), sizeof(struct fi_cq_msg_entry),
                          sizeof(struct fi_cq_data_entry), sizeof(struct fi_cq_tagged_entry)};
  for (int i = 0; i < 4; ++i) {
    open_all((struct forms){all[i], FI_WAIT_NONE, 0, FI_AV_TABLE});
    char a[3] = {1, 2, 3}, in[3][8];
    struct fi_cq_tagged_entry e[3];
    memset(e, 0x55, sizeof e);
    if (me == 0) {
      for (int k = 0; k < 3; ++k) CHECK(fi_tsenddata(ep, a, 3, NULL, 40 + k, peer, 9, &a[k]) == 0);
      meet("");
    } else {
      for (int k = 0; k < 3; ++k) CHECK(fi_trecv(ep, in[k], 8, NULL, peer, 9, 0, in[k]) == 0);
      meet("");
      /* As many as were asked for at once, one after the other. */
      for (int k = 0; k < 3;) {
        ssize_t got = fi_cq_read(receive_cq, (char*)e + sizes[i] * k, 3 - k);
        CHECK(got > 0 || got == -FI_EAGAIN);
        k += got > 0 ? (int)got : 0;
      }
      for (int k = 0; k < 3; ++k) {
        struct fi_cq_tagged_entry one;
        memcpy(&one, (char*)e + sizes[i] * k, sizes[i]);
        CHECK(one.op_context == in[k]);
        if (i > 0) CHECK((one.flags & FI_RECV) && one.len == 3);
        if (i > 1) CHECK(one.data == 40u + (unsigned)k);
        if (i > 2) CHECK(one.tag == 9);
      }
    }
    close_all();
  }
  meet("entries of every form");
}

/* Only what asks for an entry has one; what fails always has. */
static void selective(void) {
  open_all((struct forms){FI_CQ_FORMAT_TAGGED, FI_WAIT_NONE, FI_SELECTIVE_COMPLETION, FI_AV_MAP});
  char c[16] = {0};
  struct iovec v = {c, 8};
  struct fi_cq_tagged_entry e;
  struct fi_msg_tagged m = {.msg_iov = &v, .iov_count = 1, .addr = peer, .tag = 3, .context = &v};
  if (me == 0) {
    CHECK(fi_tsend(ep, c, 8, NULL, peer, 1, c) == 0); /* no entry, but it is counted */
    CHECK(fi_tsendmsg(ep, &m, 0) == 0);               /* the same */
    CHECK(fi_cntr_wait(sends, 2, -1) == 0);
    CHECK(fi_cq_read(send_cq, &e, 1) == -FI_EAGAIN);
    CHECK(fi_tsendmsg(ep, &m, FI_COMPLETION) == 0); /* an entry */
    CHECK(read_one(send_cq, &e) == 1 && e.op_context == &v);
    CHECK(fi_tsend(ep, c, 16, NULL, peer, 4, c) == 0);
    meet("");
  } else {
    CHECK(fi_trecv(ep, c, 8, NULL, peer, 1, 0, c) == 0);
    CHECK(fi_cntr_wait(receives, 1, -1) == 0);
    CHECK(fi_trecvmsg(ep, &m, 0) == 0);
    CHECK(fi_cntr_wait(receives, 2, -1) == 0);
    CHECK(fi_cq_read(receive_cq, &e, 1) == -FI_EAGAIN);
    CHECK(fi_trecvmsg(ep, &m, FI_COMPLETION) == 0);
    CHECK(read_one(receive_cq, &e) == 1 && e.op_context == &v && e.len == 8);
    CHECK(fi_trecv(ep, c, 8, NULL, peer, 4, 0, c) == 0); /* too short */
    CHECK(read_one(receive_cq, &e) == -FI_EAVAIL);
    struct fi_cq_err_entry error = {0};
    char text[64];
    CHECK(fi_cq_readerr(receive_cq, &error, 0) == 1 && error.err == FI_ETRUNC && error.olen == 8);
    CHECK(strlen(fi_cq_strerror(receive_cq, error.prov_errno, NULL, text, sizeof text)) > 0);
    CHECK(fi_cntr_readerr(receives) == 1 && fi_cntr_read(receives) == 3);
    CHECK(fi_cntr_wait(receives, 99, 1) == -FI_ETIMEDOUT);
    meet("");
  }
  meet("selective completion");
  close_all();
}

static void* waiter(void* p) {
  struct fi_cq_tagged_entry e;
  int64_t* woken = p;
  CHECK(fi_cq_sread(receive_cq, &e, 1, NULL, -1) == -FI_EAGAIN); /* nothing came: it was called */
  *woken = weft_now_ps();
  return NULL;
}

/* A queue to sleep on: by file, by time-out, and until another thread calls. */
static void wait_objects(void) {
  open_all((struct forms){FI_CQ_FORMAT_TAGGED, FI_WAIT_FD, 0, FI_AV_TABLE});
  struct fi_cq_tagged_entry e;
  struct fid* queue = &receive_cq->fid;
  int file = -1, c = 5;
  CHECK(fi_control(queue, FI_GETWAIT, &file) == 0 && file >= 0);
  if (me == 0) {
    weft_compute(3000000);
    CHECK(fi_tinject(ep, &c, sizeof c, peer, 2) == 0);
  } else {
    int got = 0;
    CHECK(fi_trecv(ep, &got, sizeof got, NULL, peer, 2, 0, &got) == 0);
    int64_t begin = weft_now_ps();
    for (;;) { /* as manual pages say it is to be done */
      struct pollfd f = {.fd = file, .events = POLLIN};
      if (fi_trywait(fabric, &queue, 1) == 0) CHECK(poll(&f, 1, -1) == 1);
      ssize_t n = fi_cq_read(receive_cq, &e, 1);
      if (n == 1) break;
      CHECK(n == -FI_EAGAIN);
    }
    CHECK(got == 5 && weft_now_ps() - begin > 2900000000 && weft_now_ps() - begin < 3100000000);
  }
  meet("waiting on a file");
  int64_t begin = weft_now_ps();
  CHECK(fi_cntr_wait(receives, 1000, 7) == -FI_ETIMEDOUT);
  CHECK(weft_now_ps() - begin == 7000000000);
  CHECK(fi_cntr_set(receives, 41) == 0 && fi_cntr_add(receives, 1) == 0 && fi_cntr_read(receives) == 42);
  CHECK(fi_cntr_wait(receives, 42, 0) == 0);
  meet("time-outs of counters");
  pthread_t thread;
  int64_t woken = 0;
  CHECK(pthread_create(&thread, NULL, waiter, &woken) == 0);
  struct timespec pause = {0, 2000000};
  nanosleep(&pause, NULL);
  int64_t called = weft_now_ps();
  CHECK(fi_cq_signal(receive_cq) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(woken >= called && woken - called < 1000000000);
  meet("a thread is called from its wait");
  close_all();
}

/* A fenced write comes after all that was written before it. */
static void fences(void) {
  open_all((struct forms){FI_CQ_FORMAT_TAGGED, FI_WAIT_NONE, 0, FI_AV_TABLE});
  static char there[200000], local[200000];
  static volatile uint64_t flag;
  struct fid_mr *data, *flags;
  uint64_t keys[2], theirs[2], one = 1;
  memset(there, 0, sizeof there);
  CHECK(fi_mr_reg(domain, there, sizeof there, FI_REMOTE_WRITE, 0, 0, 0, &data, NULL) == 0);
  CHECK(fi_mr_reg(domain, (void*)&flag, sizeof flag, FI_REMOTE_WRITE, 0, 0, 0, &flags, NULL) == 0);
  keys[0] = fi_mr_key(data);
  keys[1] = fi_mr_key(flags);
  exchange(keys, theirs, sizeof keys);
  if (me == 0) {
    memset(local, 0x77, sizeof local);
    CHECK(fi_write(ep, local, sizeof local, NULL, peer, 0, theirs[0], local) == 0);
    struct iovec v = {&one, sizeof one};
    struct fi_rma_iov to = {0, sizeof one, theirs[1]};
    struct fi_msg_rma m = {
        .msg_iov = &v, .iov_count = 1, .addr = peer, .rma_iov = &to, .rma_iov_count = 1, .context = &one};
    CHECK(fi_writemsg(ep, &m, FI_FENCE | FI_COMPLETION) == 0);
    struct fi_cq_tagged_entry e;
    CHECK(read_one(send_cq, &e) == 1 && read_one(send_cq, &e) == 1);
    meet("");
  } else {
    struct fi_cq_tagged_entry e;
    while (!flag) CHECK(fi_cq_read(receive_cq, &e, 1) == -FI_EAGAIN);
    for (size_t i = 0; i < sizeof there; ++i) CHECK(there[i] == 0x77);
    meet("");
  }
  meet("a fenced write comes last");
  CHECK(fi_close(&data->fid) == 0 && fi_close(&flags->fid) == 0);
  close_all();
}

/* Several messages in a buffer: one that does not fit is cut, and the buffer is given back once. */
static void multi_receive(void) {
  open_all((struct forms){FI_CQ_FORMAT_TAGGED, FI_WAIT_NONE, 0, FI_AV_TABLE});
  static char buffer[1000], out[3000];
  size_t least = 300, room = sizeof least;
  memset(out, 3, sizeof out);
  if (me == 0) {
    meet("");
    struct fi_cq_tagged_entry e;
    for (int i = 0; i < 2; ++i)
      CHECK(fi_send(ep, out, 350, NULL, peer, out) == 0 && read_one(send_cq, &e) == 1);
    CHECK(fi_send(ep, out, 2500, NULL, peer, out) == 0 && read_one(send_cq, &e) == 1);
  } else {
    struct iovec v = {buffer, sizeof buffer};
    struct fi_msg m = {.msg_iov = &v, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = buffer};
    CHECK(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least) == 0);
    least = 0;
    CHECK(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, &room) == 0 && least == 300);
    CHECK(fi_recvmsg(ep, &m, FI_MULTI_RECV) == 0);
    meet("");
    struct fi_cq_tagged_entry e;
    for (int i = 0; i < 2; ++i)
      CHECK(read_one(receive_cq, &e) == 1 && e.len == 350 && e.buf == buffer + 350 * i &&
            !(e.flags & FI_MULTI_RECV));
    CHECK(read_one(receive_cq, &e) == -FI_EAVAIL);
    struct fi_cq_err_entry error = {0};
    CHECK(fi_cq_readerr(receive_cq, &error, 0) == 1 && error.err == FI_ETRUNC && error.olen == 2200);
    CHECK(error.op_context == buffer && (error.flags & FI_MULTI_RECV));
    CHECK(fi_recvmsg(ep, &m, FI_MULTI_RECV) == 0 && fi_cancel(&ep->fid, buffer) == 0);
    CHECK(read_one(receive_cq, &e) == -FI_EAVAIL && fi_cq_readerr(receive_cq, &error, 0) == 1);
    CHECK(error.err == FI_ECANCELED && (error.flags & FI_MULTI_RECV));
  }
  meet("several messages in a buffer, the last cut");
  close_all();
}

/* What there is a limit to, and what there is not; the reasons go to libfabric's log. */
static void limits(void) {
  open_all((struct forms){FI_CQ_FORMAT_TAGGED, FI_WAIT_NONE, 0, FI_AV_TABLE});
  size_t most = info->tx_attr->inject_size;
  char *out = calloc(1, most + 1), *in = calloc(1, most + 1);
  struct iovec many[9];
  for (int i = 0; i < 9; ++i) many[i] = (struct iovec){out, 1};
  CHECK(fi_tinject(ep, out, most + 1, peer, 1) == -FI_EMSGSIZE);
  CHECK(fi_tsendv(ep, many, NULL, 9, peer, 1, out) == -FI_EINVAL);
  if (me == 0) {
    memset(out, 9, most);
    CHECK(fi_tinject(ep, out, most, peer, 1) == 0);
    memset(out, 0, most); /* it is the caller's again at once */
  } else {
    struct fi_cq_tagged_entry e;
    CHECK(fi_trecv(ep, in, most, NULL, peer, 1, 0, in) == 0);
    CHECK(read_one(receive_cq, &e) == 1 && e.len == most);
    for (size_t i = 0; i < most; ++i) CHECK(in[i] == 9);
  }
  struct fid_wait* wait;
  struct fid_poll* poll_set;
  struct fid_pep* passive;
  struct fid_cq* cq;
  struct fid_cntr* counter;
  struct fi_wait_attr wait_set = {.wait_obj = FI_WAIT_UNSPEC};
  struct fi_poll_attr poll_attributes = {0};
  struct fi_cq_attr by_mutex = {.wait_obj = FI_WAIT_MUTEX_COND};
  struct fi_cntr_attr by_file = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_FD};
  CHECK(fi_wait_open(fabric, &wait_set, &wait) == -FI_ENOSYS);
  CHECK(fi_poll_open(domain, &poll_attributes, &poll_set) == -FI_ENOSYS);
  CHECK(fi_passive_ep(fabric, info, &passive, NULL) == -FI_ENOSYS);
  CHECK(fi_cq_open(domain, &by_mutex, &cq, NULL) == -FI_ENOSYS);
  CHECK(fi_cntr_open(domain, &by_file, &counter, NULL) == -FI_ENOSYS);
  CHECK(fi_ep_bind(ep, &sends->fid, FI_REMOTE_WRITE) == -FI_EINVAL); /* FI_RMA_EVENT was not asked for */
  free(out);
  free(in);
  meet("limits and refusals");
  close_all();
}

int main(void) {
  struct fi_info* hints = fi_allocinfo();
  me = weft_rank();
  CHECK(weft_size() == 2 && weft_open(&side) == 0 && weft_lookup(side, 1 - me, 0, &other_side) == 0);
  hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_MULTI_RECV | FI_SOURCE | FI_DIRECTED_RECV;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_PROV_KEY | FI_MR_ALLOCATED;
  CHECK(fi_getinfo(FI_VERSION(1, 15), NULL, NULL, 0, hints, &info) == 0);
  CHECK(fi_fabric(info->fabric_attr, &fabric, NULL) == 0);
  addresses(FI_AV_MAP);
  addresses(FI_AV_TABLE);
  forms();
  selective();
  wait_objects();
  fences();
  multi_receive();
  limits();
  fi_freeinfo(hints);
  fi_freeinfo(info);
  weft_close(side);
  return 0;
}
