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
  unsigned fence = to.fence ? nic::kFence : 0;
  weft_memory remote{peers_[peer]->address, to.key};
  if (from.length <= port->header->limits.immediate_limit) {
    nic::Descriptor d;
    d.operation = nic::Operation::ImmediatePut;
    d.flags = static_cast<std::uint16_t>(nic::kNotifyDone | fence);
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
  move(lane, request, nic::Operation::Put, remote, to.address, key, offset, 0, fence);
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
  move(lane, request, nic::Operation::Get, {peers_[peer]->address, from.key}, from.address, key, offset, 0,
       from.fence ? nic::kFence : 0);
  return 0;
}

/// Data that a put brought for the target's completion queue. It follows the put, so it comes when all of it
/// is there.
void Engine::remote_data(Lane& lane, const nic::Message& m) {
  RemoteDataHead head;
  if (m.length < sizeof head) return;
  memcpy(&head, m.data, sizeof head);
  charge(lane, model.receive_cost, Protocol::Put);
  if (!endpoint.receive_cq) return;
  entry(lane, endpoint.receive_cq,
        {nullptr, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA, head.length, nullptr, head.data, 0,
         FI_ADDR_NOTAVAIL, 0, 0, 0});
}

}  // namespace weft::fi
