// Atomics: by the interface where it has the operation, otherwise by a message to the target's processor.
#include <string.h>

#include <algorithm>

#include "lib/fi/atomic_values.hpp"
#include "lib/fi/engine.hpp"

namespace weft::fi {

using abi::Thread;
using mpi::AtomicHead;
using mpi::AtomicReplyHead;
using mpi::Kind;
using mpi::Protocol;

namespace {

bool whole_words(fi_datatype type) { return type == FI_INT64 || type == FI_UINT64; }

/// Memory of this process that others may change, by its key; null where they may not.
char* memory_at(const Domain& domain, std::uint64_t key, std::uint64_t offset, std::size_t bytes) {
  auto found = domain.memories.find(key);
  if (found == domain.memories.end()) return nullptr;
  const Mr& mr = *found->second;
  if (!(mr.access & (FI_REMOTE_WRITE | FI_REMOTE_READ)) || offset > mr.length || bytes > mr.length - offset)
    return nullptr;
  return static_cast<char*>(mr.base) + offset;
}

struct AtomicAnswer {
  AtomicReplyHead head;
  char old[nic::kInlineBytes];
  std::size_t bytes = 0;  // of `old`
};

/// Carries out what a message asks for, which has a head.
AtomicAnswer answer_atomic(const Domain& domain, const nic::Message& m) {
  AtomicHead head;
  memcpy(&head, m.data, sizeof head);
  auto type = static_cast<fi_datatype>(head.type);
  std::size_t size = value_size(type), bytes = size * head.count;
  bool operands = head.has & 1, compares = head.has & 2, results = head.has & 4;
  AtomicAnswer answer{{head.id, head.first, 0}, {}, 0};
  bool sound = size && m.length == sizeof head + bytes * (operands + compares) &&
               sizeof answer.head + bytes <= sizeof answer.old;
  char* at = sound ? memory_at(domain, head.key, head.offset, bytes) : nullptr;
  if (!at) answer.head.failed = 1;
  const std::uint8_t* values = m.data + sizeof head;
  for (unsigned i = 0; at && i < head.count; ++i) {
    const std::uint8_t* operand = operands ? values + i * size : nullptr;
    const std::uint8_t* compare = compares ? values + (operands ? bytes : 0) + i * size : nullptr;
    apply(type, static_cast<fi_op>(head.operation), at + i * size, operand, compare, answer.old + i * size);
  }
  if (at && results) answer.bytes = bytes;
  return answer;
}

}  // namespace

ssize_t Engine::atomic(Thread& thread, const AtomicCall& call, const Remote& where) {
  std::uint32_t peer = peer_of_handle(where.destination);
  if (peer == kAnyPeer) return -FI_EINVAL;
  std::size_t size = value_size(call.type);
  std::size_t parts = (call.operand ? 1 : 0) + (call.compare ? 1 : 0);
  std::size_t each = std::max<std::size_t>(size, size * parts);
  bool add = call.operation == FI_SUM || call.operation == FI_ATOMIC_READ;
  bool by_interface = call.count == 1 && whole_words(call.type) && where.address % 8 == 0 &&
                      (add || call.operation == FI_CSWAP);
  if (!by_interface && sizeof(AtomicHead) + each > limits_.message)
    return refuse(FI_EOPNOTSUPP, FI_LOG_EP_DATA, "values of %zu bytes do not fit into a small message\n",
                  size);
  lib::found_something();
  ThreadPort at(*this, thread);
  Request& request = new_remote(Request::Kind::Atomic, peer, where, size * call.count);
  costs_.charge(at, model.send_cost, Protocol::Atomic);
  request.value_size = size;
  if (call.result) request.result = Buffer(call.result, size * call.count);
  if (by_interface) {
    atomic_by_interface(at, call, where, request);
  } else {
    atomic_in_messages(at, call, where, request, each);
  }
  return 0;
}

void Engine::atomic_by_interface(mpi::Port& at, const AtomicCall& call, const Remote& where,
                                 Request& request) {
  nic::Descriptor d;
  d.operation = call.operation != FI_CSWAP ? nic::Operation::FetchAdd : nic::Operation::CompareSwap;
  d.flags = nic::kNotifyDone;
  const mpi::Address owner = memory_of(request.peer);
  d.node = owner.node;
  d.port = owner.port;
  d.remote_key = where.key;
  d.remote_offset = where.address;
  d.length = 8;
  if (call.operand && call.operation != FI_ATOMIC_READ) memcpy(&d.operand, call.operand, 8);
  if (call.compare) memcpy(&d.compare, call.compare, 8);
  d.context = request.id;
  request.pieces = 1;
  at.post(d);
}

/// As many values in a message as fit; each is atomic by itself.
void Engine::atomic_in_messages(mpi::Port& at, const AtomicCall& call, const Remote& where, Request& request,
                                std::size_t each) {
  const std::size_t size = request.value_size;
  std::size_t most = std::min<std::size_t>((limits_.message - sizeof(AtomicHead)) / each, 255);
  request.pieces = static_cast<unsigned>((call.count + most - 1) / most);
  std::uint32_t id = request.id;
  for (std::size_t first = 0; first < call.count; first += most) {
    std::size_t count = std::min(most, call.count - first);
    AtomicHead head{
        id,
        static_cast<std::uint32_t>(first),
        where.key,
        static_cast<std::uint32_t>(where.address + first * size),
        static_cast<std::uint8_t>(call.type),
        static_cast<std::uint8_t>(call.operation),
        static_cast<std::uint8_t>((call.operand ? 1 : 0) | (call.compare ? 2 : 0) | (call.result ? 4 : 0)),
        static_cast<std::uint8_t>(count)};
    char data[nic::kInlineBytes];
    std::size_t bytes = 0;
    for (const void* values : {call.operand, call.compare}) {
      if (!values) continue;
      memcpy(data + bytes, static_cast<const char*>(values) + first * size, count * size);
      bytes += count * size;
    }
    pairs_.small(at, request.peer, Kind::Atomic, 0, &head, sizeof head, data, bytes);
  }
}

void Engine::atomic_request(mpi::Port& at, std::uint32_t peer, const nic::Message& m) {
  if (m.length < sizeof(AtomicHead)) return;
  costs_.charge(at, model.receive_cost, Protocol::Atomic);
  const AtomicAnswer answer = answer_atomic(*endpoint.domain, m);
  pairs_.small(at, peer, Kind::AtomicReply, 0, &answer.head, sizeof answer.head, answer.old, answer.bytes);
}

void Engine::atomic_reply(mpi::Port& at, const nic::Message& m) {
  AtomicReplyHead head;
  if (m.length < sizeof head) return;
  memcpy(&head, m.data, sizeof head);
  costs_.charge(at, model.receive_cost, Protocol::Atomic);
  Request* request = requests_.find(head.id);
  if (!request || request->kind != Request::Kind::Atomic) return;
  if (head.failed) request->error = FI_EACCES;
  std::size_t bytes = m.length - sizeof head;
  // A whole number of values, however many fit into the messages this side sent.
  if (bytes && request->result.length >= bytes &&
      head.first * request->value_size + bytes <= request->result.length)
    request->result.write(head.first * request->value_size, m.data + sizeof head, bytes);
  if (--request->pieces != 0) return;
  one_sided_done(at, *request);
  done(at, *request);
}

}  // namespace weft::fi
