/* Devices of a node, tried from a program: a timer's interrupt, a wait that ends in time, a device that is
 * not there. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "weft.h"

static int timer(void) {
  weft_device* device;
  int result = weft_open_device("clock", &device);
  if (result) return printf("open: %s\n", strerror(-result)), 1;
  int64_t begin = weft_now_ps();
  weft_write_register(device, 0, 5);
  result = weft_wait_device(device, -1);
  printf("interrupt %d after %lld ns\n", result, (long long)((weft_now_ps() - begin) / 1000));
  begin = weft_now_ps();
  result = weft_wait_device(device, 2000);
  printf("%s after %lld ns\n", result == -ETIMEDOUT ? "nothing" : "something",
         (long long)((weft_now_ps() - begin) / 1000));
  uint64_t fired = 0;
  weft_read_register(device, 8, &fired);
  printf("fired %llu\n", (unsigned long long)fired);
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "timer") == 0) return timer();
  weft_device* device;
  if (argc > 1 && strcmp(argv[1], "hang") == 0) {
    if (weft_open_device("copy", &device)) return 1;
    return weft_wait_device(device, -1);
  }
  printf("other: %s\n", strerror(-weft_open_device("other", &device)));
  printf("long: %s\n", strerror(-weft_open_device("a-name-that-is-longer-than-a-device-has", &device)));
  if (weft_open_device("nic", &device)) return 1;
  uint64_t node = 99, ports = 0, none = 0;
  int64_t begin = weft_now_ps();
  weft_read_register(device, 0, &node);
  printf("read in %lld ns\n", (long long)((weft_now_ps() - begin) / 1000));
  weft_read_register(device, 8, &ports);
  weft_read_register(device, 4096, &none);
  printf("nic of node %llu: %llu ports, %llx\n", (unsigned long long)node, (unsigned long long)ports,
         (unsigned long long)none);
  return 0;
}
