/* Two ranks use libfabric directly: what happens in the life of a program beside its messages. Operations
 * that are not there, endpoints that are opened again, several of them in a domain, memory that is registered
 * before there is one, events of remote memory, event queues, and loops that look at a queue beside a socket.
 * Prints "ok NAME" for each check that held, and ends with 1 at the first that did not.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fi_pair.h"
#include "weft.h"

/* An endpoint with all it is bound to but its domain. */
struct end {
  struct fid_ep* ep;
  struct fid_av* av;
  struct fid_cq* cq;
  struct fid_cntr *writes, *reads; /* by others */
  fi_addr_t peer;
};

static struct fi_info* info;
static struct fid_fabric* fabric;
static struct fid_domain* domain;

static void meet(const char* name) {
  char c = 0, d;
  exchange(&c, &d, 1);
  if (me == 0 && *name) printf("ok %s\n", name);
}

static void open_domain(void) {
  struct fi_cntr_attr counter = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};
  CHECK(fi_domain(fabric, info, &domain, NULL) == 0);
  CHECK(fi_cntr_open(domain, &counter, &sends, NULL) == 0); /* to lend a hand while the ranks meet */
}

static void close_domain(void) {
  CHECK(fi_close(&sends->fid) == 0 && fi_close(&domain->fid) == 0);
  sends = NULL;
}

static void open_end(struct end* e, enum fi_wait_obj wait, int counters) {
  struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = wait};
  struct fi_av_attr addresses = {.type = FI_AV_TABLE};
  struct fi_cntr_attr counter = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};
  memset(e, 0, sizeof *e);
  CHECK(fi_av_open(domain, &addresses, &e->av, NULL) == 0 && fi_cq_open(domain, &cq, &e->cq, NULL) == 0);
  CHECK(fi_endpoint(domain, info, &e->ep, NULL) == 0);
  CHECK(fi_ep_bind(e->ep, &e->av->fid, 0) == 0);
  CHECK(fi_ep_bind(e->ep, &e->cq->fid, FI_TRANSMIT | FI_RECV) == 0);
  if (counters) {
    CHECK(fi_cntr_open(domain, &counter, &e->writes, NULL) == 0);
    CHECK(fi_cntr_open(domain, &counter, &e->reads, NULL) == 0);
    CHECK(fi_ep_bind(e->ep, &e->writes->fid, FI_REMOTE_WRITE) == 0);
    CHECK(fi_ep_bind(e->ep, &e->reads->fid, FI_REMOTE_READ) == 0);
  }
  CHECK(fi_enable(e->ep) == 0);
}

static void know(struct end* e) {
  char name[64], theirs[64];
  size_t length = sizeof name;
  CHECK(fi_getname(&e->ep->fid, name, &length) == 0 && length <= 32);
  exchange(name, theirs, length);
  CHECK(fi_av_insert(e->av, theirs, 1, &e->peer, 0, NULL) == 1);
}

static void close_end(struct end* e) {
  CHECK(fi_close(&e->ep->fid) == 0 && fi_close(&e->cq->fid) == 0 && fi_close(&e->av->fid) == 0);
  if (e->writes) CHECK(fi_close(&e->writes->fid) == 0 && fi_close(&e->reads->fid) == 0);
}

static struct fi_cq_tagged_entry next(struct end* e) {
  struct fi_cq_tagged_entry entry;
  ssize_t got;
  while ((got = fi_cq_read(e->cq, &entry, 1)) == -FI_EAGAIN) continue;
  CHECK(got == 1);
  return entry;
}

static void send_value(struct end* e, long value) {
  CHECK(fi_tsend(e->ep, &value, sizeof value, NULL, e->peer, 3, &value) == 0);
  CHECK(next(e).flags & FI_SEND);
}

