/* Takes memory in ways whose addresses differ from run to run, and sends from it: the virtual time it prints
 * must not. repeat WAY, where WAY is heap, mmap, brk, stack, threads or windows. */
#include <alloca.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { ROUNDS = 24, KEPT = 64 };
static void* kept[KEPT];

/* Real noise in the heap, which nothing in virtual time may depend on: what the real clock and the process's
 * number say. */
static void disturb_heap(void) {
  int real[2];
  struct timespec t;
  if (pipe(real) != 0) return;
  pid_t child = fork(); /* has real clocks */
  if (child == 0) {
    clock_gettime(CLOCK_MONOTONIC, &t);
    unsigned noise = (unsigned)t.tv_nsec ^ (unsigned)getpid() * 2654435761u;
    _exit(write(real[1], &noise, sizeof noise) != sizeof noise);
  }
  unsigned noise = 1;
  if (read(real[0], &noise, sizeof noise) != sizeof noise) noise = 1;
  close(real[0]);
  close(real[1]);
  waitpid(child, NULL, 0);
  srand(noise);
  for (int i = 0; i < 40; ++i) {
    int k = rand() % KEPT;
    free(kept[k]);
    kept[k] = malloc(16 + (size_t)(rand() % 90000));
  }
}

static unsigned seed = 7;
static unsigned draw(void) { return seed = seed * 1103515245u + 12345u, seed >> 8 & 0xffff; }

static char* take(const char* way, size_t bytes) {
  if (!strcmp(way, "mmap")) {
    void* at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
  }
  if (!strcmp(way, "brk")) {
    char* at = sbrk((intptr_t)bytes);
    return at == (char*)-1 ? NULL : at;
  }
  return malloc(bytes);
}

static void give(const char* way, char* at, size_t bytes) {
  if (!strcmp(way, "mmap")) {
    munmap(at, bytes);
  } else if (!strcmp(way, "brk")) {
    if (sbrk(0) == at + bytes) sbrk(-(intptr_t)bytes); /* the heap may have grown behind it */
  } else {
    free(at);
  }
}

static void exchange(char* out, char* in, int bytes, int tag, MPI_Comm comm) {
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0; i < bytes; ++i) out[i] = (char)(rank * 7 + tag + i);
  MPI_Sendrecv(out, bytes, MPI_CHAR, right, tag, in, bytes, MPI_CHAR, left, tag, comm, MPI_STATUS_IGNORE);
  int same = 1;
  for (int i = 0; i < bytes; ++i) same &= in[i] == (char)(left * 7 + tag + i);
  CHECK(same);
}

static void on_the_stack(int bytes, int tag, int depth) {
  volatile char frame[100 + 64];
  frame[0] = (char)depth;
  if (depth > 0) return on_the_stack(bytes, tag, depth - frame[0] / depth);
  exchange(alloca((size_t)bytes), alloca((size_t)bytes), bytes, tag, MPI_COMM_WORLD);
}

struct Thread {
  MPI_Comm comm;
  int number;
};

static void* thread(void* p) {
  struct Thread* t = p;
  char stack[6000];
  for (int round = 0; round < 6; ++round) {
    int bytes = 3000 + 9000 * (round % 3) + 500 * t->number;
    char *out = malloc((size_t)bytes), *in = malloc((size_t)bytes);
    exchange(out, in, bytes, round, t->comm);
    free(in);
    free(out);
    exchange(stack, stack + 3000, 3000, 100 + round, t->comm);
  }
  return NULL;
}

static void with_threads(void) {
  enum { THREADS = 3 };
  pthread_t threads[THREADS];
  struct Thread facts[THREADS];
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < THREADS; ++i) {
      facts[i].number = i;
      MPI_Comm_dup(MPI_COMM_WORLD, &facts[i].comm);
    }
    for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, thread, &facts[i]);
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; ++i) MPI_Comm_free(&facts[i].comm);
    disturb_heap();
  }
}

static void with_windows(void) {
  for (int round = 0; round < 6; ++round) {
    int bytes = 1000 + (int)(draw() % 5) * 9000, right = (rank + 1) % size, left = (rank + size - 1) % size;
    char *memory = malloc((size_t)bytes), *out = malloc((size_t)bytes);
    MPI_Win window;
    MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    for (int i = 0; i < bytes; ++i) out[i] = (char)(rank + round + i);
    MPI_Win_fence(0, window);
    MPI_Put(out, bytes, MPI_CHAR, right, 0, bytes, MPI_CHAR, window);
    MPI_Win_fence(0, window);
    int same = 1;
    for (int i = 0; i < bytes; ++i) same &= memory[i] == (char)(left + round + i);
    CHECK(same);
    long one = 1, before = 0;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, window);
    MPI_Win_unlock(0, window);
    MPI_Win_free(&window);
    free(out);
    free(memory);
    disturb_heap();
  }
}

static void with_memory(const char* way) {
  for (int round = 0; round < ROUNDS; ++round) {
    disturb_heap();
    int bytes = 1000 + (int)(draw() % 7) * 9000;
    if (!strcmp(way, "stack")) {
      on_the_stack(bytes, round, round % 4);
      continue;
    }
    size_t all = (size_t)bytes * (size_t)size;
    char *out = take(way, all), *in = take(way, all);
    CHECK(out && in);
    for (size_t i = 0; i < all; ++i) out[i] = (char)(rank * 7 + (int)i);
    MPI_Alltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD);
    for (int q = 0; q < size; ++q) CHECK(in[(size_t)q * bytes] == (char)(q * 7 + rank * bytes));
    give(way, in, all);
    give(way, out, all);
    double sum = 0, *sums = malloc(2000 * sizeof *sums), *mine = calloc(2000, sizeof *mine);
    MPI_Allreduce(mine, sums, 2000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* memory of the library's own */
    for (int i = 0; i < 2000; ++i) sum += sums[i];
    CHECK(sum == 0);
    sums = realloc(sums, 3000 * sizeof *sums);
    exchange((char*)sums, (char*)mine, 16000, round, MPI_COMM_WORLD);
    free(mine);
    free(sums);
  }
}

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "heap";
  int threads = !strcmp(way, "threads"), given;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  disturb_heap();
  double begin_time = MPI_Wtime();
  if (threads) {
    with_threads();
  } else if (!strcmp(way, "windows")) {
    with_windows();
  } else {
    with_memory(way);
  }
  double mine = MPI_Wtime() - begin_time, all[2] = {0, 0};
  MPI_Reduce(&mine, &all[0], 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mine, &all[1], 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.9f %.9f\n", all[0], all[1]);
  return end("repeat");
}
