/* Ranks 0 and 1 play ping-pong and check every byte; rank 2 writes garbage into all it shares with the
 * simulator. With a second argument it keeps quiet instead. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <weft.h>

static uint64_t state;
static uint64_t next(void) {
  state += 0x9e3779b97f4a7c15ull;
  uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9ull;
  return z ^ (z >> 27);
}

static void play(weft_port* port, int rank) {
  weft_address peer;
  if (weft_lookup(port, 1 - rank, 0, &peer) < 0) exit(1);
  for (int i = 0; i < 400; ++i) {
    unsigned char data[64];
    weft_message m;
    if (i % 2 == rank) {
      memset(data, i, sizeof data);
      if (weft_send(port, peer, data, sizeof data, (uint32_t)i, 0, 0) < 0) exit(1);
      continue;
    }
    while (weft_receive(port, data, sizeof data, &m) == 0) weft_wait_for(port, 1 - rank, -1);
    for (unsigned k = 0; k < sizeof data; ++k)
      if (m.tag != (uint32_t)i || data[k] != (unsigned char)i) exit(1);
  }
  printf("rank %d is done at %.3f us\n", rank, (double)weft_now_ps() / 1e6);
}

int main(int argc, char** argv) {
  state = argc > 1 ? (uint64_t)atoll(argv[1]) : 1;
  int rank = weft_rank(), quiet = argc > 2;
  weft_port* port;
  if (weft_open(&port) < 0) return 1;
  if (rank < 2) {
    play(port, rank);
    return weft_close(port);
  }
  int file = atoi(getenv("WEFT_SEGMENT"));
  struct stat info;
  fstat(file, &info);
  unsigned char* segment = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (segment == MAP_FAILED) return 1;
  size_t ports = 8192,
         size = (size_t)info.st_size; /* header and lanes come first: without them it could not wait */
  for (int i = 0; i < 300; ++i) {
    for (int k = 0; !quiet && k < 200; ++k) {
      size_t near = next() % 2 ? ports + next() % 32768 : ports + next() % (size - ports - 8);
      uint64_t value = next() % 3 ? next() : next() % 8;
      memcpy(segment + near, &value, 1 + next() % 8);
    }
    weft_wait(port, 500);
  }
  return 0;
}