static long receive_value(struct end* e) {
  long value = -1;
  CHECK(fi_trecv(e->ep, &value, sizeof value, NULL, FI_ADDR_UNSPEC, 3, 0, &value) == 0);
  CHECK(next(e).flags & FI_RECV);
  return value;
}

/* Every operation can be called: what is not there says so. */
static void nothing_missing(void) {
  struct end e;
  struct fid_eq* eq;
  struct fi_eq_attr events = {.wait_obj = FI_WAIT_UNSPEC};
  struct fi_av_set_attr set = {.count = 0};
  struct fid_av_set* av_set;
  struct fi_collective_attr facts = {0};
  struct fid_mc* group;
  struct fid_ep* other;
  struct fid_mr* mr;
  char c[64] = {0};
  size_t length = sizeof c;
  void* ops;
  open_end(&e, FI_WAIT_NONE, 0);
  CHECK(fi_eq_open(fabric, &events, &eq, NULL) == 0);
  CHECK(fi_mr_reg(domain, c, sizeof c, FI_SEND, 0, 0, 0, &mr, NULL) == 0);
  CHECK(fi_shutdown(e.ep, 0) == -FI_ENOSYS && fi_connect(e.ep, c, NULL, 0) == -FI_ENOSYS);
  CHECK(fi_accept(e.ep, NULL, 0) == -FI_ENOSYS && fi_getpeer(e.ep, c, &length) == -FI_ENOSYS);
  CHECK(fi_setname(&e.ep->fid, c, 4) == -FI_ENOSYS);
  CHECK(e.ep->cm->listen((struct fid_pep*)e.ep) == -FI_ENOSYS);
  CHECK(e.ep->cm->reject((struct fid_pep*)e.ep, NULL, NULL, 0) == -FI_ENOSYS);
  CHECK(fi_join(e.ep, c, 0, &group, NULL) == -FI_ENOSYS);
  CHECK(fi_tx_context(e.ep, 0, NULL, &other, NULL) == -FI_ENOSYS);
  CHECK(fi_rx_context(e.ep, 0, NULL, &other, NULL) == -FI_ENOSYS);
  CHECK(e.ep->ops->rx_size_left(e.ep) == -FI_ENOSYS && e.ep->ops->tx_size_left(e.ep) == -FI_ENOSYS);
  CHECK(fi_barrier(e.ep, 0, NULL) == -FI_ENOSYS);
  CHECK(fi_allreduce(e.ep, c, 1, NULL, c, NULL, 0, FI_INT8, FI_SUM, 0, NULL) == -FI_ENOSYS);
  CHECK(fi_query_collective(domain, FI_BARRIER, &facts, 0) == -FI_ENOSYS);
  CHECK(fi_av_set(e.av, &set, &av_set, NULL) == -FI_ENOSYS);
  struct fid* all[] = {&fabric->fid, &domain->fid, &e.ep->fid, &e.av->fid, &e.cq->fid, &eq->fid, &mr->fid};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    CHECK(fi_open_ops(all[i], "none", 0, &ops, NULL) == -FI_ENOSYS);
    CHECK(all[i]->ops->ops_set(all[i], "none", 0, NULL, NULL) == -FI_ENOSYS);
    CHECK(all[i]->ops->tostr(all[i], c, sizeof c) == -FI_ENOSYS);
    CHECK(all[i]->ops->bind(all[i], &fabric->fid, 0) < 0 && fi_control(all[i], 9999, NULL) == -FI_ENOSYS);
    /* No table has an empty place: their sizes say how many there are. */
    void** place = (void**)all[i]->ops;
    for (size_t k = 1; k < all[i]->ops->size / sizeof *place; ++k) CHECK(place[k] != NULL);
  }
  void** tables[] = {(void**)fabric->ops,  (void**)domain->ops,      (void**)domain->mr, (void**)e.ep->ops,
                     (void**)e.ep->cm,     (void**)e.ep->msg,        (void**)e.ep->rma,  (void**)e.ep->tagged,
                     (void**)e.ep->atomic, (void**)e.ep->collective, (void**)e.av->ops,  (void**)e.cq->ops,
                     (void**)eq->ops};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; ++i)
    for (size_t k = 1; k < *(size_t*)tables[i] / sizeof(void*); ++k) CHECK(tables[i][k] != NULL);
  CHECK(fi_close(&mr->fid) == 0 && fi_close(&eq->fid) == 0);
  close_end(&e);
  meet("no operation is missing");
}

