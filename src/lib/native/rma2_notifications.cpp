// The functions of rma2.h for notifications, and the text of errors.
#include <stdlib.h>
#include <string.h>

#include "lib/native/rma2_state.hpp"

namespace nic = weft::nic;
namespace lib = weft::lib;

namespace weft::lib::rma2 {

namespace {

/// The unit that tells of an event, or 0: none does.
unsigned unit_of(const nic::Event& e) {
  switch (e.kind) {
    case nic::EventKind::Local:
      return RMA2_REQUESTER_NOTIFICATION;
    case nic::EventKind::Done:
      return RMA2_COMPLETER_NOTIFICATION;
    case nic::EventKind::Responded:
      return RMA2_RESPONDER_NOTIFICATION;
    case nic::EventKind::Arrived:
      return nic::is_atomic(e.operation) ? RMA2_RESPONDER_NOTIFICATION : RMA2_COMPLETER_NOTIFICATION;
    case nic::EventKind::Failed:
      if (!e.spare[1]) return RMA2_REQUESTER_NOTIFICATION;
      return e.operation == nic::Operation::Get || nic::is_atomic(e.operation) ? RMA2_RESPONDER_NOTIFICATION
                                                                               : RMA2_COMPLETER_NOTIFICATION;
    default:
      return 0;
  }
}

/// What a lock had become. The requester tells of what was asked for alone.
std::uint64_t lock_word(const nic::Event& e) {
  std::uint64_t number = LockTag::number(e.tag);
  auto compare = static_cast<std::int64_t>(e.spare[0]), old = static_cast<std::int64_t>(e.data);
  if (e.kind == nic::EventKind::Local || e.kind == nic::EventKind::Failed)
    return std::uint64_t{static_cast<std::uint32_t>(compare)} << 32 | number;
  bool granted = old <= compare;
  std::uint64_t value = granted ? e.data + e.spare[1] : e.data;
  return std::uint64_t{static_cast<std::uint32_t>(value)} << 32 | std::uint64_t{granted} << 24 | number;
}

}  // namespace

bool notification_of(const nic::Event& e, RMA2_Notification& out) {
  const std::uint64_t unit = unit_of(e);
  if (!unit) return false;
  const bool failed = e.kind == nic::EventKind::Failed, target = e.kind == nic::EventKind::Arrived;
  std::uint64_t command, mode, size, word;
  if (nic::is_atomic(e.operation)) {
    if (e.kind == nic::EventKind::Done && !LockTag::tell_completer(e.tag)) return false;
    command = e.kind == nic::EventKind::Done ? RMA2_LOCK_RSP : RMA2_LOCK_REQ;
    mode = LockTag::mode(e.tag);
    size = 7;
    word = lock_word(e);
  } else {
    if (target && (e.tag & kSilentAtTarget)) return false;
    command = Tag::command(e.tag);
    mode = Tag::mode(e.tag);
    size = command == RMA2_NOTIFICATION_PUT ? Tag::class_number(e.tag) : (e.length - 1) & 0x7fffff;
    word = target || e.kind == nic::EventKind::Responded ? e.data : e.context;
    if (e.kind == nic::EventKind::Done && e.operation == nic::Operation::Get)
      command = command == RMA2_QW_GET ? RMA2_GET_QW_RSP : RMA2_GET_BT_RSP;
    else if (e.kind == nic::EventKind::Done)
      word = e.spare[0];  // a register has been written
  }
  out.word0.value = word;
  out.word1.value = size | std::uint64_t{e.port & 255} << 23 | std::uint64_t{e.node & 0xffff} << 32 |
                    unit << 48 | command << 51 | mode << 55 | (failed ? unit : 0) << 61;
  return true;
}

}  // namespace weft::lib::rma2

