/* Several mailboxes of a process. */
#include "velo2_pair.h"

int main(void) {
  set_up();
  velo2_port_t more[3];
  for (int i = 0; i < 3; ++i) {
    CHECK(velo2_open(&more[i]) == VELO2_RET_SUCCESS);
    CHECK(velo2_get_vpid(&more[i]) != velo2_get_vpid(&port) &&
          velo2_get_nodeid(&more[i]) == velo2_get_nodeid(&port));
    velo2_connection_t to;
    CHECK(velo2_connect(&port, &to, velo2_get_nodeid(&more[i]), velo2_get_vpid(&more[i])) ==
          VELO2_RET_SUCCESS);
    CHECK(velo2_send(&to, &i, sizeof i, 0, 1) == VELO2_RET_SUCCESS);
  }
  for (int i = 2; i >= 0; --i) {
    int in;
    CHECK(velo2_recv(&more[i], &in, sizeof in, NULL, NULL, NULL, 1) == VELO2_RET_SUCCESS && in == i);
    CHECK(velo2_close(&more[i]) == VELO2_RET_SUCCESS);
  }
  velo2_port_t all[64];
  int opened = 0;
  while (opened < 64 && velo2_open(&all[opened]) == VELO2_RET_SUCCESS) ++opened;
  CHECK(opened < 64 && velo2_open(&all[opened]) == VELO2_RET_INVALID_MBOX);
  while (opened) CHECK(velo2_close(&all[--opened]) == VELO2_RET_SUCCESS);
  return tear_down("velo2_ports");
}
