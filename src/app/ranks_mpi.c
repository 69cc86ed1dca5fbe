/* Ranks by MPI. */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/ranks_plugin.h"

static struct weft_ranks self;
static MPI_Request* sends;

/* What an int counts. A window is a few cycles: more than this never crosses in one. */
static const uint64_t kMostBytes = INT_MAX;
enum { kTag = 1 };

static void exchange(const void* const* out, const uint64_t* bytes, weft_ranks_room room, void* context) {
  for (unsigned r = 0; r < self.count; ++r) {
    sends[r] = MPI_REQUEST_NULL;
    if (r == self.rank) continue;
    if (bytes[r] > kMostBytes) {
      fprintf(stderr,
              "weft: more than 2 GiB cross between two ranks in a window of cycles; take more ranks\n");
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Isend(out[r], (int)bytes[r], MPI_BYTE, (int)r, kTag, MPI_COMM_WORLD, &sends[r]);
  }
  for (unsigned r = 0; r < self.count; ++r) {
    if (r == self.rank) continue;
    MPI_Message message;
    MPI_Status status;
    int size = 0;
    MPI_Mprobe((int)r, kTag, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_BYTE, &size);
    MPI_Mrecv(room(context, r, (uint64_t)size), size, MPI_BYTE, &message, MPI_STATUS_IGNORE);
  }
  MPI_Waitall((int)self.count, sends, MPI_STATUSES_IGNORE);
}

static void reduce(uint64_t* values, uint64_t count, MPI_Op op) {
  const uint64_t most = 1u << 27;
  for (uint64_t at = 0; at < count; at += most)
    MPI_Allreduce(MPI_IN_PLACE, values + at, (int)(count - at < most ? count - at : most), MPI_UINT64_T, op,
                  MPI_COMM_WORLD);
}

static void sum(uint64_t* values, uint64_t count) { reduce(values, count, MPI_SUM); }
static void most(uint64_t* values, uint64_t count) { reduce(values, count, MPI_MAX); }

static int finish(unsigned seconds) {
  MPI_Request all;
  MPI_Ibarrier(MPI_COMM_WORLD, &all);
  const double until = MPI_Wtime() + seconds;
  for (int here = 0; !here;) {
    MPI_Test(&all, &here, MPI_STATUS_IGNORE);
    if (!here && seconds && MPI_Wtime() > until) return 0;
    if (!here) usleep(1000);
  }
  MPI_Finalize();
  return 1;
}

static void give_up(int status) { MPI_Abort(MPI_COMM_WORLD, status); }

const struct weft_ranks* weft_ranks_start(void) {
  int provided = 0, rank = 0, count = 0;
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) return NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  self.rank = (unsigned)rank;
  self.count = (unsigned)count;
  self.exchange = exchange;
  self.sum = sum;
  self.most = most;
  self.finish = finish;
  self.give_up = give_up;
  sends = calloc(self.count, sizeof *sends);
  return &self;
}
