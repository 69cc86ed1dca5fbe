/* Ping-pong: half the time of a round trip between rank 0 and the last rank, by message size.
 *
 *   weft run torus -n 2 -- build/examples/pingpong
 *
 * Short messages go through the message ring, long ones are puts that announce themselves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

static void check(int result, const char* what) {
  if (result < 0) {
    fprintf(stderr, "%s: %s\n", what, strerror(-result));
    exit(1);
  }
}

static void wait_message(weft_port* port, int from, void* buffer, size_t size) {
  weft_message m;
  int got;
  while ((got = weft_receive(port, buffer, size, &m)) == 0) check(weft_wait_for(port, from, -1), "wait");
  check(got, "receive");
}

/* An event that says a put has arrived here. */
static void wait_arrival(weft_port* port, int from) {
  weft_event e;
  for (;;) {
    int got = weft_poll(port, &e);
    check(got, "poll");
    if (got == 0) {
      check(weft_wait_for(port, from, -1), "wait");
    } else if (e.kind == WEFT_EVENT_ARRIVED) {
      return;
    } else if (e.kind == WEFT_EVENT_FAILED) {
      fprintf(stderr, "a put failed: %s\n", weft_status_text(e.status));
      exit(1);
    }
  }
}

int main(int argc, char** argv) {
  int repeats = argc > 1 ? atoi(argv[1]) : 100;
  size_t largest = argc > 2 ? (size_t)atol(argv[2]) : 65536;
  int rank = weft_rank(), last = weft_size() - 1;
  if (rank < 0 || last < 1) {
    fprintf(stderr, "start it with: weft run MACHINE -n 2 -- pingpong [repeats] [largest]\n");
    return 2;
  }
  if (rank != 0 && rank != last) return 0;
  int peer_rank = rank == 0 ? last : 0;

  weft_port* port;
  weft_limits limits;
  weft_address peer;
  weft_memory mine, theirs;
  check(weft_open(&port), "open");
  check(weft_get_limits(port, &limits), "limits");
  check(weft_lookup(port, peer_rank, 0, &peer), "lookup");
  unsigned char* buffer = calloc(1, largest + 1);
  check(weft_register(port, buffer, largest + 1, WEFT_REMOTE_WRITE, &mine), "register");
  check(weft_send(port, peer, &mine, sizeof mine, 0, 0, 0), "send");
  wait_message(port, peer_rank, &theirs, sizeof theirs);

  if (rank == 0) printf("%10s %14s %12s\n", "bytes", "half round, ns", "MB/s");
  for (size_t size = 0; size <= largest; size = size ? size * 2 : 1) {
    int put = size > limits.message_limit;
    int64_t start = weft_now_ps();
    for (int i = 0; i < 2 * repeats; ++i) {
      if (i % 2 == (rank != 0)) { /* its turn */
        if (put) {
          check(weft_put(port, mine.key, 0, theirs, 0, size, 0, WEFT_NOTIFY_REMOTE, 0), "put");
        } else {
          check(weft_send(port, peer, buffer, size, 0, 0, 0), "send");
        }
      } else if (put) {
        wait_arrival(port, peer_rank);
      } else {
        wait_message(port, peer_rank, buffer, largest + 1);
      }
    }
    double half = (double)(weft_now_ps() - start) / (2.0 * repeats);
    if (rank == 0) printf("%10zu %14.3f %12.3f\n", size, half / 1000, size ? (double)size * 1e6 / half : 0);
  }
  int result = weft_close(port); /* waits for the last put, which needs the buffer */
  free(buffer);
  return result;
}