/* An endpoint that is closed and opened again starts anew, whatever the other one remembers. */
static void opened_again(void) {
  struct end e;
  open_end(&e, FI_WAIT_NONE, 0);
  know(&e);
  for (int life = 0; life < 4; ++life) {
    for (int i = 0; i < 5 + life; ++i) {
      if (me == 0)
        send_value(&e, 100 * life + i);
      else
        CHECK(receive_value(&e) == 100 * life + i);
    }
    if (me == 0)
      CHECK(receive_value(&e) == life); /* the other way, before and after */
    else
      send_value(&e, life);
    meet("");
    if (me == 0) { /* the other one stays */
      close_end(&e);
      open_end(&e, FI_WAIT_NONE, 0);
    }
    know(&e);
    if (life % 2) continue;
    if (me == 1)
      send_value(&e, -7); /* once it begins, once the one that stayed */
    else
      CHECK(receive_value(&e) == -7);
  }
  meet("an endpoint is opened again");
  close_end(&e);
}

/* Endpoints of a domain are independent, and its memory can be reached through each. */
static void several(void) {
  enum { kEnds = 3 };
  static char memory[4096], local[4096];
  struct end ends[kEnds];
  struct fid_mr *mr, *own;
  uint64_t key, theirs;
  memset(memory, 0, sizeof memory);
  CHECK(fi_mr_reg(domain, memory, sizeof memory, FI_REMOTE_WRITE | FI_REMOTE_READ, 0, 0, 0, &mr, NULL) == 0);
  key = fi_mr_key(mr); /* before there is an endpoint */
  exchange(&key, &theirs, sizeof key);
  for (int i = 0; i < kEnds; ++i) {
    open_end(&ends[i], FI_WAIT_NONE, 1);
    know(&ends[i]);
  }
  CHECK(fi_mr_reg(domain, local, sizeof local, FI_READ | FI_WRITE, 0, 0, 0, &own, NULL) == 0);
  for (int i = 0; i < kEnds; ++i) {
    if (me == 0)
      send_value(&ends[i], 50 + i);
    else
      CHECK(receive_value(&ends[i]) == 50 + i);
  }
  if (me == 0) {
    for (int i = kEnds - 1; i >= 0; --i) {
      memset(local, 'a' + i, sizeof local);
      CHECK(fi_write(ends[i].ep, local, 1000, fi_mr_desc(own), ends[i].peer, (uint64_t)i * 1000, theirs,
                     local) == 0);
      CHECK(next(&ends[i]).flags & FI_WRITE);
    }
    meet("");
    CHECK(fi_close(&ends[0].ep->fid) == 0); /* the first one: memory stays */
    CHECK(fi_read(ends[2].ep, local, 3000, NULL, ends[2].peer, 0, theirs, local) == 0);
    CHECK(next(&ends[2]).flags & FI_READ);
    for (int i = 0; i < 3000; ++i) CHECK(local[i] == 'a' + i / 1000);
    meet("");
  } else {
    for (int i = 0; i < kEnds; ++i) CHECK(fi_cntr_wait(ends[i].writes, 1, -1) == 0);
    for (int i = 0; i < 3000; ++i) CHECK(memory[i] == 'a' + i / 1000);
    meet("");
    CHECK(fi_cntr_wait(ends[2].reads, 1, -1) == 0 && fi_cntr_read(ends[1].reads) == 0);
    meet("");
    CHECK(fi_close(&ends[0].ep->fid) == 0);
    memset(memory, 'z', sizeof memory);
  }
  meet("");
  if (me == 0) { /* through a domain whose first endpoint is gone on both sides */
    CHECK(fi_read(ends[1].ep, local, 3000, NULL, ends[1].peer, 0, theirs, local) == 0);
    CHECK(next(&ends[1]).flags & FI_READ);
    for (int i = 0; i < 3000; ++i) CHECK(local[i] == 'z');
  }
  meet("several endpoints, memory registered before them");
  CHECK(fi_close(&mr->fid) == 0 && fi_close(&own->fid) == 0);
  CHECK(fi_close(&domain->fid) == -FI_EBUSY);
  for (int i = 1; i < kEnds; ++i) close_end(&ends[i]);
  CHECK(fi_close(&ends[0].cq->fid) == 0 && fi_close(&ends[0].av->fid) == 0);
  CHECK(fi_close(&ends[0].writes->fid) == 0 && fi_close(&ends[0].reads->fid) == 0);
  close_domain();
  open_domain();
}

