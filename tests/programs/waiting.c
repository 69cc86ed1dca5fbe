/* Ways to wait that are not calls of the library: sockets, timers, memory, children. The first argument says
 * how. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <weft.h>

static int rank, size;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct sockaddr_in at(int number) {
  struct sockaddr_in a;
  memset(&a, 0, sizeof a);
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  a.sin_port = htons((unsigned short)number);
  return a;
}

static int dial(int number) {
  struct sockaddr_in to = at(number);
  for (;;) {
    int s = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(s, (struct sockaddr*)&to, sizeof to) == 0) return s;
    close(s);
    usleep(1000);
  }
}

static int answer(int number) {
  int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  struct sockaddr_in here = at(number);
  setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(s, (struct sockaddr*)&here, sizeof here) != 0 || listen(s, 16) != 0) {
    perror("listen");
    exit(3);
  }
  int c = accept(s, NULL, NULL);
  close(s);
  return c;
}

static void all_of(int s, char* to, size_t length, int flags) {
  for (size_t got = 0; got < length;) {
    ssize_t n = recv(s, to + got, length - got, flags);
    if (n <= 0) {
      perror("recv");
      exit(4);
    }
    got += (size_t)n;
  }
}

/* Two ranks talk over TCP: each waits in turn, and the other works meanwhile. */
static void sockets(int number) {
  enum { kBytes = 4 << 20 };
  char* data = malloc(kBytes);
  if (rank == 0) {
    usleep(5000); /* the other calls in vain at first */
    int s = answer(number);
    char word[8];
    all_of(s, word, 8, 0);
    printf("rank 0 heard '%s' at %.6f\n", word, now());
    sleep(2);
    memset(data, 7, kBytes);
    if (send(s, data, kBytes, 0) != kBytes) perror("send");
    all_of(s, word, 1, 0);
    printf("rank 0 is done at %.6f\n", now());
    close(s);
  } else {
    int s = dial(number);
    sleep(1);
    if (write(s, "hello..", 8) != 8) perror("write");
    all_of(s, data, kBytes, MSG_WAITALL);
    printf("rank 1 has it all, %s, at %.6f\n", data[kBytes - 1] == 7 ? "right" : "wrong", now());
    usleep(1000);
    if (write(s, "", 1) != 1) perror("write");
    close(s);
  }
  free(data);
}

/* The same with every way to wait for several. */
static void selecting(int number) {
  if (rank == 0) {
    int s = answer(number);
    for (int i = 0; i < 4; ++i) {
      usleep(10000);
      if (write(s, "x", 1) != 1) perror("write");
    }
    char end;
    if (read(s, &end, 1) != 0) printf("no end\n");
    close(s);
    return;
  }
  int s = dial(number);
  char c;
  int found;
  struct pollfd one = {s, POLLIN, 0};
  found = poll(&one, 1, -1);
  printf("poll %d at %.6f\n", found, now());
  if (read(s, &c, 1) != 1) perror("read");
  fd_set set;
  FD_ZERO(&set);
  FD_SET(s, &set);
  struct timeval ten = {10, 0};
  found = select(s + 1, &set, NULL, NULL, &ten);
  printf("select %d at %.6f\n", found, now());
  if (read(s, &c, 1) != 1) perror("read");
  int e = epoll_create1(0);
  struct epoll_event event = {EPOLLIN, {0}}, got;
  epoll_ctl(e, EPOLL_CTL_ADD, s, &event);
  found = epoll_wait(e, &got, 1, -1);
  printf("epoll %d at %.6f\n", found, now());
  if (read(s, &c, 1) != 1) perror("read");
  fcntl(s, F_SETFL, O_NONBLOCK);
  while (read(s, &c, 1) < 0 && errno == EAGAIN) {
  }
  printf("asked again and again until %.6f\n", now());
  struct timeval half = {0, 500000};
  fcntl(s, F_SETFL, 0);
  setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &half, sizeof half);
  double before = now();
  ssize_t n = recv(s, &c, 1, 0);
  printf("nothing for half a second: %zd, %s, %.6f\n", n, strerror(errno), now() - before);
  close(s);
}

static volatile sig_atomic_t signals, last_value;
static void count(int number) {
  (void)number;
  ++signals;
}
static void take(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  ++signals;
  last_value = info->si_value.sival_int;
}

static volatile int thread_calls;
static void notified(union sigval value) { thread_calls += value.sival_int; }

