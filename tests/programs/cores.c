/* Ranks that compute: `cores MICROSECONDS...`, of rank 0, 1 and so on; the last is also that of all others.
 * Each prints when it was done. With `in 8`, in as many parts, of which each ends with a look at the clock.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weft.h>

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char** argv) {
  int parts = 1;
  if (argc > 3 && strcmp(argv[1], "in") == 0) {
    parts = atoi(argv[2]);
    argv += 2;
    argc -= 2;
  }
  int which = 1 + (int)weft_rank();
  if (which >= argc) which = argc - 1;
  int64_t begin = now();
  for (int i = 0; i < parts; ++i) {
    weft_compute(1000LL * atoll(argv[which]) / parts);
    now();
  }
  printf("rank %d: %lld\n", (int)weft_rank(), (long long)(now() - begin));
  return 0;
}