/* What others write, read and change here is counted; without counters there are entries. */
static void remote_events(int counters) {
  static char memory[1 << 20], local[1 << 20];
  struct end e;
  struct fid_mr* mr;
  uint64_t key, theirs, one = 1, old;
  open_end(&e, FI_WAIT_NONE, counters);
  know(&e);
  CHECK(fi_mr_reg(domain, memory, sizeof memory, FI_REMOTE_WRITE | FI_REMOTE_READ, 0, 0, 0, &mr, NULL) == 0);
  key = fi_mr_key(mr);
  exchange(&key, &theirs, sizeof key);
  memset(local, 1 + counters, sizeof local);
  if (me == 0) {
    CHECK(fi_write(e.ep, local, 8, NULL, e.peer, 64, theirs, local) == 0 && (next(&e).flags & FI_WRITE));
    CHECK(fi_inject_write(e.ep, local, 8, e.peer, 64, theirs) == 0);
    CHECK(fi_write(e.ep, local, sizeof local, NULL, e.peer, 0, theirs, local) == 0);
    CHECK(next(&e).flags & FI_WRITE);
    CHECK(fi_atomic(e.ep, &one, 1, NULL, e.peer, 0, theirs, FI_UINT64, FI_SUM, &one) == 0);
    CHECK(next(&e).flags & FI_WRITE);
    CHECK(fi_writedata(e.ep, local, 16, NULL, 77, e.peer, 64, theirs, local) == 0);
    CHECK(next(&e).flags & FI_WRITE);
    meet("");
    CHECK(fi_read(e.ep, local, 8, NULL, e.peer, 0, theirs, local) == 0 && (next(&e).flags & FI_READ));
    CHECK(fi_read(e.ep, local, sizeof local, NULL, e.peer, 0, theirs, local) == 0);
    CHECK(next(&e).flags & FI_READ);
    CHECK(fi_fetch_atomic(e.ep, &one, 1, NULL, &old, NULL, e.peer, 0, theirs, FI_UINT64, FI_SUM, &one) == 0);
    CHECK(next(&e).flags & FI_READ);
    meet("");
  } else if (counters) {
    CHECK(fi_cntr_wait(e.writes, 5, -1) == 0);
    for (size_t i = 8; i < sizeof memory; ++i) CHECK(memory[i] == 1 + counters); /* it is all there */
    struct fi_cq_tagged_entry data = next(&e);
    CHECK(data.data == 77 && data.flags == (FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA));
    meet("");
    CHECK(fi_cntr_wait(e.reads, 3, -1) == 0);
    CHECK(fi_cntr_read(e.writes) == 5 && fi_cntr_read(e.reads) == 3);
    meet("");
  } else {
    int writes = 0, atomics = 0, datas = 0, reads = 0, fetches = 0;
    for (int i = 0; i < 5; ++i) {
      struct fi_cq_tagged_entry entry = next(&e);
      CHECK((entry.flags & FI_REMOTE_WRITE) && entry.op_context == NULL);
      writes += entry.flags == (FI_RMA | FI_REMOTE_WRITE);
      atomics += entry.flags == (FI_ATOMIC | FI_REMOTE_WRITE) && entry.len == 8;
      datas += (entry.flags & FI_REMOTE_CQ_DATA) && entry.data == 77 && entry.len == 16;
    }
    CHECK(writes == 3 && atomics == 1 && datas == 1);
    meet("");
    for (int i = 0; i < 3; ++i) {
      struct fi_cq_tagged_entry entry = next(&e);
      reads += entry.flags == (FI_RMA | FI_REMOTE_READ);
      fetches += entry.flags == (FI_ATOMIC | FI_REMOTE_READ);
    }
    CHECK(reads == 2 && fetches == 1);
    meet("");
  }
  meet(counters ? "remote counters" : "entries for remote operations");
  CHECK(fi_close(&mr->fid) == 0);
  close_end(&e);
}