static void timers(void) {
  signal(SIGALRM, count);
  double start = now();
  alarm(1);
  unsigned left = sleep(3);
  printf("alarm: %d after %.6f, %u left\n", signals, now() - start, left);
  signals = 0;
  start = now();
  struct itimerval every = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}}, shown;
  setitimer(ITIMER_REAL, &every, NULL);
  struct timespec rest = {0, 10500000};
  while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {
  }
  getitimer(ITIMER_REAL, &shown);
  setitimer(ITIMER_REAL, &none, NULL);
  printf("setitimer: %d in %.6f, next in %ld us\n", signals, now() - start, (long)shown.it_value.tv_usec);
  signals = 0;
  start = now();
  alarm(2);
  pause();
  left = alarm(0);
  printf("pause: %d after %.6f; alarm(0) says %u\n", signals, now() - start, left);
  /* A loop that waits for the handler. */
  signals = 0;
  alarm(1);
  start = now();
  while (!signals) {
  }
  printf("a loop: %d after %.3f\n", signals, now() - start);

  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = take;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, NULL);
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  event.sigev_value.sival_int = 42;
  timer_t timer;
  signals = 0;
  start = now();
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  struct itimerspec twice = {{0, 2000000}, {0, 5000000}}, off = {{0, 0}, {0, 0}};
  timer_settime(timer, 0, &twice, NULL);
  while (signals < 3) pause();
  printf("timer_create: %d with %d after %.6f\n", signals, last_value, now() - start);
  timer_delete(timer);
  event.sigev_notify = SIGEV_THREAD;
  event.sigev_notify_function = notified;
  event.sigev_notify_attributes = NULL;
  timer_create(CLOCK_REALTIME, &event, &timer);
  struct itimerspec once = {{0, 0}, {0, 3000000}};
  timer_settime(timer, 0, &once, NULL);
  usleep(4000);
  while (thread_calls == 0) usleep(100);
  printf("a thread is told %d\n", thread_calls);
  timer_settime(timer, 0, &off, NULL);
  timer_delete(timer);

  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGALRM);
  sigprocmask(SIG_BLOCK, &wanted, NULL);
  start = now();
  alarm(1);
  int got = 0;
  sigwait(&wanted, &got);
  printf("sigwait: %s after %.6f\n", got == SIGALRM ? "SIGALRM" : "?", now() - start);

  int file = timerfd_create(CLOCK_MONOTONIC, 0);
  struct itimerspec ticks = {{0, 10000000}, {0, 10000000}};
  timerfd_settime(file, 0, &ticks, NULL);
  uint64_t times = 0;
  start = now();
  if (read(file, &times, sizeof times) != sizeof times) perror("read");
  printf("timerfd: %d at %.6f", (int)times, now() - start);
  usleep(35000);
  struct pollfd one = {file, POLLIN, 0};
  int polled = poll(&one, 1, 1000);
  if (read(file, &times, sizeof times) != sizeof times) perror("read");
  printf(", poll %d, %d at %.6f", polled, (int)times, now() - start);
  int e = epoll_create1(0);
  struct epoll_event in = {EPOLLIN, {0}}, out;
  epoll_ctl(e, EPOLL_CTL_ADD, file, &in);
  int ready = epoll_wait(e, &out, 1, -1);
  printf(", epoll %d at %.6f\n", ready, now() - start);
  close(file);
}

/* A rank looks at memory that another one puts to. */
static void memory(void) {
  weft_port* port;
  if (weft_open(&port) != 0) exit(5);
  weft_memory mine = {{0, 0}, 0};
  static volatile long word;
  weft_address other;
  weft_lookup(port, 1 - rank, 0, &other);
  if (rank == 0) {
    weft_register(port, (void*)&word, sizeof word, WEFT_REMOTE_WRITE, &mine);
    while (weft_send(port, other, &mine, sizeof mine, 0, 0, 0) == -EAGAIN) weft_wait(port, -1);
    while (word == 0) {
    }
    printf("rank 0 sees %ld at %.9f\n", word, now());
  } else {
    weft_message m;
    weft_memory there;
    while (weft_receive(port, &there, sizeof there, &m) == 0) weft_wait(port, -1);
    sleep(1);
    long value = 77;
    weft_put_immediate(port, &value, sizeof value, there, 0, 0, WEFT_NOTIFY_DONE, 1);
    weft_wait(port, -1);
  }
  weft_close(port);
}

/* Ranks of a node pass a word of memory they share to and fro. */
static void shared(void) {
  char name[64];
  snprintf(name, sizeof name, "/weft-test-%s", getenv("WEFT_TEST_NAME") ? getenv("WEFT_TEST_NAME") : "x");
  int file = shm_open(name, O_CREAT | O_RDWR, 0600);
  if (ftruncate(file, 4096) != 0) exit(6);
  volatile int* word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  for (int turn = 0; turn < 20; ++turn) {
    while (*word != turn * size + rank) {
    }
    usleep(100 * (unsigned)(rank + 1));
    *word = *word + 1;
  }
  printf("rank %d: its last turn ended at %.6f\n", rank, now());
  while (*word < 20 * size) {
  }
  shm_unlink(name);
}

static void children(void) {
  double start = now();
  if (system("sleep 3") != 0) printf("no sleep\n");
  printf("system: %.3f\n", now() - start);
  start = now();
  pid_t child = fork();
  if (child == 0) {
    usleep(250000);
    _exit(7);
  }
  int status;
  waitpid(child, &status, 0);
  printf("fork: %.3f, %d\n", now() - start, WEXITSTATUS(status));
  start = now();
  FILE* pipe = popen("sleep 1; echo done", "r");
  char line[64] = "";
  int file = fileno(pipe);
  if (read(file, line, sizeof line - 1) < 5) printf("no line\n");
  pclose(pipe);
  printf("popen: %.3f, %s", now() - start, line);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  int number = argc > 2 ? atoi(argv[2]) : 0;
  rank = weft_rank();
  size = weft_size();
  setvbuf(stdout, NULL, _IOLBF, 0);
#define IS(name) if (strcmp(how, name) == 0)
  IS("sockets") sockets(number);
  IS("selecting") selecting(number);
  IS("timers") timers();
  IS("memory") memory();
  IS("shared") shared();
  IS("children") children();
  IS("leave-children") {
    if (fork() == 0) {
      setsid();
      if (fork() == 0)
        for (;;) pause();
      for (;;) pause();
    }
  }
  IS("accept") { /* nobody calls */
    if (rank == 0) answer(number);
    sleep(1);
  }
  IS("for-seconds") { /* as benchmarks do, by their own clock */
    double end = now() + 1e4;
    volatile double x = 1;
    while (now() < end)
      for (int i = 0; i < 2000; ++i) x = x * 1.0000001;
  }
  return 0;
}
