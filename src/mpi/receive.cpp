// Receiving messages: what has arrived goes to its receive, or is kept until there is one.
#include <errno.h>
#include <string.h>

#include <algorithm>

#include "abi/virtual_time.hpp"
#include "mpi/transport.hpp"

namespace weft::mpi {

/// A message begins: sent at once, with its first data, or one that waits. False where it is none.
bool Transport::begin_message(Port& port, std::uint32_t peer, const nic::Message& m) {
  const unsigned flags = flags_of(m.tag);
  if (kind_of(m.tag) == Kind::Eager) {
    EagerHead head;
    if (m.length < sizeof head) return false;
    memcpy(&head, m.data, sizeof head);
    const std::size_t bytes = m.length - sizeof head;
    const Protocol protocol = bytes == head.length ? Protocol::Small : Protocol::Fragments;
    begin(port, matching_.new_incoming(peer, flags, head, protocol), m.data + sizeof head, bytes);
    return true;
  }
  RendezvousHead head;
  if (m.length < sizeof head) return false;
  memcpy(&head, m.data, sizeof head);
  Incoming* in = matching_.new_incoming(
      peer, flags, head, model_.rendezvous == 0 ? Protocol::RendezvousGet : Protocol::RendezvousPut);
  in->rendezvous = true;
  in->key = head.key;
  in->id = head.id;
  begin(port, in, nullptr, 0);
  return true;
}

/// A message's envelope is here, with its first data.
void Transport::begin(Port& port, Incoming* in, const void* data, std::size_t bytes) {
  costs_.charge(port, model_.receive_cost, in->protocol);
  if (Receive* receive = matching_.match(port, *in)) {
    ++costs_.sums().expected;
    matching_.attach(*in, receive, least_room());
  } else {
    ++costs_.sums().unexpected;
    matching_.keep(in);
  }
  if (in->rendezvous) {
    if (in->receive) pull(port, in);
    return;
  }
  store(port, *in, data, bytes);
  if (in->arrived < in->length) {
    pairs_[in->peer].assembling = in;
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
  if (in.has_early || model_.matching == 0) costs_.copied(port, bytes, in.protocol);
  in.arrived += bytes;
}

/// What came before its receive goes where it belongs.
void Transport::take_early(Port& port, Incoming& in) {
  if (!in.has_early) return;
  const std::size_t bytes = std::min(in.arrived, in.target.length);
  in.target.write(0, in.early.data(), bytes);
  costs_.copied(port, bytes, in.protocol);
  in.has_early = false;
}

/// A message is wholly there, or has failed: its receive is done.
void Transport::complete(Port& port, Incoming* in, int error) {
  const bool last = matching_.detach(*in);
  received(port, *in, std::min(in->length, in->target.length), error, last);
  matching_.end(in, last);
}

/// Does the sender's interface tell it that its data has been read? Not where what was read may not have come
/// whole, and is read again.
bool Transport::told_by_interface(const Request& request, const Incoming& in) const {
  return model_.ack == 1 && request.length == in.length && !model_.reliable;
}

/// A message that waited for its receive has one: its data may come.
void Transport::pull(Port& port, Incoming* in) {
  Request& request = requests_.begin(Request::Kind::Receive, in->peer);
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
    const bool notify = told_by_interface(request, *in);
    return operations_.begin(port, request, nic::Operation::Get,
                             {pairs_[in->peer].address, in->key, 0, in->id}, key, 0,
                             notify ? nic::kNotifyRemote : 0);
  }
  ClearHead head{in->id, request.id, key, static_cast<std::uint32_t>(request.length), 0};
  costs_.counts(Protocol::Control, 0);
  pairs_.small(port, in->peer, Kind::Clear, 0, &head, sizeof head);
}

/// The data of such a message is here.
void Transport::pulled(Port& port, Request& request) {
  Incoming* in = request.incoming;
  if (request.has_bounce) {
    request.buffer.write(0, request.bounce.data(), request.length);
    costs_.copied(port, request.length, request.protocol);
  }
  const int error = request.error;
  const bool told = told_by_interface(request, *in) && !error;
  if (model_.rendezvous == 0 && !told) {
    FinishedHead head{in->id, error ? 1u : 0u};
    costs_.counts(Protocol::Control, 0);
    pairs_.small(port, in->peer, Kind::Finished, 0, &head, sizeof head);
  }
  done(port, request);
  complete(port, in, error);
}

/// A receive for a message that came before it.
void Transport::take_unexpected(Port& port, Incoming* in, const Receive& wanted) {
  matching_.attach(*in, matching_.new_receive(wanted), least_room());
  if (in->rendezvous) return pull(port, in);
  take_early(port, *in);
  if (in->arrived >= in->length) complete(port, in, 0);
}

/// A block of a message has arrived: its first, which has the head, or one more.
void Transport::block_arrived(Port& port, std::uint32_t index, const nic::Message& m) {
  Peer& peer = pairs_[index];
  std::uint32_t block;
  memcpy(&block, m.data, sizeof block);
  const auto contents = blocks_.contents(peer, block);
  if (!contents) return;
  const unsigned flags = flags_of(m.tag);
  if (kind_of(m.tag) == Kind::Block) {
    EagerHead head;
    if (contents->size() < sizeof head) return;
    memcpy(&head, contents->data(), sizeof head);
    begin(port, matching_.new_incoming(index, flags, head, blocks_.protocol()),
          contents->data() + sizeof head, contents->size() - sizeof head);
  } else if (Incoming* in = peer.assembling) {
    more(port, peer, in, contents->data(), contents->size());
  }
  blocks_.emptied(port, index, block, flags & kStarved);
}

void Transport::receive(Port& port, const Receive& wanted) {
  if (wanted.multi) return receive_several(port, wanted);
  if (Incoming* in = matching_.find_unexpected(port, wanted, true)) {
    take_unexpected(port, in, wanted);
  } else {
    matching_.post(matching_.new_receive(wanted));
  }
}

void Transport::receive_several(Port& port, const Receive& wanted) {
  Receive* receive = matching_.new_receive(wanted);
  matching_.post(receive);
  while (!receive->retired) {
    Incoming* in = matching_.find_unexpected(port, wanted, true);
    if (!in) return;
    matching_.attach(*in, receive, least_room());
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

}  // namespace weft::mpi