/* A message that is looked at and thrown away has one completion. */
static void discarded(void) {
  struct end e;
  open_end(&e, FI_WAIT_NONE, 0);
  know(&e);
  static char out[100000], in[8];
  const size_t sizes[] = {0, 10, 1000, sizeof out};
  for (int i = 0; i < 4; ++i) {
    if (me == 0) {
      CHECK(fi_tsend(e.ep, out, sizes[i], NULL, e.peer, 7, out) == 0);
      CHECK(fi_tsend(e.ep, "last", 4, NULL, e.peer, 8, in) == 0);
      next(&e);
      next(&e); /* a long one is done, although nobody wanted it */
      meet("");
    } else {
      struct fi_msg_tagged m = {.addr = FI_ADDR_UNSPEC, .tag = 7, .context = &m};
      struct fi_cq_tagged_entry entry;
      struct fi_cq_err_entry error;
      ssize_t got;
      int way = i % 2; /* at once, or after it was claimed */
      do {
        CHECK(fi_trecvmsg(e.ep, &m, FI_PEEK | (way ? FI_CLAIM : FI_DISCARD)) == 0);
        while ((got = fi_cq_read(e.cq, &entry, 1)) == -FI_EAGAIN) continue;
        if (got == -FI_EAVAIL) CHECK(fi_cq_readerr(e.cq, &error, 0) == 1 && error.err == FI_ENOMSG);
      } while (got != 1);
      CHECK(entry.op_context == &m && entry.len == sizes[i] && entry.tag == 7);
      if (way) {
        CHECK(fi_trecvmsg(e.ep, &m, FI_CLAIM | FI_DISCARD) == 0);
        CHECK(next(&e).op_context == &m);
      }
      CHECK(fi_trecv(e.ep, in, sizeof in, NULL, e.peer, 8, 0, in) == 0);
      entry = next(&e); /* nothing of the other one is left */
      CHECK(entry.op_context == in && entry.len == 4);
      CHECK(fi_trecvmsg(e.ep, &m, FI_PEEK) == 0);
      while ((got = fi_cq_read(e.cq, &entry, 1)) == -FI_EAGAIN) continue;
      CHECK(got == -FI_EAVAIL && fi_cq_readerr(e.cq, &error, 0) == 1 && error.err == FI_ENOMSG);
      meet("");
    }
  }
  meet("a look that discards has one completion");
  close_end(&e);
}

static struct fid_eq* shared_eq;

static void* hear(void* p) {
  struct fi_eq_entry got = {0};
  uint32_t event = 0;
  CHECK(fi_eq_sread(shared_eq, &event, &got, sizeof got, -1, 0) == sizeof got);
  CHECK(event == FI_NOTIFY && got.data == 42);
  *(int64_t*)p = weft_now_ps();
  return NULL;
}

