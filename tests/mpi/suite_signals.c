/* Signals, timers and clocks of ranks: all of them keep to the machine's time. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "suite.h"

static volatile sig_atomic_t signals, last_signal, last_value;
static double fired_at[64];

static void count(int number) {
  if (signals < 64) fired_at[signals] = MPI_Wtime();
  ++signals, last_signal = number;
}

static void note(int number, siginfo_t* facts, void* context) {
  (void)context;
  ++signals, last_signal = number, last_value = facts->si_value.sival_int;
}

static void on(int number, void (*handler)(int), int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(number, &action, NULL);
  signals = last_signal = 0;
}

static int about(double seconds, double expected) { return fabs(seconds - expected) < 20e-6; }

static void alarm_in_sleep(void) {
  on(SIGALRM, count, 0);
  double begun = MPI_Wtime();
  alarm(1);
  unsigned left = sleep(3);
  CHECK(signals == 1 && left == 2 && about(MPI_Wtime() - begun, 1));
}

static void alarm_cancelled(void) {
  on(SIGALRM, count, 0);
  CHECK(alarm(5) == 0);
  sleep(2);
  CHECK(alarm(0) == 3);
  sleep(4);
  CHECK(signals == 0);
}

static void alarm_and_pause(void) {
  on(SIGALRM, count, 0);
  double begun = MPI_Wtime();
  alarm(2);
  CHECK(pause() == -1 && errno == EINTR);
  CHECK(signals == 1 && last_signal == SIGALRM && about(MPI_Wtime() - begun, 2));
}

/* Ten signals in ten and a half milliseconds, each at its time. */
static void interval(void) {
  on(SIGALRM, count, SA_RESTART);
  struct itimerval every = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}};
  double begun = MPI_Wtime(), end_at = begun + 10.5e-3;
  setitimer(ITIMER_REAL, &every, NULL);
  while (MPI_Wtime() < end_at) usleep((useconds_t)((end_at - MPI_Wtime()) * 1e6) + 1);
  setitimer(ITIMER_REAL, &none, NULL);
  CHECK(signals == 10);
  for (int i = 0; i < signals && i < 64; ++i) CHECK(about(fired_at[i] - begun, (i + 1) * 1e-3));
}

static void interval_left(void) {
  on(SIGALRM, count, 0);
  struct itimerval once = {{0, 0}, {0, 900}}, left, before;
  setitimer(ITIMER_REAL, &once, NULL);
  usleep(400);
  getitimer(ITIMER_REAL, &left);
  CHECK(left.it_value.tv_sec == 0 && labs(left.it_value.tv_usec - 500) <= 20);
  memset(&once, 0, sizeof once);
  setitimer(ITIMER_REAL, &once, &before);
  CHECK(labs(before.it_value.tv_usec - 500) <= 20);
  usleep(2000);
  CHECK(signals == 0);
}

