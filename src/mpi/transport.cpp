// What all of the protocol uses: peers, long operations, and what the interface brings.
#include "mpi/transport.hpp"

#include <errno.h>
#include <string.h>

#include <algorithm>
#include <utility>

#include "abi/virtual_time.hpp"

namespace weft::mpi {

Transport::Transport(const abi::MpiModel& model, abi::MpiSums& sums, Limits limits, std::uint16_t generation)
    : model_(model),
      limits_(limits),
      costs_(model, sums),
      pairs_(model, costs_, generation),
      matching_(costs_),
      operations_(model, costs_, limits.rdma),
      blocks_(model, costs_, pairs_, limits.message) {}

// --- Peers.

void Transport::know(Port& port, std::uint32_t index, std::uint16_t generation) {
  Peer& peer = pairs_[index];
  if (std::exchange(peer.known, true) && peer.generation != generation) {
    // What waited for the one before waits in vain.
    const auto& lost = requests_.waiting_sends_to(index);
    pairs_.begin_anew(peer);
    blocks_.begin_anew(peer);
    for (Request* request : lost) {
      request->error = ECONNRESET;
      done(port, *request);
    }
  }
  peer.generation = generation;
}

/// Sends what may go now, in order.
void Transport::flush(Port& port, std::uint32_t index) {
  Peer& peer = pairs_[index];
  while (!peer.waiting.empty()) {
    Waiting& w = peer.waiting.front();
    const bool leaves =
        w.kind == Kind::Block ? blocks_.fill(port, peer, w) : pairs_.transmit_waiting(port, peer, w);
    if (!leaves) return;
    const std::uint32_t owner = pairs_.first_has_left(port, peer);
    if (Request* request = owner ? requests_.find(owner) : nullptr) done(port, *request);
  }
}

void Transport::done(Port& port, Request& r) {
  if (r.local_key) port.release_memory(r.local_key);
  request_ended(port, r);
  requests_.end(r);
}

/// The interface must know memory it is to read or write: the buffer, or a copy of it where it is scattered.
int Transport::register_buffer(Port& port, Request& r, unsigned rights, std::uint64_t& key) {
  if (!r.has_bounce && r.buffer.parts > 1) {
    if (r.kind == Request::Kind::Send || r.kind == Request::Kind::Put) {
      operations_.keep_data(port, r, r.buffer);
    } else {
      r.has_bounce = true;
      r.bounce.resize(r.length);
    }
  }
  void* base = r.has_bounce ? static_cast<void*>(r.bounce.data()) : r.buffer.part[0].iov_base;
  const std::int64_t before = port.now();
  const int result = port.register_memory(base, r.length, rights, key);
  costs_.of(r.protocol).cost += port.now() - before;
  ++costs_.sums().registrations;
  if (result != 0) {
    registration_failed(r, base, -result);
    return result;
  }
  r.local_key = key;
  return 0;
}

// --- What the interface brings: small messages in the order of their pairs, and events.

void Transport::take(Port& port, const nic::Message& m) {
  const std::uint32_t index = peer_of_address({m.node, m.port});
  Peer& peer = pairs_[index];
  if (flags_of(m.tag) & kFirst) know(port, index, sequence_of(m.tag));
  if (!pairs_.is_next(peer, m)) return;
  deliver(port, index, m);
  if (peer.early.empty()) return;
  for (nic::Message kept; pairs_.next_of_early(peer, kept);) deliver(port, index, kept);
}

void Transport::take(Port& port, const nic::Event& e) {
  switch (e.kind) {
    case nic::EventKind::Done:
    case nic::EventKind::Failed:
      return operation_ended(port, e);
    case nic::EventKind::Local:  // a block that was sent from is free again
      blocks_.sent_from(static_cast<std::uint16_t>(e.context >> 32));
      for (std::uint32_t peer = 0; waiting() && peer < pairs_.count(); ++peer) flush(port, peer);
      return;
    case nic::EventKind::Arrived:
    case nic::EventKind::Responded: {
      if (e.data & kOperationHere && !(e.data & kBlockArrived)) return operation_here(port, e);
      if (e.data & kBlockArrived) {
        nic::Message m;  // it takes its place among the messages of the pair
        m.node = e.node;
        m.port = e.port;
        m.tag = static_cast<std::uint32_t>(e.data);
        auto block = static_cast<std::uint32_t>((e.data & ~kBlockArrived) >> 32);
        memcpy(m.data, &block, sizeof block);
        m.length = sizeof block;
        return take(port, m);
      }
      Request* request = requests_.find(e.data);
      if (!request) return;
      request->moved += e.length;
      if (request->moved == request->length) data_moved(port, *request);
      return;
    }
    default:
      return;
  }
}

void Transport::operation_ended(Port& port, const nic::Event& e) {
  Request* request = requests_.find(e.context);
  if (!request) return;
  if (e.kind == nic::EventKind::Failed) {
    operation_failed(*request, e);
    request->error = e.status == nic::Status::BadKey || e.status == nic::Status::NoRight ? EACCES : EIO;
  }
  if (nic::is_atomic(e.operation) && request->result.length)
    request->result.write(0, &e.data, std::min<std::size_t>(8, request->result.length));
  --request->pieces;
  if (request->left && !request->error) {
    operations_.next_piece(port, *request);
  } else if (request->pieces == 0) {
    piece_done(port, *request);
  }
}

/// The other side has moved all data of a request.
void Transport::data_moved(Port& port, Request& request) {
  if (request.kind == Request::Kind::Receive) return pulled(port, request);
  done(port, request);
}

/// All pieces of an operation this side moved are done.
void Transport::piece_done(Port& port, Request& request) {
  switch (request.kind) {
    case Request::Kind::Receive:
      return pulled(port, request);
    case Request::Kind::Send:
      if (request.protocol == Protocol::RendezvousPut && (model_.ack == 0 || request.error)) {
        FinishedHead head{request.other, request.error ? 1u : 0u};
        pairs_.small(port, request.peer, Kind::Finished, 0, &head, sizeof head);
        costs_.counts(Protocol::Control, 0);
      }
      return done(port, request);
    case Request::Kind::Get:
    case Request::Kind::Put:
    case Request::Kind::Atomic:
      one_sided_done(port, request);
      return done(port, request);
  }
}

void Transport::finished(Port& port, const nic::Message& m) {
  FinishedHead head;
  if (m.length < sizeof head) return;
  memcpy(&head, m.data, sizeof head);
  Request* request = requests_.find(head.id);
  if (!request) return;
  if (head.failed) request->error = EIO;
  data_moved(port, *request);
}

void Transport::granted(Port& port, std::uint32_t index, const nic::Message& m) {
  const BlockChannel::Grant grant = blocks_.granted(pairs_[index], m);
  if (grant == BlockChannel::Grant::Blocks) flush(port, index);
  if (grant == BlockChannel::Grant::Refused) refused_blocks(port, index);
}

void Transport::deliver(Port& port, std::uint32_t index, const nic::Message& m) {
  Peer& peer = pairs_[index];
  if (unsigned credits = credits_of(m.tag)) {
    peer.credits += credits;
    flush(port, index);
  }
  const Kind kind = kind_of(m.tag);
  const unsigned flags = flags_of(m.tag);
  switch (kind) {
    case Kind::Eager:
    case Kind::Request:
      if (!begin_message(port, index, m)) return;
      break;
    case Kind::More:
      if (Incoming* in = peer.assembling) more(port, peer, in, m.data, m.length);
      break;
    case Kind::Clear:
      clear_to_send(port, m);
      break;
    case Kind::Finished:
      finished(port, m);
      break;
    case Kind::RequestBlocks:
      blocks_.lend(port, index);
      break;
    case Kind::Grant:
      granted(port, index, m);
      break;
    case Kind::Block:
    case Kind::BlockMore:
      block_arrived(port, index, m);
      break;
    case Kind::Credit:
      break;
    default:
      other_message(port, index, m);
  }
  if (needs_credit(kind)) pairs_.consumed_one(port, peer, flags & kStarved);
}

}  // namespace weft::mpi
