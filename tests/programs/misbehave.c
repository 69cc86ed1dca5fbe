/* What ranks do in the tests of `weft run`: misbehave in one of many ways. The first argument says how. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <weft.h>

static weft_port* port;
static int rank, size;

static void open_port(void) {
  int result = weft_open(&port);
  if (result < 0) {
    printf("rank %d: open: %s\n", rank, strerror(-result));
    exit(9);
  }
}

static weft_address address_of(int other) {
  weft_address a = {0, 0};
  int result = weft_lookup(port, other, 0, &a);
  if (result < 0) {
    printf("rank %d: lookup of %d: %s\n", rank, other, strerror(-result));
    exit(8);
  }
  return a;
}

static void wait_for(int other) {
  weft_message m;
  char buffer[256];
  while (weft_receive(port, buffer, sizeof buffer, &m) == 0) weft_wait_for(port, other, -1);
}

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Every clock and every way to wait agree on virtual time. */
static void clocks(void) {
  double start = seconds(CLOCK_MONOTONIC);
  usleep(1500);
  struct timespec two = {2, 0};
  nanosleep(&two, NULL);
  sleep(1);
  struct pollfd none = {-1, 0, 0};
  poll(&none, 1, 250);
  struct timeval quarter = {0, 250000};
  select(0, NULL, NULL, NULL, &quarter);
  struct timespec until = {0, 0};
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += 1;
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
  struct timeval day;
  gettimeofday(&day, NULL);
  printf("slept %.6f s; the calendar says %ld, time() %ld\n", seconds(CLOCK_MONOTONIC) - start,
         (long)day.tv_sec, (long)time(NULL));
  double loop = seconds(CLOCK_MONOTONIC);
  while (seconds(CLOCK_MONOTONIC) < loop + 0.001) {
  }
  printf("a loop on the clock ended\n");
}

