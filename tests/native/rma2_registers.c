/* Registers of chips over connections to them: read from anywhere, written by those who have the right. */
#include "rma2_pair.h"

static RMA2_Handle registers;

static RMA2_NLA at(const char* name, uint64_t index) {
  int64_t offset = weft_register_offset(name, index);
  CHECK(offset >= 0);
  return (RMA2_NLA)offset;
}
static RMA2_NLA of_router(unsigned router, RMA2_NLA address) {
  return (uint64_t)(router + 1) << 40 | address;
}

static uint64_t field(const char* name, uint64_t value) {
  uint64_t out;
  CHECK(weft_register_field(name, value, &out) == 0);
  return out;
}

/* The register, once it is in memory. */
static uint64_t read_one(RMA2_Handle to, RMA2_NLA address) {
  memset(buffer, 0xff, 8);
  CHECK(rma2_post_get_qw_direct(port, to, here, 8, address, RMA2_REQCOMPL_NOTIFICATION, RMA2_CMD_DEFAULT) ==
        RMA2_SUCCESS);
  RMA2_Notification n = expect(RMA2_REQUESTER_NOTIFICATION, RMA2_QW_GET);
  CHECK(rma2_noti_get_mode(&n) & RMA2_NOTI_RRA);
  n = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_GET_QW_RSP);
  CHECK(rma2_noti_get_error(&n) == 0 && rma2_noti_get_size(&n) == 8);
  CHECK(rma2_noti_get_local_address(&n) == here);
  uint64_t value;
  memcpy(&value, buffer, 8);
  return value;
}

/* 0, or the bits of the error. */
static unsigned write_one(RMA2_Handle to, RMA2_NLA address, uint64_t value) {
  CHECK(rma2_post_immediate_put(port, to, 8, value, address, RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT) ==
        RMA2_SUCCESS);
  RMA2_Notification n = expect(RMA2_COMPLETER_NOTIFICATION, RMA2_IMMEDIATE_PUT);
  if (rma2_noti_get_error(&n) == 0) CHECK(rma2_noti_get_local_address(&n) == address);
  return rma2_noti_get_error(&n);
}

