/* A put of RMA2 between ranks that tell each other their addresses by MPI. */
#include <mpi.h>
#include <rma2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBytes = 8192, kPut = 4000 };

int main(int argc, char** argv) {
  int rank, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  RMA2_Port port;
  RMA2_Handle handle;
  RMA2_Region* region;
  RMA2_Notification* n;
  char* buffer;
  if (rma2_open(&port) != RMA2_SUCCESS || posix_memalign((void**)&buffer, 4096, kBytes)) return 2;
  memset(buffer, rank ? 0 : 'w', kBytes);
  if (rma2_register(port, buffer, kBytes, &region) != RMA2_SUCCESS) return 3;
  struct {
    RMA2_Nodeid node;
    RMA2_VPID vpid;
    RMA2_NLA nla;
  } mine, theirs;
  memset(&mine, 0, sizeof mine);
  mine.node = rma2_get_nodeid(port);
  mine.vpid = rma2_get_vpid(port);
  rma2_get_nla(region, 0, &mine.nla);
  MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, 1 - rank, 0, &theirs, sizeof theirs, MPI_BYTE, 1 - rank, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rma2_connect(port, theirs.node, theirs.vpid, RMA2_CONN_DEFAULT, &handle) != RMA2_SUCCESS) return 4;
  if (rank == 0 && rma2_post_put_bt(port, handle, region, 0, kPut, theirs.nla, RMA2_REQCOMPL_NOTIFICATION,
                                    RMA2_CMD_DEFAULT) != RMA2_SUCCESS)
    return 5;
  if (rma2_noti_get_block(port, &n) != RMA2_SUCCESS) return 6;
  rma2_noti_free(port, n);
  if (rank == 1) {
    for (int i = 0; i < kBytes; ++i) wrong += buffer[i] != (i < kPut ? 'w' : 0);
    printf("put of %d bytes: %d wrong\n", kPut, wrong);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  rma2_disconnect(port, handle);
  rma2_unregister(port, region);
  rma2_close(port);
  MPI_Finalize();
  return wrong != 0;
}