/* An event queue waits as long as it was told to. */
static void event_queue(void) {
  struct fi_eq_attr events = {.wait_obj = FI_WAIT_UNSPEC, .flags = FI_WRITE};
  struct fi_eq_entry entry = {.data = 42}, got = {0};
  uint32_t event = 0;
  pthread_t thread;
  CHECK(fi_eq_open(fabric, &events, &shared_eq, NULL) == 0);
  int64_t begin = weft_now_ps();
  CHECK(fi_eq_sread(shared_eq, &event, &got, sizeof got, 5, 0) == -FI_EAGAIN);
  CHECK(weft_now_ps() - begin == 5000000000);
  CHECK(fi_eq_sread(shared_eq, &event, &got, sizeof got, 0, 0) == -FI_EAGAIN);
  CHECK(weft_now_ps() - begin == 5000000000);
  int64_t heard = 0;
  CHECK(pthread_create(&thread, NULL, hear, &heard) == 0);
  struct timespec pause = {0, 2000000};
  nanosleep(&pause, NULL);
  int64_t told = weft_now_ps();
  CHECK(fi_eq_write(shared_eq, FI_NOTIFY, &entry, sizeof entry, 0) == sizeof entry);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(heard >= told && heard - told < 1000000000);
  CHECK(fi_eq_read(shared_eq, &event, &got, sizeof got, 0) == -FI_EAGAIN);
  CHECK(fi_close(&shared_eq->fid) == 0);
  meet("an event queue honours its time-out");
}

/* A pair of sockets, one at each rank. */
static int connected(void) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof at;
  int file = socket(AF_INET, SOCK_STREAM, 0), other;
  uint16_t port = 0, theirs;
  CHECK(file >= 0);
  if (me == 0) {
    CHECK(bind(file, (struct sockaddr*)&at, length) == 0 && listen(file, 1) == 0);
    CHECK(getsockname(file, (struct sockaddr*)&at, &length) == 0);
    port = at.sin_port;
  }
  exchange(&port, &theirs, sizeof port);
  if (me == 0) {
    other = accept(file, NULL, NULL);
    close(file);
    return other;
  }
  at.sin_port = theirs;
  CHECK(connect(file, (struct sockaddr*)&at, sizeof at) == 0);
  return file;
}

static void check_time(int64_t begin, const char* what) {
  double ms = (double)(weft_now_ps() - begin) / 1e9;
  if (ms < 2.9 || ms > 3.2) {
    fprintf(stderr, "%s took %.3f ms instead of 3\n", what, ms);
    exit(1);
  }
}