static void* worker(void* argument) {
  (void)argument;
  wait_for(1 - rank);
  return NULL;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static int has_arrived = 0;

static void* herald(void* argument) {
  worker(argument);
  pthread_mutex_lock(&lock);
  has_arrived = 1;
  pthread_cond_signal(&arrived);
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  rank = weft_rank();
  size = weft_size();
#define IS(name) if (strcmp(how, name) == 0)
  IS("no-port") {
    printf("rank %d of %d opens nothing\n", rank, size);
    return 0;
  }
  IS("clocks") {
    clocks();
    return 0;
  }
  IS("compute-for-ever") { /* in steps that each fit, or at once; then it looks at its clock without end */
    for (int i = 0; i < 20 && argc > 2; ++i) weft_compute(864000000000000); /* 10 days */
    if (argc == 2) weft_compute(INT64_MAX);
    if (rank == 1) return 0;
    for (;;) seconds(CLOCK_MONOTONIC);
  }
  open_port();
  IS("exit") {
    if (rank == 1) return 7;
    wait_for(1);
  }
  IS("crash") {
    if (rank == 1) raise(SIGSEGV);
    wait_for(1);
  }
  IS("deadlock") wait_for((rank + 1) % size);
  IS("spin") {
    weft_event e;
    while (weft_poll(port, &e) == 0) {
    }
  }
  IS("hang") for (;;) pause();
  IS("early") { /* rank 1 has ended when rank 0 asks for it */
    if (rank == 1) return 0;
    weft_wait(port, 1000000);
    address_of(1);
  }
  IS("absent") { /* rank 1 never opens a second port */
    weft_address a;
    if (rank == 0) printf("lookup: %s\n", strerror(-weft_lookup(port, 1, 1, &a)));
  }
  IS("ports") {
    int count = 1;
    weft_port* more;
    int result;
    while ((result = weft_open(&more)) == 0) ++count;
    printf("rank %d opened %d ports, then: %s\n", rank, count, strerror(-result));
  }
  IS("fork") {
    pid_t child = fork();
    if (child == 0) {
      weft_port* mine;
      weft_event e;
      int opened = weft_open(&mine), polled = weft_poll(port, &e);
      printf("child: open %s, poll %s, rank %s\n", strerror(-opened), strerror(-polled),
             strerror(-weft_rank()));
      exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    weft_address to = address_of(1 - rank);
    weft_send(port, to, "x", 1, 0, 0, 0);
    wait_for(1 - rank);
    printf("parent %d goes on: child %d\n", rank, WEXITSTATUS(status));
  }
  IS("threads") {
    pthread_t other;
    weft_address to = address_of(1 - rank);
    pthread_create(&other, NULL, worker, NULL);
    weft_send(port, to, "x", 1, 0, 0, 0);
    pthread_join(other, NULL);
    printf("rank %d joined its thread\n", rank);
  }
  IS("condition") { /* one thread waits for the network, the other for that thread */
    pthread_t other;
    weft_address to = address_of(1 - rank);
    pthread_create(&other, NULL, herald, NULL);
    weft_send(port, to, "x", 1, 0, 0, 0);
    pthread_mutex_lock(&lock);
    while (!has_arrived) pthread_cond_wait(&arrived, &lock);
    pthread_mutex_unlock(&lock);
    pthread_join(other, NULL);
    printf("rank %d was told\n", rank);
  }
  IS("last-words") { /* posted, then gone at once: it arrives all the same */
    weft_address to = address_of(1 - rank);
    if (rank == 0) {
      weft_send(port, to, "bye", 4, 0, 0, 0);
      exit(0);
    }
    wait_for(0);
    printf("heard\n");
  }
  IS("fragments") { /* 1000 bytes through messages of 64 */
    unsigned char out[1000], in[1000];
    for (int i = 0; i < 1000; ++i) out[i] = (unsigned char)(i * 3);
    weft_address to = address_of(1 - rank);
    size_t posted = 0, got = 0;
    if (rank == 0) {
      while (weft_send_fragments(port, to, out, sizeof out, &posted, 5) == 0) weft_wait(port, -1);
    } else {
      unsigned pieces = 0;
      for (int more = 1; more;) {
        weft_message m;
        int result = weft_receive(port, in + got, sizeof in - got, &m);
        if (result == 0) weft_wait_for(port, 0, -1);
        if (result <= 0) continue;
        got += m.length;
        more = m.flags & WEFT_MORE;
        ++pieces;
      }
      printf("%zu bytes in %u pieces, %s\n", got, pieces, memcmp(in, out, sizeof in) ? "spoilt" : "whole");
    }
  }
  IS("interrupt") { /* the same message, polled for and waited for by an interrupt */
    weft_address to = address_of(1 - rank);
    int64_t took[2];
    for (int by_interrupt = 0; by_interrupt < 2; ++by_interrupt) {
      weft_message m;
      if (rank == 0) {
        wait_for(1);
        weft_compute(10000);
        int64_t now = weft_now_ps();
        weft_send(port, to, &now, sizeof now, 0, 0, 0);
      } else {
        int64_t sent = 0;
        weft_send(port, to, NULL, 0, 0, 0, 0);
        if (by_interrupt) weft_wait_interrupt(port, -1);
        while (weft_receive(port, &sent, sizeof sent, &m) == 0) weft_wait(port, -1);
        took[by_interrupt] = weft_now_ps() - sent;
      }
    }
    if (rank == 1) printf("an interrupt takes %.3f us longer\n", (double)(took[1] - took[0]) / 1e6);
  }
  IS("output") {
    for (int i = 0; i < 3; ++i) {
      printf("line %d of rank %d\n", i, rank);
      fprintf(stderr, "complaint %d of rank %d\n", i, rank);
      weft_compute(1000 * (rank + 1));
      weft_wait(port, 10);
    }
    printf("no end of line");
  }
  IS("much-output")
  for (int i = 0; i < 20000; ++i) printf("line %d of rank %d, long enough to fill a pipe\n", i, rank);
  return 0;
}