static void read_what_the_other_is(void) {
  uint64_t identity = read_one(registers, at("chip.identity", 0));
  CHECK(field("chip.identity.node", identity) == other_node);
  const unsigned router = (unsigned)field("chip.identity.router", identity);
  CHECK(field("chip.kind.router", read_one(registers, at("chip.kind", 0))) == 0);
  /* Of its router, through any node: who is at its port is the interface we asked before. */
  RMA2_NLA kind = of_router(router, at("chip.kind", 0));
  CHECK(field("chip.kind.router", read_one(registers, kind)) == 1);
  CHECK(field("chip.machine.endpoints", read_one(registers, at("chip.machine", 0))) ==
        rma2_get_node_num(port));
  /* Four at once, as bytes. */
  CHECK(rma2_post_get_bt(port, registers, region, 64, 32, at("chip.identity", 0), RMA2_COMPLETER_NOTIFICATION,
                         RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
  expect(RMA2_COMPLETER_NOTIFICATION, RMA2_GET_BT_RSP);
  CHECK(memcmp(buffer + 64, &identity, 8) == 0);
}

static void write_what_one_may(void) {
  RMA2_Handle mine;
  CHECK(rma2_connect(port, rma2_get_nodeid(port), rma2_get_vpid(port),
                     (RMA2_Connection_Options)(RMA2_CONN_RRA | RMA2_CONN_TE), &mine) == RMA2_SUCCESS);
  const RMA2_NLA scratch = at("chip.scratch", 0), mark = at("chip.mark", 0);
  const uint64_t value = 0x1122334455667788u + (unsigned)me();
  CHECK(write_one(mine, scratch, value) == 0);
  CHECK(read_one(mine, scratch) == value);
  CHECK(write_one(mine, mark, 5) == (me() == 0 ? 0 : RMA2_ERROR_CMPL)); /* node 0 is the manager */
  CHECK(read_one(mine, mark) == (me() == 0 ? 5 : 0));
  CHECK(write_one(mine, at("chip.identity", 0), 1) == RMA2_ERROR_CMPL); /* hardware's alone */
  meet();
  /* What belongs to the other node is the manager's to write, and nobody else's. */
  const uint64_t before = read_one(registers, scratch);
  CHECK(before == 0x1122334455667788u + (unsigned)(1 - me()));
  meet();
  CHECK(write_one(registers, scratch, 7) == (me() == 0 ? 0 : RMA2_ERROR_CMPL));
  CHECK(write_one(registers, at("chip.manager", 0), 1) == (me() == 0 ? 0 : RMA2_ERROR_CMPL));
  CHECK(read_one(registers, scratch) == (me() == 0 ? 7 : before));
  meet();
  /* The manager of that chip is node 1 now; of its own, node 0 is. */
  CHECK(write_one(mine, mark, 9) == 0);
  CHECK(rma2_disconnect(port, mine) == RMA2_SUCCESS);
}

static void be_refused(void) {
  /* No such register, by a get and by a put. */
  CHECK(rma2_post_get_qw_direct(port, registers, here, 8, 0x7fff000, RMA2_NO_NOTIFICATION,
                                RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
  RMA2_Notification n = expect(RMA2_RESPONDER_NOTIFICATION, RMA2_QW_GET);
  CHECK(rma2_noti_get_error(&n) == RMA2_ERROR_RESP);
  CHECK(write_one(registers, 0x7fff000, 1) == RMA2_ERROR_CMPL);
  /* Found before anything is sent: half a register, one not at its place, more than a packet carries, a
   * router there is none of. */
  CHECK(rma2_post_immediate_put(port, registers, 4, 1, at("chip.scratch", 0), RMA2_NO_NOTIFICATION,
                                RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
  n = expect(RMA2_REQUESTER_NOTIFICATION, RMA2_IMMEDIATE_PUT);
  CHECK(rma2_noti_get_error(&n) == RMA2_ERROR_REQ);
  CHECK(rma2_post_get_bt_direct(port, registers, here, 8, at("chip.scratch", 0) + 4, RMA2_NO_NOTIFICATION,
                                RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
  n = expect(RMA2_REQUESTER_NOTIFICATION, RMA2_BT_GET);
  CHECK(rma2_noti_get_error(&n) == RMA2_ERROR_REQ);
  CHECK(rma2_post_get_qw_direct(port, registers, here, 2048, 0, RMA2_NO_NOTIFICATION, RMA2_CMD_DEFAULT) ==
        RMA2_SUCCESS);
  n = expect(RMA2_REQUESTER_NOTIFICATION, RMA2_QW_GET);
  CHECK(rma2_noti_get_error(&n) == RMA2_ERROR_REQ);
  CHECK(rma2_post_get_qw_direct(port, registers, here, 8, of_router(60000, 0), RMA2_NO_NOTIFICATION,
                                RMA2_CMD_DEFAULT) == RMA2_SUCCESS);
  n = expect(RMA2_REQUESTER_NOTIFICATION, RMA2_QW_GET);
  CHECK(rma2_noti_get_error(&n) == RMA2_ERROR_REQ);
  /* Memory here that is not ours. */
  CHECK(rma2_post_get_qw_direct(port, registers, 8, 8, 0, RMA2_NO_NOTIFICATION, RMA2_CMD_DEFAULT) ==
        RMA2_SUCCESS);
  n = expect(RMA2_REQUESTER_NOTIFICATION, RMA2_QW_GET);
  CHECK(rma2_noti_get_error(&n) == RMA2_ERROR_REQ);
}

int main(void) {
  set_up(4096);
  CHECK(rma2_connect(port, other_node, other_vpid, RMA2_CONN_RRA, &registers) == RMA2_SUCCESS);
  read_what_the_other_is();
  write_what_one_may();
  be_refused();
  /* A chip where no process runs. */
  RMA2_Handle nobody;
  const RMA2_Nodeid last = (RMA2_Nodeid)(rma2_get_node_num(port) - 1);
  CHECK(rma2_connect(port, last, 0, RMA2_CONN_RRA, &nobody) == RMA2_SUCCESS);
  CHECK(field("chip.identity.node", read_one(nobody, at("chip.identity", 0))) == last);
  CHECK(rma2_disconnect(port, nobody) == RMA2_SUCCESS);
  CHECK(rma2_disconnect(port, registers) == RMA2_SUCCESS);
  return tear_down("rma2_registers");
}