/* Whoever waits beside a socket, in any of the usual ways, goes on when the message comes, not later. */
static void beside_a_socket(void) {
  struct end e;
  int socket = connected(), file = -1, set = epoll_create1(0);
  const char* names[] = {"a loop with poll(0)", "a loop with poll(1)", "poll on both files",
                         "epoll on both files", "a loop, woken by the socket"};
  open_end(&e, FI_WAIT_FD, 0);
  know(&e);
  struct fid* queue = &e.cq->fid;
  CHECK(fi_control(queue, FI_GETWAIT, &file) == 0);
  struct epoll_event by_socket = {.events = EPOLLIN, .data.fd = socket},
                     by_queue = {.events = EPOLLIN, .data.fd = file};
  CHECK(epoll_ctl(set, EPOLL_CTL_ADD, socket, &by_socket) == 0 &&
        epoll_ctl(set, EPOLL_CTL_ADD, file, &by_queue) == 0);
  struct pollfd idle = {.fd = file, .events = POLLIN};
  CHECK(poll(&idle, 1, 0) == 0); /* nothing is there */
  for (int way = 0; way < 5; ++way) {
    meet("");
    if (me == 1) {
      char c = 'x';
      weft_compute(3000000);
      if (way < 4)
        CHECK(fi_tinject(e.ep, &way, sizeof way, e.peer, 5) == 0);
      else
        CHECK(send(socket, &c, 1, 0) == 1);
      continue;
    }
    int got = -1;
    char c = 0;
    int64_t begin = weft_now_ps();
    if (way < 4) CHECK(fi_trecv(e.ep, &got, sizeof got, NULL, e.peer, 5, 0, &got) == 0);
    for (;;) {
      struct pollfd both[2] = {{.fd = socket, .events = POLLIN}, {.fd = file, .events = POLLIN}};
      struct epoll_event found;
      struct fi_cq_tagged_entry entry;
      ssize_t n = fi_cq_read(e.cq, &entry, 1);
      CHECK(n == 1 || n == -FI_EAGAIN);
      if (n == 1) break;
      if (way == 0 || way == 4) CHECK(poll(both, 1, 0) >= 0);
      if (way == 1) CHECK(poll(both, 1, 1) == 0);
      if (way == 2 && fi_trywait(fabric, &queue, 1) == 0)
        CHECK(poll(both, 2, -1) == 1 && (both[1].revents & POLLIN) && !both[0].revents);
      if (way == 3 && fi_trywait(fabric, &queue, 1) == 0)
        CHECK(epoll_wait(set, &found, 1, -1) == 1 && found.data.fd == file);
      if (way == 4 && (both[0].revents & POLLIN)) {
        CHECK(recv(socket, &c, 1, 0) == 1);
        break;
      }
    }
    CHECK(way == 4 ? c == 'x' : got == way);
    /* Who asks once in a millisecond hears within one. */
    if (way == 1)
      CHECK(weft_now_ps() - begin < 4100000000);
    else
      check_time(begin, names[way]);
    CHECK(poll(&idle, 1, 0) == 0);
  }
  meet("beside a socket");
  close(set);
  close(socket);
  close_end(&e);
}

/* A message that nobody takes yet does not hold up who waits for a socket. */
static void message_beside_a_wait(void) {
  struct end e;
  int socket = connected(), value = 1;
  char c = 'y';
  open_end(&e, FI_WAIT_NONE, 0);
  know(&e);
  if (me == 1) {
    CHECK(fi_tinject(e.ep, &value, sizeof value, e.peer, 5) == 0);
    weft_compute(3000000);
    CHECK(send(socket, &c, 1, 0) == 1);
  } else {
    int64_t begin = weft_now_ps();
    CHECK(recv(socket, &c, 1, 0) == 1);
    check_time(begin, "a wait for a socket");
    CHECK(fi_trecv(e.ep, &value, sizeof value, NULL, e.peer, 5, 0, &value) == 0);
    next(&e);
  }
  meet("a wait for a socket beside a message");
  close(socket);
  close_end(&e);
}

int main(void) {
  struct fi_info* hints = fi_allocinfo();
  me = weft_rank();
  CHECK(weft_size() == 2 && weft_open(&side) == 0 && weft_lookup(side, 1 - me, 0, &other_side) == 0);
  hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SOURCE | FI_DIRECTED_RECV | FI_RMA_EVENT;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_PROV_KEY | FI_MR_ALLOCATED;
  CHECK(fi_getinfo(FI_VERSION(1, 15), NULL, NULL, 0, hints, &info) == 0);
  CHECK(info->src_addr && info->src_addrlen && (info->caps & FI_RMA_EVENT) && info->domain_attr->ep_cnt > 1);
  CHECK(fi_fabric(info->fabric_attr, &fabric, NULL) == 0);
  open_domain();
  meet("an address of the interface");
  nothing_missing();
  opened_again();
  several();
  remote_events(1);
  remote_events(0);
  discarded();
  event_queue();
  beside_a_socket();
  message_beside_a_wait();
  close_domain();
  CHECK(fi_close(&fabric->fid) == 0);
  fi_freeinfo(hints);
  fi_freeinfo(info);
  weft_close(side);
  return 0;
}
