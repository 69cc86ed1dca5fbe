// The functions of apenet.h.
#include "lib/native/apenet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/port.hpp"

namespace nic = weft::nic;
namespace abi = weft::abi;
namespace lib = weft::lib;

namespace {

struct Buffer {
  Buffer* next;
  char* begin;
  std::size_t size;
  std::uint64_t key;
};

struct Card {
  weft_port* port;
  Buffer* buffers;
};
constinit Card card{};

const Buffer* buffer_of(const void* local, std::size_t size) {
  const char* begin = static_cast<const char*>(local);
  for (const Buffer* b = card.buffers; b; b = b->next)
    if (begin >= b->begin && size <= b->size &&
        begin - b->begin <= static_cast<std::ptrdiff_t>(b->size - size))
      return b;
  return nullptr;
}

int transfer(nic::Operation operation, rdma_peer_t peer, const void* local, rdma_address_t remote,
             std::size_t size, std::uint64_t cookie) {
  if (!card.port) return -ENODEV;
  if (!size || size > card.port->header->limits.rdma_limit) return -EMSGSIZE;
  const Buffer* buffer = buffer_of(local, size);
  if (!buffer) return -EFAULT;
  nic::Descriptor d;
  d.operation = operation;
  d.flags = nic::kLogical | nic::kNotifyRemote;
  d.flags |= operation == nic::Operation::Get ? nic::kNotifyDone : nic::kNotifyLocal;
  d.node = peer.node;
  d.port = peer.process;
  d.length = size;
  d.context = cookie;
  d.local_offset = nic::logical_address(
      buffer->key, static_cast<std::uint64_t>(static_cast<const char*>(local) - buffer->begin));
  d.remote_offset = remote;
  d.operand = remote;
  return lib::post_when_room(card.port, d);
}

int error_of(nic::Status status) {
  switch (status) {
    case nic::Status::BadNode:
    case nic::Status::Unreachable:
      return -EHOSTUNREACH;
    case nic::Status::NoPort:
    case nic::Status::Closed:
      return -ECONNREFUSED;
    case nic::Status::BadKey:
    case nic::Status::BadRange:
    case nic::Status::BadMemory:
      return -EFAULT;
    case nic::Status::NoRight:
      return -EACCES;
    case nic::Status::TimedOut:
      return -ETIMEDOUT;
    default:
      return -EIO;
  }
}

/// False where the event is none of those that programs know.
bool translate(const nic::Event& e, rdma_event_t& out) {
  out = {};
  switch (e.kind) {
    case nic::EventKind::Local:
      if (e.operation == nic::Operation::Get)
        return false;  // its request has left; that tells nobody anything
      out.kind = RDMA_EVENT_SENT;
      break;
    case nic::EventKind::Done:
      out.kind = RDMA_EVENT_GOT;
      break;
    case nic::EventKind::Arrived:
      out.kind = RDMA_EVENT_PUT;
      out.address = e.data;
      break;
    case nic::EventKind::Responded:
      out.kind = RDMA_EVENT_READ;
      out.address = e.data;
      break;
    case nic::EventKind::Failed:
      out.kind = RDMA_EVENT_FAILED;
      out.error = error_of(e.status);
      break;
    default:
      return false;
  }
  out.peer = {e.node, e.port};
  out.size = e.length;
  out.cookie = e.context;
  return true;
}

/// The next of both queues that is there to be seen.
bool look(rdma_event_t& out) {
  const nic::Message* m = lib::next_message(card.port);
  const nic::Event* e = lib::next_event(card.port);
  if (m && (!e || m->time <= e->time)) {
    weft_message head;
    std::uint8_t data[nic::kInlineBytes];
    if (weft_receive(card.port, data, sizeof data, &head) != 1) return false;
    out = {};
    out.kind = RDMA_EVENT_MESSAGE;
    out.peer = {head.from.node, head.from.port};
    out.size = head.length;
    out.tag = head.tag;
    memcpy(out.data, data, head.length);
    return true;
  }
  nic::Event event;
  while (lib::take_event(card.port, event) == 1)
    if (translate(event, out)) return true;
  return false;
}

}  // namespace

extern "C" {

int rdma_open(void) { return card.port ? -EALREADY : weft_open(&card.port); }

int rdma_close(void) {
  if (!card.port) return -ENODEV;
  while (Buffer* first = card.buffers) {
    card.buffers = first->next;
    free(first);
  }
  int result = weft_close(card.port);
  card.port = nullptr;
  return result;
}

int rdma_self(rdma_peer_t* self) {
  if (!card.port) return -ENODEV;
  if (!self) return -EINVAL;
  *self = {card.port->self.node, card.port->self.port};
  return 0;
}

int register_buffer(void* buffer, size_t size, rdma_address_t* address) {
  if (!card.port) return -ENODEV;
  if (!buffer || !size || !address || size >> nic::kLogicalBits) return -EINVAL;
  auto* added = static_cast<Buffer*>(calloc(1, sizeof(Buffer)));
  if (!added) return -ENOMEM;
  weft_memory memory;
  int result = weft_register_anywhere(card.port, buffer, size,
                                      nic::kRemoteRead | nic::kRemoteWrite | nic::kHasLogical, &memory);
  if (result != 0) {
    free(added);
    return result;
  }
  *added = {card.buffers, static_cast<char*>(buffer), size, memory.key};
  card.buffers = added;
  *address = nic::logical_address(memory.key, 0);
  return 0;
}

int unregister_buffer(void* buffer) {
  if (!card.port) return -ENODEV;
  for (Buffer** link = &card.buffers; *link; link = &(*link)->next) {
    Buffer* b = *link;
    if (b->begin != buffer) continue;
    int result = weft_unregister(card.port, b->key);
    *link = b->next;
    free(b);
    return result;
  }
  return -ENOENT;
}

int rdma_put(rdma_peer_t to, const void* local, rdma_address_t remote, size_t size, uint64_t cookie) {
  return transfer(nic::Operation::Put, to, local, remote, size, cookie);
}

int rdma_get(rdma_peer_t from, void* local, rdma_address_t remote, size_t size, uint64_t cookie) {
  return transfer(nic::Operation::Get, from, local, remote, size, cookie);
}

int rdma_send(rdma_peer_t to, const void* data, size_t size, uint32_t tag, uint64_t cookie) {
  if (!card.port) return -ENODEV;
  if (size > card.port->header->limits.message_limit) return -EMSGSIZE;
  if (size && !data) return -EINVAL;
  nic::Descriptor d;
  d.operation = nic::Operation::Message;
  d.flags = nic::kNotifyLocal;
  d.node = to.node;
  d.port = to.process;
  d.tag = tag;
  d.length = size;
  d.context = cookie;
  if (size) memcpy(d.data, data, size);
  return lib::post_when_room(card.port, d);
}

int wait_event(rdma_event_t* event, int timeout) {
  if (!card.port) return -ENODEV;
  if (!event) return -EINVAL;
  const std::int64_t begin = lib::now(*lib::this_thread());
  for (;;) {
    if (look(*event)) return 0;
    std::int64_t left = -1;
    if (timeout >= 0) {
      left = begin + timeout * std::int64_t{1'000'000'000} - lib::now(*lib::this_thread());
      if (left <= 0) return -ETIMEDOUT;
      left = (left + 999) / 1000;
    }
    weft_wait(card.port, left);
  }
}
}