namespace {

/// Takes what the interface has told, as far as there is room; one look where nothing is in the queue.
bool look(RMA2_Port port) {
  if (port->written != port->taken) return true;
  nic::Event event;
  while (lib::take_event(port->port, event) == 1) {
    if (!lib::rma2::notification_of(event, port->queue[port->written % port->slots])) continue;
    ++port->written;
    return true;
  }
  return false;
}

RMA2_Notification* head(RMA2_Port port) { return &port->queue[port->taken % port->slots]; }

void wait(RMA2_Port port) {
  while (!look(port)) weft_wait(port->port, -1);
}

bool from(RMA2_Notification* n, RMA2_Nodeid node, RMA2_VPID vpid) {
  // Clients know it so: any port means any node, too.
  if (vpid == RMA2_VPID_ANY) return true;
  return rma2_noti_get_remote_nodeid(n) == node && rma2_noti_get_remote_vpid(n) == vpid;
}

bool is_command(unsigned found, unsigned wanted) {
  switch (wanted) {
    case RMA2_ANY:
      return true;
    case RMA2_PUTS:
      return found == RMA2_BT_PUT || found == RMA2_QW_PUT || found == RMA2_IMMEDIATE_PUT;
    case RMA2_GETS:
      return found == RMA2_BT_GET || found == RMA2_QW_GET || found == RMA2_GET_BT_RSP ||
             found == RMA2_GET_QW_RSP;
    default:
      return found == wanted;
  }
}

/// Checks the oldest notification; `block`: waits for one, whichever it is.
template <class Fits>
RMA2_ERROR match(RMA2_Port port, bool block, RMA2_Notification** out, Fits fits) {
  if (!port) return RMA2_ERR_INV_PORT;
  if (!out) return RMA2_ERR_WRONG_ARG;
  if (block) wait(port);
  if (!look(port)) return RMA2_NO_NOTI;
  if (!fits(head(port))) return RMA2_ERR_NO_MATCH;
  *out = head(port);
  return RMA2_SUCCESS;
}

RMA2_ERROR match_command(RMA2_Port port, RMA2_Command command, RMA2_Nodeid node, RMA2_VPID vpid,
                         RMA2_Notification_Spec spec, RMA2_NLA nla, int flags, bool block,
                         RMA2_Notification** out) {
  return match(port, block || (flags & RMA2_BLOCK_FLAG), out, [&](RMA2_Notification* n) {
    RMA2_NLA at = rma2_noti_get_local_address(n);
    if (flags & RMA2_MATCH_LAST_NLA_FLAG) at += rma2_noti_get_size(n) - 1;
    return is_command(rma2_noti_get_cmd(n), command) && from(n, node, vpid) &&
           rma2_noti_get_notification_type(n) == spec && (nla == RMA2_ANY_NLA || nla == at);
  });
}

RMA2_ERROR match_class(RMA2_Port port, RMA2_Class class_number, RMA2_Nodeid node, RMA2_VPID vpid, bool block,
                       RMA2_Notification** out) {
  return match(port, block, out, [&](RMA2_Notification* n) {
    return rma2_noti_get_cmd(n) == RMA2_NOTIFICATION_PUT && from(n, node, vpid) &&
           (class_number == RMA2_CLASS_ANY || rma2_noti_get_notiput_class(n) == class_number);
  });
}

RMA2_ERROR match_lock(RMA2_Port port, uint32_t lock, RMA2_Nodeid node, RMA2_VPID vpid, bool block,
                      RMA2_Notification** out) {
  return match(port, block, out, [&](RMA2_Notification* n) {
    unsigned command = rma2_noti_get_cmd(n);
    return (command == RMA2_LOCK_REQ || command == RMA2_LOCK_RSP) && from(n, node, vpid) &&
           (lock == RMA2_LOCK_ANY || rma2_noti_get_lock_number(n) == lock);
  });
}

std::uint64_t bits(RMA2_Notification* n, unsigned first, unsigned count) {
  return n->word1.value >> first & ((std::uint64_t{1} << count) - 1);
}

struct ErrorText {
  RMA2_ERROR error;
  const char* text;
};
constexpr ErrorText kErrors[] = {
    {RMA2_SUCCESS, "success"},
    {RMA2_ERR_ERROR, "error"},
    {RMA2_ERR_INV_HANDLE, "invalid handle"},
    {RMA2_ERR_INV_PORT, "invalid port"},
    {RMA2_ERR_INV_VALUE, "invalid value"},
    {RMA2_ERR_NO_ROUTE, "no route"},
    {RMA2_ERR_PORTS_USED, "all ports are in use"},
    {RMA2_ERR_NO_MEM, "no memory"},
    {RMA2_NO_NOTI, "no notification"},
    {RMA2_ERR_POLL_EXCEEDED, "waited for too long"},
    {RMA2_ERR_WRONG_ARG, "wrong argument"},
    {RMA2_ERR_NOT_YET, "not yet there"},
    {RMA2_ERR_NO_DESC_MEM, "no memory for a descriptor"},
    {RMA2_ERR_NO_MATCH, "the oldest notification is another"},
    {RMA2_ERR_WRONG_CMD, "no such command"},
    {RMA2_ERR_NO_DEVICE, "no device"},
    {RMA2_ERR_NO_CONNECT, "no connection"},
    {RMA2_ERR_INVALID_VERSION, "another version"},
    {RMA2_ERR_IOCTL, "the driver refused"},
    {RMA2_ERR_MMAP, "the driver's memory could not be mapped"},
    {RMA2_ERR_FD, "the device could not be opened"},
    {RMA2_ERR_MAP, "memory could not be registered"},
    {RMA2_ERR_DOUBLE_MAP, "memory is registered already"},
    {RMA2_ERR_NO_TABLE, "no table of addresses"},
    {RMA2_ERR_NOT_FREE, "in use"},
    {RMA2_ERR_PART, "only a part"},
    {RMA2_ERR_ATU, "address translation failed"},
    {RMA2_ERR_MLOCKLIMIT, "beyond the limit of locked memory"},
};

}  // namespace

