/* Copies a buffer with the DMA engine of the node, and says how long it took in virtual time.
 *
 *   weft run torus --set 'node.device.copy.kind="dma"' -n 1 -- dma_copy 1048576
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weft.h"

static void must(const char* what, int result) {
  if (result == 0) return;
  fprintf(stderr, "%s: %s\n", what, strerror(-result));
  exit(1);
}

int main(int argc, char** argv) {
  size_t length = argc > 1 ? strtoul(argv[1], NULL, 0) : 1 << 20;
  unsigned char *from = malloc(length + 1), *to = calloc(length + 1, 1);
  if (!from || !to) return 1;
  for (size_t i = 0; i < length; ++i) from[i] = (unsigned char)(i * 31 + i / 251);

  weft_device* engine;
  must("open the device 'copy'", weft_open_device("copy", &engine));
  int64_t begin = weft_now_ps();
  must("source", weft_write_register(engine, WEFT_DMA_SOURCE_SPACE, (uint64_t)weft_space()));
  must("source", weft_write_register(engine, WEFT_DMA_SOURCE_ADDRESS, (uint64_t)(uintptr_t)from));
  must("target", weft_write_register(engine, WEFT_DMA_TARGET_SPACE, (uint64_t)weft_space()));
  must("target", weft_write_register(engine, WEFT_DMA_TARGET_ADDRESS, (uint64_t)(uintptr_t)to));
  must("length", weft_write_register(engine, WEFT_DMA_LENGTH, length));
  must("doorbell", weft_write_register(engine, WEFT_DMA_DOORBELL, 1));
  must("interrupt", weft_wait_device(engine, -1));
  int64_t end = weft_now_ps();

  uint64_t status = 0;
  must("status", weft_read_register(engine, WEFT_DMA_STATUS, &status));
  int same = memcmp(from, to, length) == 0;
  printf("%zu bytes in %.3f us: status %llu, %s\n", length, (double)(end - begin) / 1e6,
         (unsigned long long)status, same ? "all there" : "not the same");
  weft_close_device(engine);
  return status == WEFT_DMA_DONE_WELL && same ? 0 : 1;
}
