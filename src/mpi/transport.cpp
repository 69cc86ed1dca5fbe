// What all of the protocol uses: costs, small messages and credits, requests, and what the interface brings.
#include "mpi/transport.hpp"

#include <errno.h>
#include <string.h>

#include <algorithm>
#include <utility>

#include "abi/virtual_time.hpp"

namespace weft::mpi {

namespace {

// A request's id: its place, from 1, and how often the place was used before.
constexpr std::uint32_t kPlaceBits = 24, kPlaces = 1u << kPlaceBits;

}  // namespace

Transport::Transport(const abi::MpiModel& model, abi::MpiSums& sums, Limits limits, std::uint16_t generation)
    : model_(model), sums_(sums), limits_(limits), generation_(generation) {}

void Transport::counts(Protocol protocol, std::size_t bytes) {
  auto& sum = sums_.protocol[static_cast<unsigned>(protocol)];
  ++sum.count;
  sum.bytes += bytes;
}

void Transport::charge(Port& port, std::int64_t time, Protocol protocol) {
  port.work(time);
  std::int64_t& sum = sums_.protocol[static_cast<unsigned>(protocol)].cost;
  sum = abi::bounded(static_cast<__int128>(sum) + time);
}

void Transport::copied(Port& port, std::size_t bytes, Protocol protocol) {
  sums_.copied += bytes;
  charge(port, abi::bounded(static_cast<__int128>(bytes) * 8 * abi::kSecond / model_.copy_bits_per_second),
         protocol);
}

// --- Peers.

std::uint32_t Transport::peer_of_address(Address address) {
  std::uint64_t key = std::uint64_t{address.node} << 32 | address.port;
  auto [found, fresh] = peer_of_.try_emplace(key, static_cast<std::uint32_t>(peers_.size()));
  if (fresh) {
    auto peer = std::make_unique<Peer>();
    peer->address = address;
    peer->credits = peer->granted = model_.credits;
    peers_.push_back(std::move(peer));
  }
  return found->second;
}

void Transport::know(Port& port, std::uint32_t index, std::uint16_t generation) {
  Peer& peer = *peers_[index];
  if (std::exchange(peer.known, true) && peer.generation != generation) {
    // What waited for the one before waits in vain.
    lost_.clear();
    for (auto& request : requests_)
      if (request->order && request->peer == index && request->kind == Request::Kind::Send &&
          !request->pieces)
        lost_.push_back(request.get());
    std::sort(lost_.begin(), lost_.end(),
              [](const Request* a, const Request* b) { return a->order < b->order; });
    begin_anew(peer);
    for (Request* request : lost_) {
      request->error = ECONNRESET;
      done(port, *request);
    }
  }
  peer.generation = generation;
}

/// All that was agreed with the endpoint before is void. What came too early is the new one's: the port was
/// closed when all of the old one's had arrived.
void Transport::begin_anew(Peer& peer) {
  peer.sent = peer.expected = 0;
  peer.greeted = peer.starved = peer.requested_blocks = peer.refused = false;
  peer.assembling = nullptr;
  peer.credits = peer.granted = model_.credits;
  peer.consumed = 0;
  waiting_ -= static_cast<unsigned>(peer.waiting.size());
  peer.waiting.clear();
  peer.block_key = 0;
  peer.blocks.clear();
  // A ring is whole again. Which blocks of the pool the old one had nobody knows: they are lost to it.
  peer.emptied.clear();
  for (unsigned i = 0; peer.ring && i < model_.ring_blocks; ++i)
    peer.emptied.push_back(static_cast<std::uint16_t>(i));
  peer.lent = static_cast<std::uint32_t>(peer.emptied.size());
}

// --- Small messages and credits.

std::uint32_t Transport::next_tag(Peer& peer, Kind kind, unsigned flags, unsigned credits) {
  std::uint16_t sequence = peer.sent++;
  if (!std::exchange(peer.greeted, true)) {
    flags |= kFirst;
    sequence = generation_;
  }
  return tag_word(kind, flags, credits, sequence);
}

void Transport::small(Port& port, std::uint32_t to, Kind kind, unsigned flags, const void* head,
                      std::size_t head_bytes, const void* data, std::size_t bytes, std::uint32_t request) {
  Peer& peer = *peers_[to];
  // What starts something keeps its order; answers overtake what waits, or two could wait for each other.
  const bool ordered = needs_credit(kind), pays = ordered && model_.credits;
  const bool waits = ordered && ((pays && !peer.credits) || !peer.waiting.empty());
  Waiting now;
  Waiting& w = waits ? peer.waiting.push() : now;
  w.kind = kind;
  w.flags = flags;
  w.length = static_cast<std::uint32_t>(head_bytes + bytes);
  w.request = request;
  w.owner = 0;
  if (head_bytes) memcpy(w.data, head, head_bytes);
  if (bytes) memcpy(w.data + head_bytes, data, bytes);
  if (waits) {
    if (pays && !peer.starved) ++sums_.stalls;
    peer.starved |= pays;
    ++waiting_;
    return;
  }
  if (pays) --peer.credits;
  transmit(port, peer, w);
}

void Transport::transmit(Port& port, Peer& peer, const Waiting& w) {
  std::uint32_t back = std::min(peer.consumed, 255u);
  peer.consumed -= back;
  unsigned flags = w.flags;
  if (peer.starved) flags |= kStarved;
  peer.starved = false;
  nic::Descriptor d;
  d.operation = nic::Operation::Message;
  d.node = peer.address.node;
  d.port = peer.address.port;
  d.tag = next_tag(peer, w.kind, flags, back);
  d.length = w.length;
  if (w.request) {
    d.flags = nic::kNotifyDone;
    d.context = w.request;
  }
  memcpy(d.data, w.data, w.length);
  port.post(d);
}

/// Sends what may go now, in order.
void Transport::flush(Port& port, std::uint32_t index) {
  Peer& peer = *peers_[index];
  while (!peer.waiting.empty()) {
    Waiting& w = peer.waiting.front();
    if (w.kind == Kind::Block) {
      if (!fill_blocks(port, peer, w)) return;
    } else {
      bool pays = model_.credits && needs_credit(w.kind);
      if (pays && !peer.credits) return;
      if (pays) --peer.credits;
      transmit(port, peer, w);
    }
    std::uint32_t owner = w.owner;
    peer.waiting.pop_front();
    --waiting_;
    if (Request* request = owner ? request_of(owner) : nullptr) done(port, *request);
  }
}

/// A receiver gives credit back when half of it is used up, and twice as much to those who had to wait for
/// it.
void Transport::consumed_one(Port& port, Peer& peer, bool starved) {
  if (!model_.credits) return;
  ++peer.consumed;
  if (starved && peer.granted < model_.credits_most) {
    std::uint32_t more = std::min(peer.granted, model_.credits_most - peer.granted);
    peer.granted += more;
    peer.consumed += more;
    ++sums_.credits_grown;
  }
  if (peer.consumed * 2 < peer.granted) return;
  Waiting w;
  w.kind = Kind::Credit;
  counts(Protocol::Control, 0);
  transmit(port, peer, w);
}

// --- Requests.

Request& Transport::new_request(Request::Kind kind, std::uint32_t peer) {
  if (free_requests_.empty()) {
    requests_.push_back(std::make_unique<Request>());
    requests_.back()->id = static_cast<std::uint32_t>(requests_.size());
    free_requests_.push_back(static_cast<std::uint32_t>(requests_.size() - 1));
  }
  Request& r = *requests_[free_requests_.back()];
  free_requests_.pop_back();
  Request fresh;  // but for the memory it holds
  fresh.bounce.swap(r.bounce);
  fresh.id = r.id;
  fresh.kind = kind;
  fresh.peer = peer;
  fresh.order = ++requests_ever_;
  r = std::move(fresh);
  ++requests_open_;
  if (kind >= Request::Kind::Put) ++one_sided_under_way_;
  return r;
}

Request* Transport::request_of(std::uint64_t id) {
  const auto word = static_cast<std::uint32_t>(id);
  const std::uint32_t place = word % kPlaces;
  if (place == 0 || place > requests_.size()) return nullptr;
  Request& r = *requests_[place - 1];
  return r.order && r.id == word ? &r : nullptr;
}

void Transport::done(Port& port, Request& r) {
  if (r.local_key) port.release_memory(r.local_key);
  request_ended(port, r);
  forget(r);
}

void Transport::forget(Request& r) {
  if (r.kind >= Request::Kind::Put) --one_sided_under_way_;
  --requests_open_;
  r.order = 0;
  free_requests_.push_back(r.id % kPlaces - 1);
  r.id += kPlaces;
}

void Transport::keep_data(Port& port, Request& r, const Buffer& from) {
  r.has_bounce = true;
  r.bounce.resize(r.length);
  from.read(0, r.bounce.data(), r.length);
  copied(port, r.length, r.protocol);
}

/// The interface must know memory it is to read or write: the buffer, or a copy of it where it is scattered.
int Transport::register_buffer(Port& port, Request& r, unsigned rights, std::uint64_t& key) {
  if (!r.has_bounce && r.buffer.parts > 1) {
    if (r.kind == Request::Kind::Send || r.kind == Request::Kind::Put) {
      keep_data(port, r, r.buffer);
    } else {
      r.has_bounce = true;
      r.bounce.resize(r.length);
    }
  }
  void* base = r.has_bounce ? static_cast<void*>(r.bounce.data()) : r.buffer.part[0].iov_base;
  const std::int64_t before = port.now();
  const int result = port.register_memory(base, r.length, rights, key);
  sums_.protocol[static_cast<unsigned>(r.protocol)].cost += port.now() - before;
  ++sums_.registrations;
  if (result != 0) {
    registration_failed(r, base, -result);
    return result;
  }
  r.local_key = key;
  return 0;
}

/// One long operation, in pieces as long as the interface takes, and as many at a time as may be.
void Transport::move(Port& port, Request& r, nic::Operation operation, const Remote& remote,
                     std::uint64_t local_key, std::uint64_t local_offset, unsigned flags) {
  nic::Descriptor& d = r.whole;
  d.operation = operation;
  d.flags = static_cast<std::uint16_t>(nic::kNotifyDone | flags);
  d.node = remote.owner.node;
  d.port = remote.owner.port;
  d.remote_key = remote.key;
  d.remote_offset = remote.offset;
  d.local_key = local_key;
  d.local_offset = local_offset;
  d.operand = remote.operand;
  d.context = r.id;
  r.left = r.length;
  const unsigned most = r.protocol == Protocol::RendezvousGet ? model_.gets : ~0u;
  while (r.left && r.pieces < most) move_piece(port, r);
}

void Transport::move_piece(Port& port, Request& r) {
  std::uint64_t most = limits_.rdma;
  if (r.protocol == Protocol::RendezvousGet) most = std::min(most, model_.get_size);
  nic::Descriptor d = r.whole;
  d.length = std::min<std::uint64_t>(most, r.left);
  d.remote_offset += r.length - r.left;
  d.local_offset += r.length - r.left;
  r.left -= d.length;
  ++r.pieces;
  port.post(d);
}

// --- What the interface brings: small messages in the order of their pairs, and events.

void Transport::take(Port& port, const nic::Message& m) {
  std::uint32_t index = peer_of_address({m.node, m.port});
  Peer& peer = *peers_[index];
  bool first = flags_of(m.tag) & kFirst;
  if (first) know(port, index, sequence_of(m.tag));
  if ((first ? 0 : sequence_of(m.tag)) != peer.expected) {
    ++sums_.reordered;
    peer.early.push_back(m);
    return;
  }
  ++peer.expected;
  deliver(port, index, m);
  while (!peer.early.empty()) {
    auto next = std::find_if(peer.early.begin(), peer.early.end(), [&](const nic::Message& early) {
      return sequence_of(early.tag) == peer.expected;
    });
    if (next == peer.early.end()) return;
    nic::Message copy = *next;
    peer.early.erase(next);
    ++peer.expected;
    deliver(port, index, copy);
  }
}

void Transport::take(Port& port, const nic::Event& e) {
  switch (e.kind) {
    case nic::EventKind::Done:
    case nic::EventKind::Failed:
      return operation_ended(port, e);
    case nic::EventKind::Local:  // a block that was sent from is free again
      send_blocks_.free.push_back(static_cast<std::uint16_t>(e.context >> 32));
      for (std::uint32_t peer = 0; waiting_ && peer < peers_.size(); ++peer) flush(port, peer);
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
      Request* request = request_of(e.data);
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
  Request* request = request_of(e.context);
  if (!request) return;
  if (e.kind == nic::EventKind::Failed) {
    operation_failed(*request, e);
    request->error = e.status == nic::Status::BadKey || e.status == nic::Status::NoRight ? EACCES : EIO;
  }
  if (e.operation >= nic::Operation::FetchAdd && request->result.length)
    request->result.write(0, &e.data, std::min<std::size_t>(8, request->result.length));
  --request->pieces;
  if (request->left && !request->error) {
    move_piece(port, *request);
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
        small(port, request.peer, Kind::Finished, 0, &head, sizeof head);
        counts(Protocol::Control, 0);
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
  Request* request = request_of(head.id);
  if (!request) return;
  if (head.failed) request->error = EIO;
  data_moved(port, *request);
}

void Transport::deliver(Port& port, std::uint32_t index, const nic::Message& m) {
  Peer& peer = *peers_[index];
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
      lend(port, index);
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
  if (needs_credit(kind)) consumed_one(port, peer, flags & kStarved);
}

}  // namespace weft::mpi
