// Taking what arrived: small messages in the order of their pairs, and the interface's events.
#include <string.h>

#include <algorithm>
#include <utility>

#include "lib/failures.hpp"
#include "lib/fi/engine.hpp"

namespace weft::fi {

using host::Lane;
using host::Protocol;

bool Engine::progress(Lane& lane, const std::deque<Completion>* until) {
  // Where MPI ends, nobody needs anything any more; where it starts, what others send is taken as it comes.
  if (lib::outside() && port->header->phase.load() != host::MpiPhase::Starting) return false;
  bool any = false;
  const host::Costs& costs = port->header->costs;
  if (owed_ && !computing_) lib::move_on(lane, std::exchange(owed_, 0));
  for (;;) {
    if (until && !until->empty()) return any;
    nic::Message* m = lib::next_message(port);
    nic::Event* e = lib::next_event(port);
    std::int64_t seen = lib::outside() ? INT64_MAX : lib::now(lane);
    bool message = m && m->time <= seen && !(e && e->time < m->time);
    if (!message && !(e && e->time <= seen)) return any;
    any = true;
    if (lib::outside()) lib::jump_to(lane, message ? m->time : e->time);
    if (computing_) {
      owed_ += costs.look + costs.receive;
    } else {
      lib::move_on(lane, costs.look + costs.receive);
    }
    if (message) {
      nic::Message copy = *m;
      lib::message_taken(port);
      take(lane, copy);
    } else {
      nic::Event copy = *e;
      lib::event_taken(port);
      take(lane, copy);
    }
  }
}

void Engine::work_until(Lane& lane, std::int64_t time) {
  computing_ = true;
  while (lib::now(lane) < time && (!requests_.empty() || !posted_[0].empty() || !posted_[1].empty())) {
    std::int64_t next = host::kNoDeadline;
    if (const nic::Message* m = lib::next_message(port)) next = m->time;
    if (const nic::Event* e = lib::next_event(port)) next = std::min<std::int64_t>(next, e->time);
    if (next > lane.safe_until || next > time) {
      if (time <= lane.safe_until) break;
      lib::ask(lane, host::Call::Wait, port->index, std::min(next, time), host::kNoRank);
    } else {
      lib::jump_to(lane, next);
    }
    progress(lane);
  }
  computing_ = false;
}

void Engine::take(Lane& lane, const nic::Message& m) {
  std::uint32_t index = peer_of_address({m.node, m.port});
  Peer& peer = *peers_[index];
  bool first = flags_of(m.tag) & kFirst;
  if (first) know(index, sequence_of(m.tag));
  if ((first ? 0 : sequence_of(m.tag)) != peer.expected) {
    ++sums.reordered;
    peer.early.push_back(m);
    return;
  }
  ++peer.expected;
  deliver(lane, index, m);
  while (!peer.early.empty()) {
    auto next = std::find_if(peer.early.begin(), peer.early.end(), [&](const nic::Message& early) {
      return sequence_of(early.tag) == peer.expected;
    });
    if (next == peer.early.end()) return;
    nic::Message copy = *next;
    peer.early.erase(next);
    ++peer.expected;
    deliver(lane, index, copy);
  }
}

void Engine::deliver(Lane& lane, std::uint32_t index, const nic::Message& m) {
  Peer& peer = *peers_[index];
  if (unsigned credits = credits_of(m.tag)) more_credits(lane, index, credits);
  Kind kind = kind_of(m.tag);
  unsigned flags = flags_of(m.tag);
  switch (kind) {
    case Kind::Eager: {
      EagerHead head;
      if (m.length < sizeof head) return;
      memcpy(&head, m.data, sizeof head);
      std::size_t bytes = m.length - sizeof head;
      Protocol protocol = bytes == head.length ? Protocol::Small : Protocol::Fragments;
      Incoming* in = new_incoming(index, flags, head, protocol);
      begin(lane, in, m.data + sizeof head, bytes);
      break;
    }
    case Kind::More:
      if (Incoming* in = peer.assembling) more(lane, peer, in, m.data, m.length);
      break;
    case Kind::Request: {
      RendezvousHead head;
      if (m.length < sizeof head) return;
      memcpy(&head, m.data, sizeof head);
      Incoming* in = new_incoming(index, flags, head,
                                  model.rendezvous == 0 ? Protocol::RendezvousGet : Protocol::RendezvousPut);
      in->rendezvous = true;
      in->key = head.key;
      in->id = head.id;
      begin(lane, in, nullptr, 0);
      break;
    }
    case Kind::Clear:
      clear_to_send(lane, m);
      break;
    case Kind::Finished: {
      FinishedHead head;
      if (m.length < sizeof head) return;
      memcpy(&head, m.data, sizeof head);
      Request* request = request_of(head.id);
      if (!request) break;
      if (head.failed) request->error = FI_EIO;
      data_moved(lane, *request);
      break;
    }
    case Kind::Atomic:
      atomic_request(lane, index, m);
      break;
    case Kind::AtomicReply:
      atomic_reply(lane, m);
      break;
    case Kind::RemoteData:
      remote_data(lane, m);
      break;
    case Kind::Ask:
      lend(lane, index);
      break;
    case Kind::Grant:
      granted(lane, index, m);
      break;
    case Kind::Block:
    case Kind::BlockMore:
      block_arrived(lane, index, m);
      break;
    case Kind::Credit:
      break;
  }
  if (needs_credit(kind)) consumed_one(lane, peer, flags & kStarved);
}

/// Says what has failed, with the address where there is one that could not be read or written.
void Engine::failed(const Request& r, const nic::Event& e) {
  static constexpr const char* kNames[] = {"a send", "a receive", "a put", "a get", "an atomic operation"};
  const char* why = weft_status_text(static_cast<unsigned>(e.status));
  auto bytes = static_cast<unsigned long long>(e.length);
  auto at =
      static_cast<unsigned long long>(e.status == nic::Status::BadMemory ? e.data : r.whole.remote_offset);
  const void* local = r.buffer.parts ? r.buffer.part[0].iov_base : nullptr;
  FI_WARN(&provider, FI_LOG_EP_DATA, "an operation failed: %s\n", why);
  if (e.status == nic::Status::BadMemory)
    lib::operation_failed("%s of %llu bytes with rank %u: memory at 0x%llx cannot be read or written",
                          kNames[static_cast<unsigned>(r.kind)], bytes, peers_[r.peer]->rank, at);
  else
    lib::operation_failed("%s of %llu bytes at %p with rank %u, offset 0x%llx there: %s",
                          kNames[static_cast<unsigned>(r.kind)], bytes, local, peers_[r.peer]->rank, at, why);
}

void Engine::take(Lane& lane, const nic::Event& e) {
  switch (e.kind) {
    case nic::EventKind::Done:
    case nic::EventKind::Failed: {
      Request* request = request_of(e.context);
      if (!request) return;
      if (e.kind == nic::EventKind::Failed) {
        failed(*request, e);
        request->error =
            e.status == nic::Status::BadKey || e.status == nic::Status::NoRight ? FI_EACCES : FI_EIO;
      }
      if (e.operation >= nic::Operation::FetchAdd && request->result.length)
        request->result.write(0, &e.data, std::min<std::size_t>(8, request->result.length));
      --request->pieces;
      if (request->left && !request->error) {
        move_piece(lane, *request);
      } else if (request->pieces == 0) {
        piece_done(lane, *request);
      }
      return;
    }
    case nic::EventKind::Local:  // a block that was sent from is free again
      send_blocks_.free.push_back(static_cast<std::uint16_t>(e.context >> 32));
      for (std::uint32_t peer = 0; waiting_ && peer < peers_.size(); ++peer) flush(lane, peer);
      return;
    case nic::EventKind::Arrived:
    case nic::EventKind::Responded: {
      if (e.data & kOperationHere && !(e.data & kBlockArrived)) return operation_here(lane, e);
      if (e.data & kBlockArrived) {
        nic::Message m;  // it takes its place among the messages of the pair
        m.node = e.node;
        m.port = e.port;
        m.tag = static_cast<std::uint32_t>(e.data);
        auto block = static_cast<std::uint32_t>((e.data & ~kBlockArrived) >> 32);
        memcpy(m.data, &block, sizeof block);
        m.length = sizeof block;
        return take(lane, m);
      }
      Request* request = request_of(e.data);
      if (!request) return;
      request->moved += e.length;
      if (request->moved == request->length) data_moved(lane, *request);
      return;
    }
    default:
      return;
  }
}

/// The other side has moved all data of a request.
void Engine::data_moved(Lane& lane, Request& request) {
  if (request.kind == Request::Kind::Receive) return pulled(lane, request);
  done(lane, request);
}

/// All pieces of an operation this side moved are done.
void Engine::piece_done(Lane& lane, Request& request) {
  switch (request.kind) {
    case Request::Kind::Receive:
      return pulled(lane, request);
    case Request::Kind::Send:
      if (request.protocol == Protocol::RendezvousPut && (model.ack == 0 || request.error)) {
        FinishedHead head{request.other, request.error ? 1u : 0u};
        small(lane, request.peer, Kind::Finished, 0, &head, sizeof head);
        ++sums.protocol[static_cast<unsigned>(Protocol::Control)].count;
      }
      return done(lane, request);
    case Request::Kind::Get:
      if (request.bounce) {
        request.buffer.write(0, request.bounce.get(), request.length);
        copied(lane, request.length, request.protocol);
      }
      [[fallthrough]];
    case Request::Kind::Put:
    case Request::Kind::Atomic:
      tell_target(lane, request);
      return done(lane, request);
  }
}

}  // namespace weft::fi
