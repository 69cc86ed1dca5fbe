/* Registers of chips read and written from a program: what the machine is, who may change what. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "weft.h"

static uint64_t field(weft_chip chip, const char* name, uint64_t index) {
  uint64_t word = 0, value = 0;
  int64_t offset = weft_register_offset(name, index);
  int result = offset < 0 ? (int)offset : weft_register_read(chip, (uint64_t)offset, &word, 1);
  if (result) printf("%s: %s\n", name, result < 0 ? strerror(-result) : weft_status_text((unsigned)result));
  weft_register_field(name, word, &value);
  return value;
}

int main(void) {
  const weft_chip last = {3, 0};
  uint64_t router = field(last, "chip.identity.router", 0);
  int64_t begin = weft_now_ps();
  uint64_t node = field(last, "chip.identity.node", 0);
  int64_t taken = weft_now_ps() - begin;
  printf("rank %d: node %llu is on router %llu of %llu, read in %s than 300 ns\n", weft_rank(),
         (unsigned long long)node, (unsigned long long)router,
         (unsigned long long)field(last, "chip.machine.routers", 0), taken > 300000 ? "more" : "less");
  const weft_chip its_router = {0, router + 1};
  uint64_t up = 0, links = field(its_router, "chip.kind.links", 0);
  for (uint64_t p = 0; p < links; ++p) up += field(its_router, "link.state.up", p);
  printf("%llu of its %llu links are up\n", (unsigned long long)up, (unsigned long long)links);

  int result = weft_register_write(last, (uint64_t)weft_register_offset("chip.mark", 0), 40 + weft_rank());
  printf("mark: %s\n", result < 0 ? strerror(-result) : weft_status_text((unsigned)result));
  uint64_t four[4] = {0};
  result = weft_register_read(last, (uint64_t)weft_register_offset("chip.machine", 0), four, 4);
  printf("four at once: %d, manager %llu\n", result, (unsigned long long)four[1]);
  printf("beyond: %d %d %d\n", weft_register_read(last, 1 << 20, four, 1) == WEFT_BAD_RANGE,
         weft_register_read(last, 0, four, 65) == -EMSGSIZE,
         weft_register_offset("chip.marks", 0) == -ENOENT);
  return 0;
}
