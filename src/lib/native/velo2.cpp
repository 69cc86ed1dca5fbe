// The functions of velo2.h, on the interface's messages.
#include "lib/native/velo2.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/native/velo2_mod.h"
#include "lib/port.hpp"

namespace nic = weft::nic;
namespace lib = weft::lib;

namespace {

/// A message that was taken from the ring while one of another kind was waited for.
struct Held {
  Held* next;
  weft_message head;
  std::uint8_t data[nic::kInlineBytes];
};

struct Mailbox {
  weft_port* port;
  Held *first, **end;  // in the order of arrival
};

Mailbox* mailbox_of(const velo2_port_t* port) { return port ? static_cast<Mailbox*>(port->map) : nullptr; }

std::uint8_t mtt_of(const Held& message) { return static_cast<std::uint8_t>(message.head.tag >> 8 & 3); }

/// The interface tells of messages that nobody took. Looking costs nothing while there is nothing.
bool refused(Mailbox* box, std::uint64_t to) {
  bool any = false;
  nic::Event event;
  while (lib::next_event(box->port) && lib::take_event(box->port, event) == 1)
    any |= event.kind == nic::EventKind::Failed && VELO2_ADDR_PACK(event.node, event.port) == to;
  return any;
}

/// Moves the next message of the ring behind those that are held.
bool fetch(Mailbox* box) {
  auto* held = static_cast<Held*>(malloc(sizeof(Held)));
  if (!held) return false;
  if (weft_receive(box->port, held->data, sizeof held->data, &held->head) != 1) {
    free(held);
    return false;
  }
  held->next = nullptr;
  *box->end = held;
  box->end = &held->next;
  return true;
}

velo2_ret_t hand_over(Mailbox* box, Held** link, void* buffer, std::uint32_t most, std::uint32_t* length,
                      std::uint32_t* source, std::uint8_t* tag) {
  Held* message = *link;
  if (message->head.length > most) return VELO2_RET_INV_MSG;
  if (message->head.length) memcpy(buffer, message->data, message->head.length);
  if (length) *length = message->head.length;
  if (source) *source = VELO2_ADDR_PACK(message->head.from.node, message->head.from.port);
  if (tag) *tag = static_cast<std::uint8_t>(message->head.tag);
  *link = message->next;
  if (box->end == &message->next) box->end = link;
  free(message);
  return VELO2_RET_SUCCESS;
}

}  // namespace

extern "C" {

velo2_ret_t velo2_open(velo2_port_t* port) {
  if (!port) return VELO2_RET_ERROR;
  *port = {};
  auto* box = static_cast<Mailbox*>(calloc(1, sizeof(Mailbox)));
  if (!box) return VELO2_RET_ERR_MMAP;
  int result = weft_open(&box->port);
  if (result == 0 && (box->port->self.port > 255 || box->port->self.node > 0xfffd)) {
    weft_close(box->port);  // srcid has no room for such a number
    result = -ENOSPC;
  }
  if (result != 0) {
    free(box);
    return result == -ENOSPC ? VELO2_RET_INVALID_MBOX : VELO2_RET_ERR_FDOPEN;
  }
  box->end = &box->first;
  port->map = box;
  port->nodeid = static_cast<velo2_nodeid_t>(box->port->self.node);
  port->vpid = static_cast<velo2_vpid_t>(box->port->self.port);
  return VELO2_RET_SUCCESS;
}

velo2_ret_t velo2_close(velo2_port_t* port) {
  Mailbox* box = mailbox_of(port);
  if (!box) return VELO2_RET_INVALID_MBOX;
  weft_close(box->port);
  while (Held* first = box->first) {
    box->first = first->next;
    free(first);
  }
  free(box);
  port->map = nullptr;
  return VELO2_RET_SUCCESS;
}

velo2_nodeid_t velo2_get_nodeid(velo2_port_t* port) { return port->nodeid; }
velo2_vpid_t velo2_get_vpid(velo2_port_t* port) { return port->vpid; }

velo2_ret_t velo2_connect(velo2_port_t* port, velo2_connection_t* connection, velo2_nodeid_t node,
                          velo2_vpid_t vpid) {
  Mailbox* box = mailbox_of(port);
  if (!box) return VELO2_RET_INVALID_MBOX;
  if (!connection) return VELO2_RET_ERROR;
  if (node >= box->port->header->nodes) return VELO2_RET_INVALID_NODE;
  if (vpid > 255) return VELO2_RET_INVALID_MBOX;
  connection->dest.raw = VELO2_ADDR_PACK(node, vpid);
  connection->state_map = box;
  return VELO2_RET_SUCCESS;
}

velo2_ret_t velo2_disconnect(velo2_port_t* port, velo2_connection_t* connection) {
  if (!mailbox_of(port)) return VELO2_RET_INVALID_MBOX;
  if (!connection || !connection->state_map) return VELO2_RET_ERROR;
  connection->state_map = nullptr;
  return VELO2_RET_SUCCESS;
}

velo2_ret_t velo2_send(velo2_connection_t* connection, const void* data, uint32_t length, uint8_t tag,
                       uint8_t mtt) {
  if (!connection || !connection->state_map) return VELO2_RET_ERROR;
  auto* box = static_cast<Mailbox*>(connection->state_map);
  if (mtt > VELO2_MAX_MTT) return VELO2_RET_INV_MTT;
  if (length > VELO2_MAX_MESSAGE || length > box->port->header->limits.message_limit || (length && !data))
    return VELO2_RET_INV_MSG;
  if (refused(box, connection->dest.raw)) return VELO2_RET_INVALID_MBOX;
  nic::Descriptor d;
  d.operation = nic::Operation::Message;
  d.node = connection->dest.address.node;
  d.port = connection->dest.address.vpid;
  d.tag = tag | std::uint32_t{mtt} << 8;
  d.length = length;
  if (length) memcpy(d.data, data, length);
  return lib::post_when_room(box->port, d) == 0 ? VELO2_RET_SUCCESS : VELO2_RET_TRY_AGAIN;
}

velo2_ret_t velo2_recv(velo2_port_t* port, void* buffer, uint32_t most, uint32_t* length, uint32_t* source,
                       uint8_t* tag, uint8_t mtt) {
  Mailbox* box = mailbox_of(port);
  if (!box) return VELO2_RET_INVALID_MBOX;
  if (mtt > VELO2_MAX_MTT) return VELO2_RET_INV_MTT;
  Held** link = &box->first;
  for (;;) {
    for (; *link; link = &(*link)->next)
      if (mtt_of(**link) == mtt) return hand_over(box, link, buffer, most, length, source, tag);
    if (!fetch(box)) weft_wait(box->port, -1);
  }
}

velo2_ret_t velo2_probe_recv(velo2_port_t* port, void* buffer, uint32_t most, uint32_t* length,
                             uint32_t* source, uint8_t* tag, uint8_t* mtt) {
  Mailbox* box = mailbox_of(port);
  if (!box) return VELO2_RET_INVALID_MBOX;
  if (!box->first && !fetch(box)) return VELO2_RET_NO_MSG;
  std::uint8_t kind = mtt_of(*box->first);
  velo2_ret_t result = hand_over(box, &box->first, buffer, most, length, source, tag);
  if (result == VELO2_RET_SUCCESS && mtt) *mtt = kind;
  return result;
}
}
