/* Message rate: half of the ranks send small messages to the other half as fast as they can.
 *
 *   weft run torus -n 8 -- build/examples/message_rate --pairs 4 [--bytes 8] [--count 1000] [--credits 32]
 *
 * Senders hold back after `credits` messages until the receiver says that it has taken them: the scheme that
 * keeps a receiver's ring from overflowing. With --credits 0 they rely on the interface, which holds messages
 * back itself. */
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

static int next_message(weft_port* port, int from, weft_message* m, void* buffer, size_t size) {
  int got;
  while ((got = weft_receive(port, buffer, size, m)) == 0) check(weft_wait_for(port, from, -1), "wait");
  check(got, "receive");
  return (int)m->tag;
}

static void send_message(weft_port* port, weft_address to, const void* data, size_t size, uint32_t tag) {
  int result;
  while ((result = weft_send(port, to, data, size, tag, 0, 0)) == -11 /* EAGAIN */)
    check(weft_wait(port, -1), "wait");
  check(result, "send");
}

static long option(int argc, char** argv, const char* name, long otherwise) {
  for (int i = 1; i + 1 < argc; ++i)
    if (strcmp(argv[i], name) == 0) return atol(argv[i + 1]);
  return otherwise;
}

enum { DATA = 1, CREDIT = 2, RESULT = 3 };

/* Rank 0 hears from all receivers; fast ones report while it still sends. */
static int results = 0;
static int64_t longest = 0;

static int wait_credit(weft_port* port, int from, weft_message* m) {
  int64_t taken = 0;
  int tag;
  while ((tag = next_message(port, from, m, &taken, sizeof taken)) == RESULT) {
    ++results;
    if (taken > longest) longest = taken;
  }
  return tag == CREDIT;
}

int main(int argc, char** argv) {
  int rank = weft_rank(), size = weft_size();
  if (rank < 0) {
    fprintf(stderr, "start it with: weft run MACHINE -n 8 -- message_rate --pairs 4\n");
    return 2;
  }
  int pairs = (int)option(argc, argv, "--pairs", size / 2);
  long bytes = option(argc, argv, "--bytes", 8), count = option(argc, argv, "--count", 1000);
  long credits = option(argc, argv, "--credits", 32);
  if (pairs < 1 || 2 * pairs > size) {
    fprintf(stderr, "%d pairs need %d ranks; there are %d\n", pairs, 2 * pairs, size);
    return 2;
  }
  weft_port* port;
  weft_limits limits;
  check(weft_open(&port), "open");
  check(weft_get_limits(port, &limits), "limits");
  if (bytes < 0 || bytes > (long)limits.message_limit) {
    fprintf(stderr, "messages have at most %u bytes here\n", limits.message_limit);
    return 2;
  }
  if (rank >= 2 * pairs) return weft_close(port);
  int sender = rank < pairs, peer_rank = sender ? rank + pairs : rank - pairs;
  weft_address peer, root;
  check(weft_lookup(port, peer_rank, 0, &peer), "lookup");
  check(weft_lookup(port, 0, 0, &root), "lookup");
  unsigned char buffer[256] = {0};
  weft_message m;

  int64_t start = weft_now_ps();
  if (sender) {
    long free_credits = credits;
    for (long i = 0; i < count; ++i) {
      if (credits && free_credits == 0) {
        if (!wait_credit(port, peer_rank, &m)) return 1;
        free_credits += credits;
      }
      send_message(port, peer, buffer, (size_t)bytes, DATA);
      --free_credits;
    }
    while (credits && free_credits < credits) {
      if (!wait_credit(port, peer_rank, &m)) return 1;
      free_credits += credits;
    }
  } else {
    for (long i = 1; i <= count; ++i) {
      if (next_message(port, peer_rank, &m, buffer, sizeof buffer) != DATA) return 1;
      if (credits && (i % credits == 0 || i == count)) send_message(port, peer, NULL, 0, CREDIT);
    }
    int64_t taken = weft_now_ps() - start;
    send_message(port, root, &taken, sizeof taken, RESULT);
  }
  if (rank == 0) {
    for (; results < pairs; ++results) {
      int64_t taken;
      if (next_message(port, -1, &m, &taken, sizeof taken) != RESULT) return 1;
      if (taken > longest) longest = taken;
    }
    double rate = (double)count * pairs * 1e6 / (double)longest;
    printf("%d pairs, %ld messages of %ld bytes each: %.3f million messages/s\n", pairs, count, bytes, rate);
  }
  return weft_close(port);
}
