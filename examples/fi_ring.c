/* A program of libfabric alone, which knows nothing of Weft: ranks in a ring pass on a token that grows. As
 * programs do that have no MPI, the ranks tell each other their addresses over TCP; rank 0 collects them.
 *
 *   cc -O2 -o fi_ring fi_ring.c -lfabric
 *   weft run torus -n 8 -- ./fi_ring [PORT]
 *
 * A rank's number and how many there are is in the environment, as with every launcher.
 */
#include <arpa/inet.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kName = 64, kMostRanks = 1024, kMostBytes = 1 << 20, kRounds = 3 };

static void check(int fine, const char* what) {
  if (fine) return;
  perror(what);
  exit(1);
}

static void check_fi(long result, const char* what) {
  if (result >= 0) return;
  fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-result));
  exit(1);
}

static void send_all(int file, const void* from, size_t bytes) {
  check(send(file, from, bytes, 0) == (ssize_t)bytes, "send");
}

static void receive_all(int file, void* to, size_t bytes) {
  check(recv(file, to, bytes, MSG_WAITALL) == (ssize_t)bytes, "recv");
}

/* Every rank's name at every rank. */
static void exchange(int rank, int ranks, int port, char names[][kName]) {
  struct sockaddr_in at = {
      .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
  static int files[kMostRanks];
  int file = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
  check(file >= 0, "socket");
  if (rank != 0) {
    while (connect(file, (struct sockaddr*)&at, sizeof at) != 0) { /* until rank 0 listens */
      close(file);
      usleep(1000);
      file = socket(AF_INET, SOCK_STREAM, 0);
    }
    send_all(file, &rank, sizeof rank);
    send_all(file, names[rank], kName);
    receive_all(file, names, (size_t)ranks * kName);
    close(file);
    return;
  }
  setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  check(bind(file, (struct sockaddr*)&at, sizeof at) == 0, "bind");
  check(listen(file, ranks) == 0, "listen");
  for (int i = 1; i < ranks; ++i) {
    int who;
    check((files[i] = accept(file, NULL, NULL)) >= 0, "accept");
    receive_all(files[i], &who, sizeof who);
    receive_all(files[i], names[who], kName);
  }
  for (int i = 1; i < ranks; ++i) {
    send_all(files[i], names, (size_t)ranks * kName);
    close(files[i]);
  }
  close(file);
}

static void wait_for(struct fid_cq* cq, void* context) {
  struct fi_cq_tagged_entry entry;
  ssize_t got;
  do {
    while ((got = fi_cq_sread(cq, &entry, 1, NULL, -1)) == -FI_EAGAIN) continue;
    check_fi(got, "fi_cq_sread");
  } while (entry.op_context != context);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int main(int argc, char** argv) {
  const char *rank_text = getenv("WEFT_RANK"), *size_text = getenv("WEFT_SIZE");
  static char names[kMostRanks][kName], token[kMostBytes];
  if (!rank_text || !size_text || atoi(size_text) > kMostRanks) {
    fprintf(stderr, "start it with: weft run MACHINE -n RANKS -- %s\n", argv[0]);
    return 2;
  }
  int rank = atoi(rank_text), ranks = atoi(size_text);

  struct fi_info *hints = fi_allocinfo(), *info;
  hints->caps = FI_TAGGED;
  hints->ep_attr->type = FI_EP_RDM;
  check_fi(fi_getinfo(FI_VERSION(1, 15), NULL, NULL, 0, hints, &info), "fi_getinfo");
  struct fid_fabric* fabric;
  struct fid_domain* domain;
  struct fid_av* av;
  struct fid_cq *sent, *received;
  struct fid_ep* ep;
  struct fi_av_attr addresses = {.type = FI_AV_TABLE, .count = (size_t)ranks};
  struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_UNSPEC};
  check_fi(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
  check_fi(fi_domain(fabric, info, &domain, NULL), "fi_domain");
  check_fi(fi_av_open(domain, &addresses, &av, NULL), "fi_av_open");
  check_fi(fi_cq_open(domain, &queue, &sent, NULL), "fi_cq_open");
  check_fi(fi_cq_open(domain, &queue, &received, NULL), "fi_cq_open");
  check_fi(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
  check_fi(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
  check_fi(fi_ep_bind(ep, &sent->fid, FI_TRANSMIT), "fi_ep_bind");
  check_fi(fi_ep_bind(ep, &received->fid, FI_RECV), "fi_ep_bind");
  check_fi(fi_enable(ep), "fi_enable");
  size_t length = kName;
  check_fi(fi_getname(&ep->fid, names[rank], &length), "fi_getname");
  exchange(rank, ranks, argc > 1 ? atoi(argv[1]) : 47593, names);
  for (int i = 0; i < ranks; ++i) check_fi(fi_av_insert(av, names[i], 1, NULL, 0, NULL), "fi_av_insert");

  fi_addr_t next = (fi_addr_t)((rank + 1) % ranks);
  for (size_t bytes = 8; bytes <= kMostBytes; bytes *= 64) {
    double begin = 0;
    for (int round = 0; round < kRounds; ++round) {
      char* out = token;
      if (rank == 0) {
        if (round == 0) begin = now();
        check_fi(fi_tsend(ep, out, bytes, NULL, next, 1, out), "fi_tsend");
        wait_for(sent, out);
      }
      check_fi(fi_trecv(ep, token, bytes, NULL, FI_ADDR_UNSPEC, 1, 0, token), "fi_trecv");
      wait_for(received, token);
      if (rank != 0) {
        check_fi(fi_tsend(ep, out, bytes, NULL, next, 1, out), "fi_tsend");
        wait_for(sent, out);
      }
    }
    if (rank == 0)
      printf("%7zu bytes around %d ranks: %9.3f us for each step\n", bytes, ranks,
             (now() - begin) / kRounds / ranks);
  }
  fi_close(&ep->fid);
  fi_close(&sent->fid);
  fi_close(&received->fid);
  fi_close(&av->fid);
  fi_close(&domain->fid);
  fi_close(&fabric->fid);
  fi_freeinfo(hints);
  fi_freeinfo(info);
  return 0;
}
