// Matching: receives that wait for messages, and messages that wait for receives.
#include <errno.h>
#include <string.h>

#include <algorithm>

#include "abi/virtual_time.hpp"
#include "mpi/transport.hpp"

namespace weft::mpi {

namespace {

bool fits(const Receive& r, const Incoming& in) {
  if (r.peer != kAnyPeer && r.peer != in.peer) return false;
  return !r.tagged || ((r.tag ^ in.tag) & ~r.ignore) == 0;
}

}  // namespace

Receive* Transport::new_receive(const Receive& wanted) {
  Receive* receive = receives_.take();
  *receive = wanted;
  return receive;
}

/// The first receive for a message. Out of its queue, unless it is for several.
Receive* Transport::match(Port& port, const Incoming& in) {
  std::uint64_t compared = 0;
  Receive* found = nullptr;
  for (Receive* at = posted_[in.tagged].first(); at && !found; at = at->next) {
    ++compared;
    if (fits(*at, in)) found = at;
  }
  if (found && !found->multi) posted_[in.tagged].erase(found);
  sums_.compared += compared;
  if (model_.matching == 0)
    charge(port, abi::bounded(static_cast<__int128>(compared) * model_.match_cost), in.protocol);
  return found;
}

void Transport::attach(Incoming& in, Receive* receive) {
  in.receive = receive;
  if (!receive->multi) {
    in.target = receive->buffer;
    return;
  }
  // Messages follow each other in the one buffer.
  iovec whole = receive->buffer.part[0];
  std::size_t room = std::min(in.length, whole.iov_len - receive->used);
  in.target = Buffer(static_cast<char*>(whole.iov_base) + receive->used, room);
  receive->used += room;
  ++receive->under_way;
  if (whole.iov_len - receive->used < std::max<std::size_t>(1, least_room())) {
    receive->retired = true;
    posted_[receive->tagged].erase(receive);
  }
}

template <class Head>
Incoming* Transport::new_incoming(std::uint32_t peer, unsigned flags, const Head& head, Protocol protocol) {
  Incoming* in = incomings_.take();
  std::vector<char> early = std::move(in->early);  // its memory is used again
  *in = Incoming();
  in->early = std::move(early);
  in->peer = peer;
  in->tagged = flags & kTagged;
  in->has_data = flags & kHasData;
  in->tag = head.tag;
  in->data = head.data;
  in->length = head.length;
  in->protocol = protocol;
  return in;
}

/// A message begins: sent at once, with its first data, or one that waits. False where it is none.
bool Transport::begin_message(Port& port, std::uint32_t peer, const nic::Message& m) {
  const unsigned flags = flags_of(m.tag);
  if (kind_of(m.tag) == Kind::Eager) {
    EagerHead head;
    if (m.length < sizeof head) return false;
    memcpy(&head, m.data, sizeof head);
    const std::size_t bytes = m.length - sizeof head;
    const Protocol protocol = bytes == head.length ? Protocol::Small : Protocol::Fragments;
    begin(port, new_incoming(peer, flags, head, protocol), m.data + sizeof head, bytes);
    return true;
  }
  RendezvousHead head;
  if (m.length < sizeof head) return false;
  memcpy(&head, m.data, sizeof head);
  Incoming* in = new_incoming(peer, flags, head,
                              model_.rendezvous == 0 ? Protocol::RendezvousGet : Protocol::RendezvousPut);
  in->rendezvous = true;
  in->key = head.key;
  in->id = head.id;
  begin(port, in, nullptr, 0);
  return true;
}

void Transport::begin_in_block(Port& port, std::uint32_t peer, unsigned flags, const EagerHead& head,
                               const void* data, std::size_t bytes) {
  begin(port, new_incoming(peer, flags, head, block_protocol()), data, bytes);
}

/// A message's envelope is here, with its first data.
void Transport::begin(Port& port, Incoming* in, const void* data, std::size_t bytes) {
  charge(port, model_.receive_cost, in->protocol);
  if (Receive* receive = match(port, *in)) {
    ++sums_.expected;
    attach(*in, receive);
  } else {
    ++sums_.unexpected;
    unexpected_[in->tagged].push_back(in);
    sums_.most_unexpected =
        std::max<std::uint64_t>(sums_.most_unexpected, unexpected_[0].size() + unexpected_[1].size());
    if (!in->rendezvous && in->length) {
      in->has_early = true;
      in->early.resize(in->length);
    }
  }
  if (in->rendezvous) {
    if (in->receive) pull(port, in);
    return;
  }
  store(port, *in, data, bytes);
  if (in->arrived < in->length) {
    peers_[in->peer]->assembling = in;
  } else if (in->receive) {
    complete(port, in, 0);
  }
}

/// More data of a message that has begun.
void Transport::more(Port& port, Peer& peer, Incoming* in, const void* data, std::size_t bytes) {
  store(port, *in, data, bytes);
  if (in->arrived < in->length) return;
  peer.assembling = nullptr;
  if (in->receive) complete(port, in, 0);
}

/// Data of a message sent at once: to its receive, or aside until there is one. An interface that matches
/// writes to the right place itself.
void Transport::store(Port& port, Incoming& in, const void* data, std::size_t bytes) {
  bytes = std::min(bytes, in.length - in.arrived);
  if (in.has_early) {
    if (bytes) memcpy(in.early.data() + in.arrived, data, bytes);
  } else if (in.arrived < in.target.length) {
    in.target.write(in.arrived, data, std::min(bytes, in.target.length - in.arrived));
  }
  if (in.has_early || model_.matching == 0) copied(port, bytes, in.protocol);
  in.arrived += bytes;
}

/// What came before its receive goes where it belongs.
void Transport::take_early(Port& port, Incoming& in) {
  if (!in.has_early) return;
  const std::size_t bytes = std::min(in.arrived, in.target.length);
  in.target.write(0, in.early.data(), bytes);
  copied(port, bytes, in.protocol);
  in.has_early = false;
}

/// A message is wholly there, or has failed: its receive is done.
void Transport::complete(Port& port, Incoming* in, int error) {
  Receive* receive = in->receive;
  bool last = false;
  if (receive->multi) {
    --receive->under_way;
    last = receive->retired && !receive->under_way;
  }
  received(port, *in, std::min(in->length, in->target.length), error, last);
  if (!receive->multi || last) receives_.give(receive);
  incomings_.give(in);
}

/// A message that waited for its receive has one: its data may come.
void Transport::pull(Port& port, Incoming* in) {
  Request& request = new_request(Request::Kind::Receive, in->peer);
  request.incoming = in;
  request.protocol = in->protocol;
  request.buffer = in->target;
  request.length = std::min(in->length, in->target.length);
  const bool get = model_.rendezvous == 0;
  std::uint64_t key = 0;
  if (request.length && register_buffer(port, request, get ? 0 : nic::kRemoteWrite, key) != 0)
    request.error = EIO;
  if (request.error || (get && request.length == 0)) return pulled(port, request);
  if (get) {
    const bool notify = model_.ack == 1 && request.length == in->length;
    return move(port, request, nic::Operation::Get, {peers_[in->peer]->address, in->key, 0, in->id}, key, 0,
                notify ? nic::kNotifyRemote : 0);
  }
  ClearHead head{in->id, request.id, key, static_cast<std::uint32_t>(request.length), 0};
  counts(Protocol::Control, 0);
  small(port, in->peer, Kind::Clear, 0, &head, sizeof head);
}

/// The data of such a message is here.
void Transport::pulled(Port& port, Request& request) {
  Incoming* in = request.incoming;
  if (request.has_bounce) {
    request.buffer.write(0, request.bounce.data(), request.length);
    copied(port, request.length, request.protocol);
  }
  const int error = request.error;
  const bool told = model_.ack == 1 && request.length == in->length && !error;
  if (model_.rendezvous == 0 && !told) {
    FinishedHead head{in->id, error ? 1u : 0u};
    counts(Protocol::Control, 0);
    small(port, in->peer, Kind::Finished, 0, &head, sizeof head);
  }
  done(port, request);
  complete(port, in, error);
}

Incoming* Transport::find_unexpected(Port& port, const Receive& wanted, bool take_out) {
  std::uint64_t compared = 0;
  Incoming* found = nullptr;
  for (Incoming* at = unexpected_[wanted.tagged].first(); at && !found; at = at->next) {
    ++compared;
    if (fits(wanted, *at)) found = at;
  }
  if (found && take_out) unexpected_[wanted.tagged].erase(found);
  sums_.compared += compared;
  if (model_.matching == 0)
    charge(port, abi::bounded(static_cast<__int128>(compared) * model_.match_cost), Protocol::Small);
  return found;
}

/// A receive for a message that came before it.
void Transport::take_unexpected(Port& port, Incoming* in, const Receive& wanted) {
  attach(*in, new_receive(wanted));
  if (in->rendezvous) return pull(port, in);
  take_early(port, *in);
  if (in->arrived >= in->length) complete(port, in, 0);
}

void Transport::receive(Port& port, const Receive& wanted) {
  if (wanted.multi) return receive_several(port, wanted);
  if (Incoming* in = find_unexpected(port, wanted, true)) {
    take_unexpected(port, in, wanted);
  } else {
    posted_[wanted.tagged].push_back(new_receive(wanted));
  }
}

void Transport::receive_several(Port& port, const Receive& wanted) {
  Receive* receive = new_receive(wanted);
  posted_[wanted.tagged].push_back(receive);
  while (!receive->retired) {
    Incoming* in = find_unexpected(port, wanted, true);
    if (!in) return;
    attach(*in, receive);
    if (in->rendezvous) {
      pull(port, in);
      continue;
    }
    take_early(port, *in);
    if (in->arrived < in->length) continue;
    const bool last = receive->retired && receive->under_way == 1;
    complete(port, in, 0);
    if (last) return;
  }
}

bool Transport::cancel(void* context, Receive& out) {
  for (auto& queue : posted_)
    for (Receive* at = queue.first(); at; at = at->next) {
      if (at->context != context || at->under_way) continue;
      queue.erase(at);
      out = *at;
      receives_.give(at);
      return true;
    }
  return false;
}

}  // namespace weft::mpi
