// Sending messages: at once, or after the receiver asked for them.
#include <string.h>

#include <algorithm>

#include "lib/clocks.hpp"
#include "lib/fi/engine.hpp"

namespace weft::fi {

using host::Lane;
using host::Protocol;

ssize_t Engine::send(Lane& lane, const Outgoing& out, std::uint32_t& sent) {
  sent = 0;
  std::uint32_t peer = peer_of_handle(out.destination);
  if (peer == kAnyPeer) return -FI_EINVAL;
  std::size_t length = out.buffer.length;
  if (length > UINT32_MAX) return -FI_EMSGSIZE;
  lib::found_something();
  bool eager = length <= model.eager_limit || length == 0;
  if (eager && !out.delivery) {
    send_eager(lane, peer, out, 0);
    if (!out.inject && !peers_[peer]->waiting.empty()) {  // not all of it has left: it is done when that has
      Request& request = new_send(peer, out);
      peers_[peer]->waiting.back().owner = sent = request.id;
      return 0;
    }
    if (out.completion)
      entry(lane, endpoint.send_cq,
            {out.context, out.completion, 0, nullptr, 0, 0, FI_ADDR_NOTAVAIL, 0, 0, 0});
    if (endpoint.send_counter) ++endpoint.send_counter->value;
    return 0;
  }
  Request& request = new_send(peer, out);
  sent = request.id;
  if (eager) {
    request.pieces = 1;
    send_eager(lane, peer, out, request.id);
    return 0;
  }
  int result = send_request(lane, peer, out, request);
  if (result != 0) requests_.erase(request.id);
  return result;
}

Request& Engine::new_send(std::uint32_t peer, const Outgoing& out) {
  Request& request = new_request(Request::Kind::Send, peer);
  request.context = out.context;
  request.completion = out.completion;
  request.cq = out.quiet ? nullptr : endpoint.send_cq;
  request.counter = endpoint.send_counter;
  request.length = out.buffer.length;
  return request;
}

void Engine::send_eager(Lane& lane, std::uint32_t peer, const Outgoing& out, std::uint32_t request) {
  std::size_t length = out.buffer.length;
  bool fits = length <= small_limit_ - sizeof(EagerHead);
  bool blocks = !fits && model.eager != 0 && !peers_[peer]->refused;
  Protocol protocol = fits ? Protocol::Small : blocks ? block_protocol() : Protocol::Fragments;
  auto& sum = sums.protocol[static_cast<unsigned>(protocol)];
  ++sum.count;
  sum.bytes += length;
  charge(lane, model.send_cost, protocol);
  EagerHead head{static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(out.data), out.tag};
  unsigned flags = (out.tagged ? kTagged : 0) | (out.has_data ? kHasData : 0);
  std::int64_t before = lib::now(lane), counted = sum.cost;
  if (blocks) {
    send_in_blocks(lane, peer, head, flags, out.buffer, request);
  } else {
    send_fragments(lane, peer, head, flags, out.buffer, request);
  }
  sum.cost = counted + lib::now(lane) - before;
  pause(lane, length, protocol);
}

/// The pause that a machine's description puts after each send.
void Engine::pause(Lane& lane, std::size_t length, Protocol protocol) {
  std::int64_t time =
      lib::bounded(model.send_delay + static_cast<__int128>(length) * model.send_delay_per_kib / 1024);
  if (time > 0) charge(lane, time, protocol);
}

/// One small message, or several that follow each other.
void Engine::send_fragments(Lane& lane, std::uint32_t peer, const EagerHead& head, unsigned flags,
                            const Buffer& buffer, std::uint32_t request) {
  std::size_t length = buffer.length;
  std::size_t first = std::min(length, small_limit_ - sizeof head);
  char part[nic::kInlineBytes];
  buffer.read(0, part, first);
  small(lane, peer, Kind::Eager, flags, &head, sizeof head, part, first, first == length ? request : 0);
  for (std::size_t at = first; at < length;) {
    std::size_t bytes = std::min(length - at, small_limit_);
    buffer.read(at, part, bytes);
    at += bytes;
    small(lane, peer, Kind::More, 0, part, bytes, nullptr, 0, at == length ? request : 0);
  }
}

int Engine::send_request(Lane& lane, std::uint32_t peer, const Outgoing& out, Request& request) {
  bool get = model.rendezvous == 0;
  request.protocol = get ? Protocol::RendezvousGet : Protocol::RendezvousPut;
  request.buffer = out.buffer;
  charge(lane, model.send_cost, request.protocol);
  if (out.inject) {  // the caller's buffer may change as soon as this returns
    request.bounce.reset(new char[request.length]);
    out.buffer.read(0, request.bounce.get(), request.length);
    copied(lane, request.length, request.protocol);
  }
  std::uint64_t key = 0;
  if (get) {
    if (int result = register_buffer(lane, request, WEFT_REMOTE_READ, key); result != 0) return result;
  }
  auto& sum = sums.protocol[static_cast<unsigned>(request.protocol)];
  ++sum.count;
  sum.bytes += request.length;
  ++sums.protocol[static_cast<unsigned>(Protocol::Control)].count;
  RendezvousHead head{static_cast<std::uint32_t>(request.length), static_cast<std::uint32_t>(out.data),
                      out.tag, key, request.id};
  unsigned flags = (out.tagged ? kTagged : 0) | (out.has_data ? kHasData : 0);
  small(lane, peer, Kind::Request, flags, &head, sizeof head);
  pause(lane, request.length, request.protocol);
  return 0;
}

/// The receiver has room: put it there.
void Engine::clear_to_send(Lane& lane, const nic::Message& m) {
  ClearHead head;
  if (m.length < sizeof head) return;
  memcpy(&head, m.data, sizeof head);
  Request* request = request_of(head.sender);
  if (!request || request->kind != Request::Kind::Send) return;
  std::size_t whole = request->length;
  request->length = std::min<std::size_t>(whole, head.length);
  std::uint64_t key = 0;
  if (request->length == 0 || register_buffer(lane, *request, 0, key) != 0) {
    if (request->length) request->error = FI_EIO;
    FinishedHead finished{head.receiver, request->error ? 1u : 0u};
    small(lane, request->peer, Kind::Finished, 0, &finished, sizeof finished);
    return done(lane, *request);
  }
  request->other = head.receiver;
  bool notify = model.ack == 1;
  move(lane, *request, nic::Operation::Put, {peers_[request->peer]->address, head.key}, 0, key, 0,
       head.receiver, notify ? nic::kNotifyRemote : 0);
}

}  // namespace weft::fi
