/* What reads and writes of 4 KiB of a file take, in nanoseconds: for a rank and on a Linux node alike.
 *   storage_time FILE */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kBytes = 4096, kTimes = 4 };

static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

int main(int count, char** arguments) {
  static char data[16 * kBytes];
  const int file = count == 2 ? open(arguments[1], O_CREAT | O_RDWR, 0644) : -1;
  int wrong = 0;
  memset(data, 'x', sizeof data);
  if (file < 0 || pwrite(file, data, sizeof data, 0) != sizeof data || fsync(file) != 0) return 1;
  for (int writes = 0; writes < 2; ++writes)
    for (int i = 0; i < kTimes; ++i) {
      const long before = now();
      const ssize_t done =
          writes ? pwrite(file, data, kBytes, i * kBytes) : pread(file, data, kBytes, i * kBytes);
      printf("%s %ld\n", writes ? "write" : "read", now() - before);
      wrong += done != kBytes || data[0] != 'x';
    }
  return wrong != 0;
}
