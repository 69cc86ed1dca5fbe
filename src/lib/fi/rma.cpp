// Puts and gets, carried out by the interfaces alone.
#include <string.h>

#include <algorithm>

#include "lib/fi/engine.hpp"

namespace weft::fi {

using host::Lane;
using host::Protocol;

/// A request for a one-sided operation; its end is told as the caller asked.
Request& Engine::new_remote(Request::Kind kind, std::uint32_t peer, const Remote& remote,
                            std::size_t length) {
  Request& request = new_request(kind, peer);
  request.context = remote.context;
  request.completion = remote.completion;
  request.cq = remote.quiet ? nullptr : endpoint.send_cq;
  request.counter = kind == Request::Kind::Get || (kind == Request::Kind::Atomic && remote.fetches)
                        ? endpoint.read_counter
                        : endpoint.write_counter;
  request.length = length;
  request.reads = kind == Request::Kind::Get || remote.fetches;
  request.protocol = kind == Request::Kind::Put   ? Protocol::Put
                     : kind == Request::Kind::Get ? Protocol::Get
                                                  : Protocol::Atomic;
  auto& sum = sums.protocol[static_cast<unsigned>(request.protocol)];
  ++sum.count;
  sum.bytes += length;
  return request;
}

ssize_t Engine::put(Lane& lane, const Buffer& from, const Remote& to) {
  std::uint32_t peer = peer_of_handle(to.destination);
  if (peer == kAnyPeer) return -FI_EINVAL;
  lib::found_something();
  Request& request = new_remote(Request::Kind::Put, peer, to, from.length);
  charge(lane, model.send_cost, Protocol::Put);
  request.buffer = from;
  request.remote_data = to.has_data;
  request.data = static_cast<std::uint32_t>(to.data);
  if (from.length == 0) {
    piece_done(lane, request);
    return 0;
  }
  unsigned flags = to.fence ? nic::kFence : 0;
  std::uint64_t operand = 0;
  if ((request.told = interface_tells(request))) {
    flags |= nic::kNotifyRemote;
    operand = kOperationHere | peers_[peer]->address.port;
  }
  weft_memory remote = memory_of(*peers_[peer], to.key);
  if (from.length <= port->header->limits.immediate_limit) {
    nic::Descriptor d;
    d.operation = nic::Operation::ImmediatePut;
    d.flags = static_cast<std::uint16_t>(nic::kNotifyDone | flags);
    d.operand = operand;
    d.node = remote.owner.node;
    d.port = remote.owner.port;
    d.remote_key = remote.key;
    d.remote_offset = to.address;
    d.length = from.length;
    d.context = request.id;
    from.read(0, d.data, from.length);
    request.pieces = 1;
    post(lane, d);
    return 0;
  }
  if (to.inject) {
    request.bounce.reset(new char[from.length]);
    from.read(0, request.bounce.get(), from.length);
    copied(lane, from.length, Protocol::Put);
  }
  std::uint64_t key = to.local_key, offset = to.local_offset;
  if (!key || request.bounce || !from.whole()) {
    offset = 0;
    if (int result = register_buffer(lane, request, 0, key); result != 0) {
      forget(request);
      return result;
    }
  }
  move(lane, request, nic::Operation::Put, remote, to.address, key, offset, operand, flags);
  return 0;
}

ssize_t Engine::get(Lane& lane, const Buffer& into, const Remote& from) {
  std::uint32_t peer = peer_of_handle(from.destination);
  if (peer == kAnyPeer) return -FI_EINVAL;
  lib::found_something();
  Request& request = new_remote(Request::Kind::Get, peer, from, into.length);
  charge(lane, model.send_cost, Protocol::Get);
  request.buffer = into;
  if (into.length == 0) {
    piece_done(lane, request);
    return 0;
  }
  std::uint64_t key = from.local_key, offset = from.local_offset;
  if (!key || !into.whole()) {
    offset = 0;
    if (int result = register_buffer(lane, request, 0, key); result != 0) {
      forget(request);
      return result;
    }
  }
  unsigned flags = from.fence ? nic::kFence : 0;
  std::uint64_t operand = 0;
  if ((request.told = interface_tells(request))) {
    flags |= nic::kNotifyRemote;
    operand = kOperationHere | peers_[peer]->address.port;
  }
  move(lane, request, nic::Operation::Get, memory_of(*peers_[peer], from.key), from.address, key, offset,
       operand, flags);
  return 0;
}

/// Does the target want to hear of it when it is done (FI_RMA_EVENT)?
bool Engine::target_hears(const Request& request) const {
  return peers_[request.peer]->hears_of & (request.reads ? kHearsOfReads : kHearsOfWrites);
}

/// By the interface, where the operation is one piece and has nothing else to say.
bool Engine::interface_tells(const Request& request) const {
  return target_hears(request) && !request.remote_data && request.length <= port->header->limits.rdma_limit;
}

/// By a message otherwise, which follows what it is about.
void Engine::tell_target(Lane& lane, const Request& request) {
  if (request.error) return;
  bool hears = target_hears(request) && !request.told;
  if (!hears && !request.remote_data) return;
  std::uint32_t what = (request.remote_data ? kCarriesData : 0) | (request.reads ? kWasRead : 0) |
                       (request.kind == Request::Kind::Atomic ? kWasAtomic : 0);
  RemoteDataHead head{request.data, what, request.length};
  small(lane, request.peer, Kind::RemoteData, 0, &head, sizeof head);
}

/// An operation on memory of the domain was meant for one of its endpoints, not for the port alone where that
/// memory is registered.
void Engine::operation_here(Lane& lane, const nic::Event& e) {
  auto number = static_cast<std::uint32_t>(e.data);
  for (Endpoint* one : endpoint.domain->endpoints)
    if (one->engine && one->engine->port->self.port == number)
      return one->engine->heard_of(lane, e.kind == nic::EventKind::Responded, false, e.length);
}

/// Counted where there is a counter for it, otherwise an entry of the queue of receives.
void Engine::heard_of(Lane& lane, bool read, bool atomic, std::size_t length) {
  if (!(endpoint.caps & FI_RMA_EVENT)) return;
  Cntr* counter = read ? endpoint.remote_read_counter : endpoint.remote_write_counter;
  if (counter) {
    ++counter->value;
  } else if (endpoint.receive_cq && !endpoint.selective_receive) {
    std::uint64_t flags = (atomic ? FI_ATOMIC : FI_RMA) | (read ? FI_REMOTE_READ : FI_REMOTE_WRITE);
    entry(lane, endpoint.receive_cq, {nullptr, flags, length, nullptr, 0, 0, FI_ADDR_NOTAVAIL, 0, 0, 0});
  }
}

/// What an operation brought for the target's completion queue, or that it was. It follows the operation, so
/// it comes when all of it is there.
void Engine::remote_data(Lane& lane, const nic::Message& m) {
  RemoteDataHead head;
  if (m.length < sizeof head) return;
  memcpy(&head, m.data, sizeof head);
  charge(lane, model.receive_cost, Protocol::Put);
  if (!(head.what & kCarriesData))
    return heard_of(lane, head.what & kWasRead, head.what & kWasAtomic, head.length);
  if ((endpoint.caps & FI_RMA_EVENT) && endpoint.remote_write_counter) ++endpoint.remote_write_counter->value;
  if (!endpoint.receive_cq) return;
  entry(lane, endpoint.receive_cq,
        {nullptr, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA, head.length, nullptr, head.data, 0,
         FI_ADDR_NOTAVAIL, 0, 0, 0});
}

}  // namespace weft::fi
