/* Buffers of MPI in memory of an accelerator: messages of many lengths between devices, from device to host
 * and back, and puts into a window on the device. `window`: with the window. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

static int rank;
static weft_device* device;

static void must(int result, const char* what) {
  if (result >= 0) return;
  printf("rank %d: %s: %s\n", rank, what, strerror(-result));
  MPI_Abort(MPI_COMM_WORLD, 9);
}

static void pattern(unsigned char* to, size_t bytes, unsigned seed) {
  for (size_t i = 0; i < bytes; ++i) to[i] = (unsigned char)(i * 31 + i / 253 + seed);
}

static void check(const unsigned char* buffer, size_t bytes, unsigned seed, const char* what) {
  for (size_t i = 0; i < bytes; ++i)
    if (buffer[i] != (unsigned char)(i * 31 + i / 253 + seed)) {
      printf("rank %d: %s: byte %zu of %zu is wrong\n", rank, what, i, bytes);
      MPI_Abort(MPI_COMM_WORLD, 9);
    }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const size_t most = 1 << 20;
  unsigned char *on_device, *in, *host = malloc(most);
  must(weft_open_device("acc", &device), "device");
  must(weft_device_memory(device, most, (void**)&on_device), "memory");
  must(weft_device_memory(device, most, (void**)&in), "memory");
  const size_t lengths[] = {0, 1, 8, 100, 1000, 4096, 65536, 300000, 1 << 20};
  for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
    const int bytes = (int)lengths[i];
    pattern(host, lengths[i], i + (unsigned)rank);
    if (bytes) must(weft_device_copy(on_device, host, lengths[i]), "copy");
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    if (rank == 0) {
      MPI_Send(on_device, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
      MPI_Recv(in, bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      printf("%d bytes: half a round trip of %.3f us\n", bytes, (MPI_Wtime() - begin) * 5e5);
    } else {
      MPI_Recv(in, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(on_device, bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
    if (bytes) must(weft_device_copy(host, in, lengths[i]), "copy");
    check(host, lengths[i], i + 1 - (unsigned)rank, "received on the device");
    /* From the device to the host and from the host to the device, before and after the receive. */
    MPI_Request requests[2];
    pattern(host, lengths[i], i + 7 + (unsigned)rank);
    unsigned char* other = malloc(most);
    MPI_Irecv(rank ? other : in, bytes, MPI_BYTE, 1 - rank, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(rank ? host : on_device, bytes, MPI_BYTE, 1 - rank, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (rank == 0 && bytes) must(weft_device_copy(other, in, lengths[i]), "copy");
    check(other, lengths[i], rank ? i : i + 8, "between device and host");
    free(other);
  }
  if (argc > 1 && strcmp(argv[1], "window") == 0) {
    MPI_Win window;
    pattern(host, 65536, 77);
    must(weft_device_copy(on_device, host, 65536), "copy");
    MPI_Win_create(in, (MPI_Aint)most, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    if (rank == 0) MPI_Put(on_device, 65536, MPI_BYTE, 1, 4096, 65536, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    if (rank == 1) {
      must(weft_device_copy(host, in + 4096, 65536), "copy");
      check(host, 65536, 77, "put into a window on the device");
      printf("the window on the device has it\n");
    }
    MPI_Win_free(&window);
  }
  if (rank == 0) printf("all buffers right\n");
  must(weft_device_free(in), "free");
  must(weft_device_free(on_device), "free");
  MPI_Finalize();
  return 0;
}