/* A rank that waits for a message is interrupted and goes on waiting. */
static void during_receive(void) {
  on(SIGALRM, count, SA_RESTART);
  struct itimerval every = {{0, 100}, {0, 100}}, none = {{0, 0}, {0, 0}};
  int got = -1, from = (rank + size - 1) % size, to = (rank + 1) % size;
  setitimer(ITIMER_REAL, &every, NULL);
  MPI_Request request;
  MPI_Irecv(&got, 1, MPI_INT, from, 0, MPI_COMM_WORLD, &request);
  if (rank == 0) {
    struct timespec wait = {0, 1050000}, left = wait;
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    MPI_Send(&rank, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(&rank, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
  }
  setitimer(ITIMER_REAL, &none, NULL);
  CHECK(got == from && signals >= 10 && signals <= 14);
}

static void timer_with_signal(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = note;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, NULL);
  signals = 0;
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  event.sigev_value.sival_int = 77;
  timer_t timer;
  struct itimerspec every = {{0, 200000}, {0, 300000}}, left;
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  CHECK(timer_settime(timer, 0, &every, NULL) == 0);
  double end_at = MPI_Wtime() + 1.6e-3; /* at 300, 500, ... 1500 us */
  while (MPI_Wtime() < end_at) usleep((useconds_t)((end_at - MPI_Wtime()) * 1e6) + 1);
  timer_gettime(timer, &left);
  CHECK(left.it_value.tv_nsec > 0 && left.it_value.tv_nsec <= 100000 && left.it_interval.tv_nsec == 200000);
  timer_delete(timer);
  CHECK(signals == 7 && last_value == 77);
}

static void timer_at_a_time(void) {
  on(SIGUSR2, count, 0);
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR2;
  timer_t timer;
  struct itimerspec at = {{0, 0}, {0, 0}};
  timer_create(CLOCK_REALTIME, &event, &timer);
  clock_gettime(CLOCK_REALTIME, &at.it_value);
  double begun = MPI_Wtime();
  at.it_value.tv_sec += 1;
  timer_settime(timer, TIMER_ABSTIME, &at, NULL);
  struct timespec wait = {2, 0}, left = {0, 0};
  CHECK(nanosleep(&wait, &left) == -1 && errno == EINTR);
  CHECK(signals == 1 && about(MPI_Wtime() - begun, 1));
  CHECK(about((double)left.tv_sec + (double)left.tv_nsec * 1e-9, 1));
  timer_delete(timer);
}

/* Read, polled for, and counted when nobody came to read. */
static void timer_file(void) {
  int file = timerfd_create(CLOCK_MONOTONIC, 0);
  struct itimerspec every = {{0, 250000}, {0, 100000}};
  uint64_t times = 0;
  double begun = MPI_Wtime();
  timerfd_settime(file, 0, &every, NULL);
  CHECK(read(file, &times, sizeof times) == sizeof times && times == 1);
  CHECK(about(MPI_Wtime() - begun, 100e-6));
  struct pollfd one = {file, POLLIN, 0};
  CHECK(poll(&one, 1, 1000) == 1 && one.revents == POLLIN);
  CHECK(about(MPI_Wtime() - begun, 350e-6));
  usleep(600); /* till 950 us: 350, 600, 850 */
  CHECK(read(file, &times, sizeof times) == sizeof times && times == 3);
  int set = epoll_create1(0);
  struct epoll_event event = {EPOLLIN, {.u32 = 9}};
  epoll_ctl(set, EPOLL_CTL_ADD, file, &event);
  memset(&event, 0, sizeof event);
  CHECK(epoll_wait(set, &event, 1, 1000) == 1 && event.data.u32 == 9);
  CHECK(about(MPI_Wtime() - begun, 1100e-6));
  close(set);
  close(file);
}

static void waits_with_limits(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  struct pollfd one = {ends[0], POLLIN, 0};
  double begun = MPI_Wtime();
  CHECK(poll(&one, 1, 3) == 0 && about(MPI_Wtime() - begun, 3e-3));
  begun = MPI_Wtime();
  struct timeval limit = {0, 700};
  fd_set set;
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  CHECK(select(ends[0] + 1, &set, NULL, NULL, &limit) == 0 && about(MPI_Wtime() - begun, 700e-6));
  begun = MPI_Wtime();
  CHECK(write(ends[1], "x", 1) == 1);
  CHECK(poll(&one, 1, 1000) == 1 && about(MPI_Wtime() - begun, 0));
  close(ends[0]), close(ends[1]);
}

static void waits_for_signals(void) {
  sigset_t set, before;
  siginfo_t facts;
  struct timespec limit = {0, 500000};
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  sigprocmask(SIG_BLOCK, &set, &before);
  double begun = MPI_Wtime();
  CHECK(sigtimedwait(&set, &facts, &limit) == -1 && errno == EAGAIN && about(MPI_Wtime() - begun, 500e-6));
  struct itimerval once = {{0, 0}, {0, 250}};
  int number = 0;
  begun = MPI_Wtime();
  setitimer(ITIMER_REAL, &once, NULL);
  CHECK(sigwait(&set, &number) == 0 && number == SIGALRM && about(MPI_Wtime() - begun, 250e-6));
  on(SIGALRM, count, 0);
  raise(SIGALRM); /* is held back until it may come */
  CHECK(signals == 0);
  sigprocmask(SIG_SETMASK, &before, NULL);
  CHECK(signals == 1);
}

/* Blocked but for the wait: the library's own threads, which let it in, must not get it. */
static void suspended(void) {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  sigprocmask(SIG_BLOCK, &set, &before);
  on(SIGALRM, count, 0);
  struct itimerval once = {{0, 0}, {0, 350}};
  double begun = MPI_Wtime();
  setitimer(ITIMER_REAL, &once, NULL);
  CHECK(sigsuspend(&before) == -1 && errno == EINTR && signals == 1);
  CHECK(about(MPI_Wtime() - begun, 350e-6));
  sigprocmask(SIG_SETMASK, &before, NULL);
}

static void raised(void) {
  struct sigaction action, before;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = note;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, &before);
  signals = 0;
  union sigval value = {.sival_int = 31};
  raise(SIGUSR1);
  CHECK(signals == 1 && last_signal == SIGUSR1);
  sigqueue(getpid(), SIGUSR1, value);
  CHECK(signals == 2 && last_value == 31);
  sigaction(SIGUSR1, &before, NULL);
}

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* All clocks move alike. */
static void clocks(void) {
  struct timeval a, b;
  double w = MPI_Wtime(), m = now(CLOCK_MONOTONIC), r = now(CLOCK_REALTIME), t = now(CLOCK_BOOTTIME);
  gettimeofday(&a, NULL);
  struct timespec wait = {0, 7000000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, NULL);
  gettimeofday(&b, NULL);
  CHECK(about(MPI_Wtime() - w, 7e-3) && about(now(CLOCK_MONOTONIC) - m, 7e-3));
  CHECK(about(now(CLOCK_REALTIME) - r, 7e-3) && about(now(CLOCK_BOOTTIME) - t, 7e-3));
  CHECK(about((double)(b.tv_sec - a.tv_sec) + (double)(b.tv_usec - a.tv_usec) * 1e-6, 7e-3));
  clock_gettime(CLOCK_MONOTONIC, &wait);
  wait.tv_sec += 2;
  w = MPI_Wtime();
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wait, NULL);
  CHECK(about(MPI_Wtime() - w, 2));
}

int main(int argc, char** argv) {
  static const struct Case cases[] = {{"alarm_in_sleep", alarm_in_sleep},
                                      {"alarm_cancelled", alarm_cancelled},
                                      {"alarm_and_pause", alarm_and_pause},
                                      {"interval", interval},
                                      {"interval_left", interval_left},
                                      {"during_receive", during_receive},
                                      {"timer_with_signal", timer_with_signal},
                                      {"timer_at_a_time", timer_at_a_time},
                                      {"timer_file", timer_file},
                                      {"waits_with_limits", waits_with_limits},
                                      {"waits_for_signals", waits_for_signals},
                                      {"suspended", suspended},
                                      {"raised", raised},
                                      {"clocks", clocks}};
  return suite(argc, argv, MPI_THREAD_SINGLE, "suite_signals", cases, COUNT_OF(cases));
}
