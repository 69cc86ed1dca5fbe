/* Started by itself, a program finds no device, and every library says so in its own words. */
#include <apenet.h>
#include <errno.h>
#include <glex.h>
#include <rma2.h>
#include <velo2.h>

int main(void) {
  RMA2_Port port;
  velo2_port_t mailbox;
  glex_device_handle_t device;
  uint32_t count = 7;
  if (rma2_open(&port) != RMA2_ERR_FD) return 1;
  if (velo2_open(&mailbox) != VELO2_RET_ERR_FDOPEN || mailbox.map) return 2;
  if (glex_num_of_device(&count) != GLEX_SUCCESS || count != 0) return 3;
  if (glex_open_device(0, &device) != GLEX_SYS_ERR) return 4;
  return rdma_open() == -ENODEV ? 0 : 5;
}
