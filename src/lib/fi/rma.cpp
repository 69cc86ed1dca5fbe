// Puts and gets, carried out by the interfaces alone.
#include <string.h>

#include <algorithm>

#include "lib/fi/engine.hpp"

namespace weft::fi {

using abi::Thread;
using mpi::Protocol;

/// A request for a one-sided operation; its end is told as the caller asked.
Request& Engine::new_remote(Request::Kind kind, std::uint32_t peer, const Remote& remote,
                            std::size_t length) {
  Request& request = requests_.begin(kind, peer);
  request.context = remote.context;
  request.completion = remote.completion;
  request.queue = remote.quiet ? nullptr : endpoint.send_cq;
  request.counter = kind == Request::Kind::Get || (kind == Request::Kind::Atomic && remote.fetches)
                        ? endpoint.read_counter
                        : endpoint.write_counter;
  request.length = length;
  request.reads = kind == Request::Kind::Get || remote.fetches;
  request.protocol = kind == Request::Kind::Put   ? Protocol::Put
                     : kind == Request::Kind::Get ? Protocol::Get
                                                  : Protocol::Atomic;
  costs_.counts(request.protocol, length);
  return request;
}

ssize_t Engine::put(Thread& thread, const Buffer& from, const Remote& to) {
  std::uint32_t peer = peer_of_handle(to.destination);
  if (peer == kAnyPeer) return -FI_EINVAL;
  lib::found_something();
  ThreadPort at(*this, thread);
  Request& request = new_remote(Request::Kind::Put, peer, to, from.length);
  costs_.charge(at, model.send_cost, Protocol::Put);
  request.buffer = from;
  request.remote_data = to.has_data;
  request.data = static_cast<std::uint32_t>(to.data);
  if (from.length == 0) {
    one_sided_done(at, request);
    done(at, request);
    return 0;
  }
  unsigned flags = to.fence ? nic::kFence : 0;
  std::uint64_t operand = 0;
  if ((request.told = interface_tells(request))) {
    flags |= nic::kNotifyRemote;
    operand = mpi::kOperationHere | peer_at(peer).address.port;
  }
  const mpi::Address owner = memory_of(peer);
  const bool device = on_device(from);
  if (from.length <= port->header->limits.immediate_limit && !device) {
    nic::Descriptor d;
    d.operation = nic::Operation::ImmediatePut;
    d.flags = static_cast<std::uint16_t>(nic::kNotifyDone | flags);
    d.operand = operand;
    d.node = owner.node;
    d.port = owner.port;
    d.remote_key = to.key;
    d.remote_offset = to.address;
    d.length = from.length;
    d.context = request.id;
    from.read(0, d.data, from.length);
    request.pieces = 1;
    at.post(d);
    return 0;
  }
  if (device && (to.inject || !on_peer(from))) {
    request.has_bounce = true;
    request.bounce.resize(from.length);
    if (int result = copy_out(from, request.bounce.data()); result != 0) {
      requests_.end(request);
      return result;
    }
  } else if (to.inject) {
    operations_.keep_data(at, request, from);
  }
  std::uint64_t key = to.local_key, offset = to.local_offset;
  if (!key || request.has_bounce || !from.whole()) {
    offset = 0;
    if (int result = register_buffer(at, request, 0, key); result != 0) {
      requests_.end(request);
      return result;
    }
  }
  operations_.begin(at, request, nic::Operation::Put, {owner, to.key, to.address, operand}, key, offset,
                    flags);
  return 0;
}

ssize_t Engine::get(Thread& thread, const Buffer& into, const Remote& from) {
  std::uint32_t peer = peer_of_handle(from.destination);
  if (peer == kAnyPeer) return -FI_EINVAL;
  lib::found_something();
  ThreadPort at(*this, thread);
  Request& request = new_remote(Request::Kind::Get, peer, from, into.length);
  costs_.charge(at, model.send_cost, Protocol::Get);
  request.buffer = into;
  if (into.length == 0) {
    one_sided_done(at, request);
    done(at, request);
    return 0;
  }
  std::uint64_t key = from.local_key, offset = from.local_offset;
  if (on_device(into) && !on_peer(into)) {
    request.has_bounce = true;
    request.bounce.resize(into.length);
  }
  if (!key || request.has_bounce || !into.whole()) {
    offset = 0;
    if (int result = register_buffer(at, request, 0, key); result != 0) {
      requests_.end(request);
      return result;
    }
  }
  unsigned flags = from.fence ? nic::kFence : 0;
  std::uint64_t operand = 0;
  if ((request.told = interface_tells(request))) {
    flags |= nic::kNotifyRemote;
    operand = mpi::kOperationHere | peer_at(peer).address.port;
  }
  operations_.begin(at, request, nic::Operation::Get, {memory_of(peer), from.key, from.address, operand}, key,
                    offset, flags);
  return 0;
}

/// Does the target want to hear of it when it is done (FI_RMA_EVENT)?
bool Engine::target_hears(const Request& request) {
  return contact(request.peer).hears_of & (request.reads ? kHearsOfReads : kHearsOfWrites);
}

/// By the interface, where the operation is one piece and has nothing else to say.
bool Engine::interface_tells(const Request& request) {
  if (request.reads && model.reliable) return false;  // it may be read more than once
  return target_hears(request) && !request.remote_data && request.length <= port->header->limits.rdma_limit;
}

void Engine::one_sided_done(mpi::Port& at, Request& request) {
  if (request.kind == Request::Kind::Get && request.has_bounce) {
    if (on_device(request.buffer)) {
      if (copy_in(request.buffer, request.bounce.data(), request.length) != 0) request.error = FI_EIO;
    } else {
      request.buffer.write(0, request.bounce.data(), request.length);
      costs_.copied(at, request.length, request.protocol);
    }
  }
  tell_target(at, request);
}

/// By a message otherwise, which follows what it is about.
void Engine::tell_target(mpi::Port& at, const Request& request) {
  if (request.error) return;
  bool hears = target_hears(request) && !request.told;
  if (!hears && !request.remote_data) return;
  std::uint32_t what = (request.remote_data ? mpi::kCarriesData : 0) | (request.reads ? mpi::kWasRead : 0) |
                       (request.kind == Request::Kind::Atomic ? mpi::kWasAtomic : 0);
  mpi::RemoteDataHead head{request.data, what, request.length};
  pairs_.small(at, request.peer, mpi::Kind::RemoteData, 0, &head, sizeof head);
}

/// An operation on memory of the domain was meant for one of its endpoints, not for the port alone where that
/// memory is registered.
void Engine::operation_here(mpi::Port& at, const nic::Event& e) {
  auto number = static_cast<std::uint32_t>(e.data);
  for (Endpoint* one : endpoint.domain->endpoints)
    if (one->engine && one->engine->port->self.port == number)
      return one->engine->outcomes_.operation_here(at.now(), e.kind == nic::EventKind::Responded, false,
                                                   e.length);
}

/// What an operation brought for the target's completion queue, or that it was. It follows the operation, so
/// it comes when all of it is there.
void Engine::remote_data(mpi::Port& at, const nic::Message& m) {
  mpi::RemoteDataHead head;
  if (m.length < sizeof head) return;
  memcpy(&head, m.data, sizeof head);
  costs_.charge(at, model.receive_cost, Protocol::Put);
  if (!(head.what & mpi::kCarriesData))
    return outcomes_.operation_here(at.now(), head.what & mpi::kWasRead, head.what & mpi::kWasAtomic,
                                    head.length);
  outcomes_.data_here(at.now(), head);
}

void Engine::other_message(mpi::Port& at, std::uint32_t peer, const nic::Message& m) {
  switch (mpi::kind_of(m.tag)) {
    case mpi::Kind::Atomic:
      return atomic_request(at, peer, m);
    case mpi::Kind::AtomicReply:
      return atomic_reply(at, m);
    case mpi::Kind::RemoteData:
      return remote_data(at, m);
    default:
      return;
  }
}

}  // namespace weft::fi
