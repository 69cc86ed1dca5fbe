// Sending messages: at once, or after the receiver asked for them.
#include <errno.h>
#include <string.h>

#include <algorithm>

#include "abi/mpi_calls.hpp"
#include "abi/virtual_time.hpp"
#include "mpi/transport.hpp"

namespace weft::mpi {

int Transport::send(Port& port, std::uint32_t peer, const Outgoing& out, std::uint32_t& sent) {
  sent = 0;
  const std::size_t length = out.buffer.length;
  if (length > UINT32_MAX) return -EMSGSIZE;
  const bool eager = (length <= model_.eager_limit && !out.direct) || length == 0;
  if (eager && !out.delivery) {
    send_eager(port, peer, out, 0);
    if (!out.inject && !pairs_[peer].waiting.empty()) {  // not all of it has left: it is done when that has
      pairs_[peer].waiting.back().owner = sent = new_send(peer, out).id;
      return 0;
    }
    sent_at_once(port, out);
    return 0;
  }
  Request& request = new_send(peer, out);
  sent = request.id;
  if (eager) {
    request.pieces = 1;
    send_eager(port, peer, out, request.id);
    return 0;
  }
  int result = send_request(port, peer, out, request);
  if (result != 0) requests_.end(request);
  return result;
}

Request& Transport::new_send(std::uint32_t peer, const Outgoing& out) {
  Request& request = requests_.begin(Request::Kind::Send, peer);
  request.context = out.context;
  request.completion = out.completion;
  request.queue = out.queue;
  request.counter = out.counter;
  request.length = out.buffer.length;
  return request;
}

void Transport::send_eager(Port& port, std::uint32_t peer, const Outgoing& out, std::uint32_t request) {
  const std::size_t length = out.buffer.length;
  const bool fits = length <= limits_.message - sizeof(EagerHead);
  const bool blocks = !fits && blocks_.used() && !pairs_[peer].refused;
  const Protocol protocol = fits ? Protocol::Small : blocks ? blocks_.protocol() : Protocol::Fragments;
  costs_.counts(protocol, length);
  costs_.charge(port, model_.send_cost, protocol);
  EagerHead head{static_cast<std::uint32_t>(length), out.data, out.tag};
  const unsigned flags = (out.tagged ? kTagged : 0) | (out.has_data ? kHasData : 0);
  std::int64_t& cost = costs_.of(protocol).cost;
  const std::int64_t before = port.now(), counted = cost;
  if (blocks) {
    blocks_.send(port, peer, head, flags, out.buffer, request);
  } else {
    send_fragments(port, peer, head, flags, out.buffer, request);
  }
  cost = counted + port.now() - before;
  pause(port, length, protocol);
}

/// The pause that a machine's description puts after each send.
void Transport::pause(Port& port, std::size_t length, Protocol protocol) {
  std::int64_t time =
      abi::bounded(model_.send_delay + static_cast<__int128>(length) * model_.send_delay_per_kib / 1024);
  if (time > 0) costs_.charge(port, time, protocol);
}

/// One small message, or several that follow each other.
void Transport::send_fragments(Port& port, std::uint32_t peer, const EagerHead& head, unsigned flags,
                               const Buffer& buffer, std::uint32_t request) {
  const std::size_t length = buffer.length;
  const std::size_t first = std::min(length, limits_.message - sizeof head);
  char part[nic::kInlineBytes];
  buffer.read(0, part, first);
  pairs_.small(port, peer, Kind::Eager, flags, &head, sizeof head, part, first,
               first == length ? request : 0);
  for (std::size_t at = first; at < length;) {
    std::size_t bytes = std::min(length - at, limits_.message);
    buffer.read(at, part, bytes);
    at += bytes;
    pairs_.small(port, peer, Kind::More, 0, part, bytes, nullptr, 0, at == length ? request : 0);
  }
}

int Transport::send_request(Port& port, std::uint32_t peer, const Outgoing& out, Request& request) {
  const bool get = model_.rendezvous == 0;
  request.protocol = get ? Protocol::RendezvousGet : Protocol::RendezvousPut;
  request.buffer = out.buffer;
  costs_.charge(port, model_.send_cost, request.protocol);
  if (out.inject) operations_.keep_data(port, request, out.buffer);
  std::uint64_t key = 0;
  if (get) {
    if (int result = register_buffer(port, request, nic::kRemoteRead, key); result != 0) return result;
  }
  costs_.counts(request.protocol, request.length);
  costs_.counts(Protocol::Control, 0);
  RendezvousHead head{static_cast<std::uint32_t>(request.length), out.data, out.tag, key, request.id};
  const unsigned flags = (out.tagged ? kTagged : 0) | (out.has_data ? kHasData : 0);
  if (port.mark) port.mark |= abi::kOthersFollow;
  pairs_.small(port, peer, Kind::Request, flags, &head, sizeof head);
  pause(port, request.length, request.protocol);
  return 0;
}

/// The receiver has room: put it there.
void Transport::clear_to_send(Port& port, const nic::Message& m) {
  ClearHead head;
  if (m.length < sizeof head) return;
  memcpy(&head, m.data, sizeof head);
  Request* request = requests_.find(head.sender);
  if (!request || request->kind != Request::Kind::Send) return;
  request->length = std::min<std::size_t>(request->length, head.length);
  std::uint64_t key = 0;
  if (request->length == 0 || register_buffer(port, *request, 0, key) != 0) {
    if (request->length) request->error = EIO;
    FinishedHead finished_head{head.receiver, request->error ? 1u : 0u};
    pairs_.small(port, request->peer, Kind::Finished, 0, &finished_head, sizeof finished_head);
    return done(port, *request);
  }
  request->other = head.receiver;
  const bool notify = model_.ack == 1;
  operations_.begin(port, *request, nic::Operation::Put,
                    {pairs_[request->peer].address, head.key, 0, head.receiver}, key, 0,
                    notify ? nic::kNotifyRemote : 0);
}

/// All blocks of the peer's are lent to others: what waits goes in small messages, and so does all that
/// follows.
void Transport::refused_blocks(Port& port, std::uint32_t index) {
  Peer& peer = pairs_[index];
  peer.refused = true;
  for (Fifo<Waiting> waiting = pairs_.take_waiting(port, peer); !waiting.empty(); waiting.pop_front()) {
    Waiting& w = waiting.front();
    port.mark = w.mark;
    if (w.kind == Kind::Block) {
      EagerHead eager;
      memcpy(&eager, w.message.data(), sizeof eager);
      const void* data = w.message.data() + sizeof eager;
      send_fragments(port, index, eager, w.flags, Buffer(data, eager.length), w.request);
    } else {
      pairs_.small(port, index, w.kind, w.flags, w.data, w.length, nullptr, 0, w.request);
    }
    Request* owner = w.owner ? requests_.find(w.owner) : nullptr;
    if (!owner) continue;
    if (peer.waiting.empty()) {
      done(port, *owner);
    } else {
      peer.waiting.back().owner = w.owner;
    }
  }
  port.mark = 0;
}

}  // namespace weft::mpi
