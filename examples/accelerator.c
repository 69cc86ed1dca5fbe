/* Offloads kernels to the compute accelerator of the node: copies data in, multiplies matrices and adds
 * vectors there, copies the results out, checks them against the processor's, and says how long each kernel
 * took over 1, 2, 4, ... blocks in virtual time.
 *
 *   weft run torus --set 'node.device.acc.kind="compute"' -n 1 -- accelerator 64
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weft.h"

static weft_device* device;

static void must(const char* what, int result) {
  if (result == 0) return;
  fprintf(stderr, "%s: %s\n", what, strerror(-result));
  exit(1);
}

static uint64_t at(const double* memory) {
  uint64_t offset = 0;
  must("offset", weft_device_offset(memory, &offset));
  return offset;
}

static uint64_t bits(double value) {
  uint64_t out;
  memcpy(&out, &value, sizeof out);
  return out;
}

/* Picoseconds of a kernel, as the device has measured it. */
static uint64_t run(uint64_t command, const uint64_t* arguments, unsigned count) {
  uint64_t status = 0, time = 0;
  must("command", weft_command(device, command, arguments, count, 1));
  must("interrupt", weft_wait_device(device, -1));
  must("status", weft_read_register(device, WEFT_COMPUTE_STATUS, &status));
  if (status != WEFT_COMPUTE_DONE_WELL) {
    fprintf(stderr, "command %llu: status %llu\n", (unsigned long long)command, (unsigned long long)status);
    exit(1);
  }
  must("time", weft_read_register(device, WEFT_COMPUTE_TIME, &time));
  return time;
}

int main(int argc, char** argv) {
  size_t n = argc > 1 ? strtoul(argv[1], NULL, 0) : 64, all = n * n;
  must("open the device 'acc'", weft_open_device("acc", &device));
  double *a = malloc(all * 8), *b = malloc(all * 8), *c = malloc(all * 8), *y = malloc(all * 8), dot = 0;
  void* memory;
  must("memory", weft_device_memory(device, 4 * all * 8 + 8, &memory));
  double *da = memory, *db = da + all, *dc = db + all, *dy = dc + all, *sum = dy + all;
  if (!a || !b || !c || !y) return 1;
  for (size_t i = 0; i < all; ++i) {
    a[i] = (double)(i % 17) - 8;
    b[i] = (double)(i % 23) * 0.25;
  }

  int64_t begin = weft_now_ps();
  must("copy in", weft_device_copy(da, a, all * 8));
  int64_t end = weft_now_ps();
  printf("copy of %zu bytes in %.3f us\n", all * 8, (double)(end - begin) / 1e6);
  must("copy in", weft_device_copy(db, b, all * 8));

  uint64_t blocks = 0;
  must("blocks", weft_read_register(device, WEFT_COMPUTE_BLOCKS, &blocks));
  const uint64_t multiply[] = {at(dc), at(da), at(db), n, n, n}, fill[] = {at(dc), all, bits(0)};
  const uint64_t copy[] = {at(dy), at(db), all}, axpy[] = {at(dy), at(da), all, bits(3)};
  const uint64_t product[] = {at(sum), at(da), at(dy), all};
  for (uint64_t use = 1; use <= blocks; use *= 2) {
    must("use", weft_write_register(device, WEFT_COMPUTE_USE, use));
    run(WEFT_COMPUTE_FILL, fill, 3);
    double multiplied = (double)run(WEFT_COMPUTE_MULTIPLY, multiply, 6) / 1e6;
    double copied = (double)run(WEFT_COMPUTE_STREAM, copy, 3) / 1e6;
    double added = (double)run(WEFT_COMPUTE_AXPY, axpy, 4) / 1e6;
    double summed = (double)run(WEFT_COMPUTE_DOT, product, 4) / 1e6;
    printf("%llu blocks: multiply %.6f us, stream %.6f us, axpy %.6f us, dot %.6f us\n",
           (unsigned long long)use, multiplied, copied, added, summed);
  }

  must("copy out", weft_device_copy(c, dc, all * 8));
  must("copy out", weft_device_copy(y, dy, all * 8));
  must("copy out", weft_device_copy(&dot, sum, 8));
  double expected = 0;
  int wrong = 0;
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j) {
      double cell = 0, added = b[i * n + j] + 3 * a[i * n + j];
      for (size_t k = 0; k < n; ++k) cell += a[i * n + k] * b[k * n + j];
      wrong += fabs(cell - c[i * n + j]) > 1e-9 || added != y[i * n + j];
      expected += a[i * n + j] * added;
    }
  wrong += fabs(expected - dot) > 1e-9 * fabs(expected);
  printf("%s\n", wrong ? "results differ" : "all results right");
  must("free", weft_device_free(memory));
  weft_close_device(device);
  return wrong != 0;
}
