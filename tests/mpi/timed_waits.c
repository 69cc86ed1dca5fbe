/* MPI_THREAD_MULTIPLE: waits for another thread that end with a deadline, in virtual time. Prints the times,
 * so that two runs can be compared. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t calendar = PTHREAD_COND_INITIALIZER, uptime;
static sem_t semaphore;
static int rounds_told[3];

static struct timespec after(clockid_t clock, double seconds) {
  struct timespec t;
  clock_gettime(clock, &t);
  long nanoseconds = t.tv_nsec + (long)(seconds * 1e9);
  t.tv_sec += nanoseconds / 1000000000;
  t.tv_nsec = nanoseconds % 1000000000;
  return t;
}

/* Waits in one of the ways there are, until the round is told of or the time is over. */
static int wait_for(int way, int round, double seconds) {
  struct timespec until = after(way == 1 ? CLOCK_MONOTONIC : CLOCK_REALTIME, seconds);
  int result = 0;
  if (way == 2) return sem_timedwait(&semaphore, &until) == 0 ? 0 : errno;
  pthread_mutex_lock(&mutex);
  while (rounds_told[way] < round && result == 0)
    result = pthread_cond_timedwait(way == 1 ? &uptime : &calendar, &mutex, &until);
  pthread_mutex_unlock(&mutex);
  return result;
}

static void tell(int way, int round) {
  if (way == 2) {
    sem_post(&semaphore);
    return;
  }
  pthread_mutex_lock(&mutex);
  rounds_told[way] = round;
  pthread_cond_signal(way == 1 ? &uptime : &calendar);
  pthread_mutex_unlock(&mutex);
}

/* Tells of round 1 after 300 us, and of round 2 when a message has come, 200 us later. */
static void* teller(void* p) {
  (void)p;
  for (int way = 0; way < 3; ++way) {
    int got = -1;
    MPI_Recv(&got, 1, MPI_INT, (rank + 1) % size, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == way);
    usleep(300);
    tell(way, 1);
    MPI_Recv(&got, 1, MPI_INT, (rank + 1) % size, 10 + way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == 10 + way);
    tell(way, 2);
  }
  return NULL;
}

static int about(double seconds, double expected) { return fabs(seconds - expected) < 20e-6; }

int main(int argc, char** argv) {
  int provided, left;
  pthread_t thread;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&uptime, &attributes);
  sem_init(&semaphore, 0, 0);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  left = (rank + size - 1) % size;
  pthread_create(&thread, NULL, teller, NULL);
  for (int way = 0; way < 3; ++way) {
    int number = way;
    double begin = MPI_Wtime();
    CHECK(wait_for(way, 1, 1e-3) == ETIMEDOUT); /* nobody tells */
    CHECK(about(MPI_Wtime() - begin, 1e-3));
    begin = MPI_Wtime();
    MPI_Send(&number, 1, MPI_INT, left, way, MPI_COMM_WORLD);
    CHECK(wait_for(way, 1, 0.9) == 0);
    CHECK(about(MPI_Wtime() - begin, 300e-6));
    begin = MPI_Wtime();
    usleep(200);
    number = 10 + way;
    MPI_Send(&number, 1, MPI_INT, left, 10 + way, MPI_COMM_WORLD);
    CHECK(wait_for(way, 2, 0.9) == 0);
    CHECK(about(MPI_Wtime() - begin, 200e-6));
  }
  pthread_join(thread, NULL);
  printf("rank %d: done at %.9f\n", rank, MPI_Wtime());
  return end("timed_waits");
}