extern "C" {

RMA2_ERROR rma2_noti_probe(RMA2_Port port, RMA2_Notification** out) {
  return match(port, false, out, [](RMA2_Notification*) { return true; });
}

RMA2_ERROR rma2_noti_get_block(RMA2_Port port, RMA2_Notification** out) {
  return match(port, true, out, [](RMA2_Notification*) { return true; });
}

RMA2_ERROR rma2_noti_free(RMA2_Port port, RMA2_Notification* notification) {
  if (!port) return RMA2_ERR_INV_PORT;
  if (port->written == port->taken || notification != head(port)) {
    fputs("rma2: only the oldest notification can be freed\n", stderr);
    abort();
  }
  notification->word1.value = 0;
  ++port->taken;
  return RMA2_SUCCESS;
}

RMA2_ERROR rma2_noti_dup(RMA2_Notification* in, RMA2_Notification* out) {
  if (!in || !out) return RMA2_ERR_WRONG_ARG;
  out->word0.value = in->word0.value;
  out->word1.value = in->word1.value;
  return RMA2_SUCCESS;
}

RMA2_ERROR rma2_noti_match(RMA2_Port port, RMA2_Command command, RMA2_Nodeid node, RMA2_VPID vpid,
                           RMA2_Notification_Spec spec, RMA2_NLA nla, int flags, RMA2_Notification** out) {
  return match_command(port, command, node, vpid, spec, nla, flags, false, out);
}
RMA2_ERROR rma2_noti_match_block(RMA2_Port port, RMA2_Command command, RMA2_Nodeid node, RMA2_VPID vpid,
                                 RMA2_Notification_Spec spec, RMA2_NLA nla, int flags,
                                 RMA2_Notification** out) {
  return match_command(port, command, node, vpid, spec, nla, flags, true, out);
}
RMA2_ERROR rma2_noti_noti_match(RMA2_Port port, RMA2_Class class_number, RMA2_Nodeid node, RMA2_VPID vpid,
                                RMA2_Notification** out) {
  return match_class(port, class_number, node, vpid, false, out);
}
RMA2_ERROR rma2_noti_noti_match_block(RMA2_Port port, RMA2_Class class_number, RMA2_Nodeid node,
                                      RMA2_VPID vpid, RMA2_Notification** out) {
  return match_class(port, class_number, node, vpid, true, out);
}
RMA2_ERROR rma2_noti_lock_match(RMA2_Port port, uint32_t lock, RMA2_Nodeid node, RMA2_VPID vpid,
                                RMA2_Notification** out) {
  return match_lock(port, lock, node, vpid, false, out);
}
RMA2_ERROR rma2_noti_lock_match_block(RMA2_Port port, uint32_t lock, RMA2_Nodeid node, RMA2_VPID vpid,
                                      RMA2_Notification** out) {
  return match_lock(port, lock, node, vpid, true, out);
}

RMA2_Command rma2_noti_get_cmd(RMA2_Notification* n) { return static_cast<RMA2_Command>(bits(n, 51, 4)); }
RMA2_Notification_Spec rma2_noti_get_notification_type(RMA2_Notification* n) {
  return static_cast<RMA2_Notification_Spec>(bits(n, 48, 3));
}
RMA2_Notification_Modifier rma2_noti_get_mode(RMA2_Notification* n) {
  return static_cast<RMA2_Notification_Modifier>(bits(n, 55, 6));
}
uint8_t rma2_noti_get_error(RMA2_Notification* n) { return static_cast<uint8_t>(bits(n, 61, 3)); }
RMA2_Nodeid rma2_noti_get_remote_nodeid(RMA2_Notification* n) {
  return static_cast<RMA2_Nodeid>(bits(n, 32, 16));
}
RMA2_VPID rma2_noti_get_remote_vpid(RMA2_Notification* n) { return static_cast<RMA2_VPID>(bits(n, 23, 8)); }
uint32_t rma2_noti_get_size(RMA2_Notification* n) { return static_cast<uint32_t>(bits(n, 0, 23)) + 1; }
uint64_t rma2_noti_get_local_address(RMA2_Notification* n) { return n->word0.value; }
uint64_t rma2_noti_get_notiput_payload(RMA2_Notification* n) { return n->word0.value; }
uint8_t rma2_noti_get_notiput_class(RMA2_Notification* n) { return static_cast<uint8_t>(bits(n, 0, 8)); }
uint32_t rma2_noti_get_lock_value(RMA2_Notification* n) {
  return static_cast<uint32_t>(n->word0.value >> 32);
}
uint32_t rma2_noti_get_lock_number(RMA2_Notification* n) {
  return static_cast<uint32_t>(n->word0.value & 0xffffff);
}
uint8_t rma2_noti_get_lock_result(RMA2_Notification* n) { return static_cast<uint8_t>(n->word0.value >> 24); }
uint64_t rma2_noti_get_total_size(RMA2_NLA start, RMA2_Notification* n) {
  return n->word0.value - start + rma2_noti_get_size(n);
}

void rma2_noti_sdump(RMA2_Notification* n, char* text, int size) {
  if (!text || size <= 0) return;
  snprintf(
      text, static_cast<size_t>(size),
      "notification: type %u command %u mode 0x%x error %u remote node %u vpid %u size %u word0 0x%016llx",
      static_cast<unsigned>(rma2_noti_get_notification_type(n)), static_cast<unsigned>(rma2_noti_get_cmd(n)),
      static_cast<unsigned>(rma2_noti_get_mode(n)), static_cast<unsigned>(rma2_noti_get_error(n)),
      static_cast<unsigned>(rma2_noti_get_remote_nodeid(n)),
      static_cast<unsigned>(rma2_noti_get_remote_vpid(n)), rma2_noti_get_size(n),
      static_cast<unsigned long long>(n->word0.value));
}
void rma2_noti_fdump(RMA2_Notification* n, FILE* file) {
  char text[256];
  rma2_noti_sdump(n, text, sizeof text);
  fprintf(file, "%s\n", text);
}
void rma2_noti_dump(RMA2_Notification* n) { rma2_noti_fdump(n, stdout); }

void rma2_serror(RMA2_ERROR error, char* text, int size) {
  if (!text || size <= 0) return;
  const char* found = "unknown error";
  for (const ErrorText& known : kErrors)
    if (known.error == error) found = known.text;
  snprintf(text, static_cast<size_t>(size), "%s", found);
}
void rma2_perror(RMA2_ERROR error, char* prefix) {
  char text[80];
  rma2_serror(error, text, sizeof text);
  fprintf(stderr, "%s: %s\n", prefix ? prefix : "rma2", text);
}
}
