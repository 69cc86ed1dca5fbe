/* Shifts: every rank puts a block into the memory of several others at once, each as far away for all.
 * Nobody computes, so that the network is what the run costs.
 *
 *   weft run tianhe2 -n 16 --engine flit -- build/examples/shift [bytes] [peers]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

enum { MOST_PEERS = 64 };

static void check(int result, const char* what) {
  if (result < 0) {
    fprintf(stderr, "%s: %s\n", what, strerror(-result));
    exit(1);
  }
}

/* The byte at a place of a rank's block, so that a receiver can tell whose block it has. */
static char pattern(int rank, long at) { return (char)(rank * 31 + at % 251); }

int main(int argc, char** argv) {
  long bytes = argc > 1 ? atol(argv[1]) : 65536;
  int peers = argc > 2 ? atoi(argv[2]) : 4, rank = weft_rank(), size = weft_size();
  if (rank < 0 || bytes < 1 || peers < 1 || peers > MOST_PEERS || peers >= size) {
    fprintf(stderr, "start it with: weft run MACHINE -n 16 -- shift [bytes] [peers, fewer than ranks]\n");
    return 2;
  }
  weft_port* port;
  check(weft_open(&port), "open");
  /* A block to send, then one from each peer. */
  size_t all = (size_t)bytes * (size_t)(peers + 1);
  char* blocks = calloc(1, all);
  for (long i = 0; i < bytes; ++i) blocks[i] = pattern(rank, i);
  weft_memory mine, theirs[MOST_PEERS];
  check(weft_register(port, blocks, all, WEFT_REMOTE_WRITE, &mine), "register");
  for (int p = 0; p < peers; ++p) { /* who puts to me needs to know my memory */
    weft_address to;
    int from = (rank - (p + 1) * (size - 1) / peers + size) % size;
    check(weft_lookup(port, from, 0, &to), "lookup");
    check(weft_send(port, to, &mine, sizeof mine, (uint32_t)p, 0, 0), "send");
  }
  for (int p = 0; p < peers; ++p) {
    weft_message m;
    weft_memory got;
    int result;
    while ((result = weft_receive(port, &got, sizeof got, &m)) == 0) check(weft_wait(port, -1), "wait");
    check(result, "receive");
    theirs[m.tag] = got;
  }
  int64_t start = weft_now_ps();
  for (int p = 0; p < peers; ++p)
    check(weft_put(port, mine.key, 0, theirs[p], (uint64_t)(p + 1) * (uint64_t)bytes, (uint64_t)bytes, 0,
                   WEFT_NOTIFY_REMOTE, 0),
          "put");
  for (int arrived = 0; arrived < peers;) {
    weft_event e;
    int got = weft_poll(port, &e);
    check(got, "poll");
    if (got == 0) {
      check(weft_wait(port, -1), "wait");
    } else if (e.kind == WEFT_EVENT_FAILED) {
      fprintf(stderr, "a put failed: %s\n", weft_status_text(e.status));
      return 1;
    } else if (e.kind == WEFT_EVENT_ARRIVED) {
      ++arrived;
    }
  }
  double us = (double)(weft_now_ps() - start) / 1e6;
  for (int p = 0; p < peers; ++p) {
    int from = (rank - (p + 1) * (size - 1) / peers + size) % size;
    for (long i = 0; i < bytes; ++i)
      if (blocks[(long)(p + 1) * bytes + i] != pattern(from, i)) {
        fprintf(stderr, "rank %d: byte %ld of the block of rank %d is wrong\n", rank, i, from);
        return 1;
      }
  }
  if (rank == 0) printf("%d blocks of %ld bytes from each of %d ranks: %.3f us\n", peers, bytes, size, us);
  check(weft_close(port), "close");
  free(blocks);
  return 0;
}
