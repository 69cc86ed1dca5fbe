// What all of the engine uses: costs, small messages and credits, requests.
#include "lib/fi/engine.hpp"

#include <string.h>

#include <algorithm>
#include <utility>

#include "lib/clocks.hpp"
#include "lib/failures.hpp"

namespace weft::fi {

using host::Lane;
using host::Protocol;

Buffer::Buffer(const iovec* v, std::size_t count) : parts(static_cast<unsigned>(count)) {
  for (unsigned i = 0; i < parts; ++i) {
    part[i] = v[i];
    length += v[i].iov_len;
  }
}

Buffer::Buffer(const void* base, std::size_t bytes) : parts(1), length(bytes) {
  part[0] = {const_cast<void*>(base), bytes};
}

namespace {

/// Calls `visit(address, bytes)` for each part of [offset, offset + bytes).
template <class Visit>
void for_parts(const Buffer& b, std::size_t offset, std::size_t bytes, Visit visit) {
  for (unsigned i = 0; i < b.parts && bytes; ++i) {
    if (offset >= b.part[i].iov_len) {
      offset -= b.part[i].iov_len;
      continue;
    }
    std::size_t here = std::min(bytes, b.part[i].iov_len - offset);
    visit(static_cast<char*>(b.part[i].iov_base) + offset, here);
    bytes -= here;
    offset = 0;
  }
}

}  // namespace

void Buffer::write(std::size_t offset, const void* from, std::size_t bytes) const {
  auto* at = static_cast<const char*>(from);
  for_parts(*this, offset, bytes, [&](char* part_at, std::size_t here) {
    memcpy(part_at, at, here);
    at += here;
  });
}

void Buffer::read(std::size_t offset, void* to, std::size_t bytes) const {
  auto* at = static_cast<char*>(to);
  for_parts(*this, offset, bytes, [&](char* part_at, std::size_t here) {
    memcpy(at, part_at, here);
    at += here;
  });
}

Engine::Engine(Endpoint& e, weft_port* p, bool own_port)
    : endpoint(e),
      port(p),
      sums(p->header->sums),
      model(p->header->mpi),
      own_port_(own_port),
      small_limit_(p->header->limits.message_limit) {
  static std::uint16_t opened = 0;  // by this process; ranks of a node may take over each other's ports
  generation_ = static_cast<std::uint16_t>(p->header->rank * 131 + opened++);
}

Engine::~Engine() {
  for (auto& queue : posted_)
    for (Receive* r : queue) delete r;
  for (auto& queue : unexpected_)
    for (Incoming* in : queue) delete in;
  if (own_port_) weft_close(port);
}

std::uint32_t Engine::awaited_rank() const {
  std::uint32_t rank = host::kNoRank;
  for (const auto& queue : posted_)
    for (const Receive* r : queue) {
      if (r->peer == kAnyPeer || (rank != host::kNoRank && rank != peers_[r->peer]->rank))
        return host::kNoRank;
      rank = peers_[r->peer]->rank;
    }
  return rank;
}

void Engine::charge(Lane& lane, std::int64_t time, Protocol protocol) {
  if (computing_)
    owed_ += time;
  else
    lib::move_on(lane, time);
  std::int64_t& sum = sums.protocol[static_cast<unsigned>(protocol)].cost;
  sum = lib::bounded(static_cast<__int128>(sum) + time);
}

void Engine::copied(Lane& lane, std::size_t bytes, Protocol protocol) {
  sums.copied += bytes;
  charge(lane, lib::bounded(static_cast<__int128>(bytes) * 8 * lib::kSecond / model.copy_bits_per_second),
         protocol);
}

void Engine::post(Lane& lane, nic::Descriptor& d) {
  while (lib::queue_full(port))
    lib::ask(lane, host::Call::Room, port->index, host::kNoDeadline, host::kNoRank);
  lib::post_now(port, lane, d);
}

void Engine::small(Lane& lane, std::uint32_t to, Kind kind, unsigned flags, const void* head,
                   std::size_t head_bytes, const void* data, std::size_t bytes, std::uint32_t request) {
  Peer& peer = *peers_[to];
  Waiting w{};
  w.kind = kind;
  w.flags = flags;
  w.length = static_cast<std::uint32_t>(head_bytes + bytes);
  w.request = request;
  if (head_bytes) memcpy(w.data, head, head_bytes);
  if (bytes) memcpy(w.data + head_bytes, data, bytes);
  // What starts something keeps its order; answers overtake what waits, or two could wait for each other.
  bool ordered = needs_credit(kind), pays = ordered && model.credits;
  if (ordered && ((pays && !peer.credits) || !peer.waiting.empty())) {
    if (pays && !peer.starved) ++sums.stalls;
    peer.starved |= pays;
    peer.waiting.push_back(std::move(w));
    ++waiting_;
    return;
  }
  if (pays) --peer.credits;
  transmit(lane, peer, w);
}

void Engine::transmit(Lane& lane, Peer& peer, const Waiting& w) {
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
  post(lane, d);
}

void Engine::more_credits(Lane& lane, std::uint32_t peer, unsigned credits) {
  peers_[peer]->credits += credits;
  flush(lane, peer);
}

/// Sends what may go now, in order.
void Engine::flush(Lane& lane, std::uint32_t index) {
  Peer& peer = *peers_[index];
  while (!peer.waiting.empty()) {
    Waiting& w = peer.waiting.front();
    if (w.kind == Kind::Block) {
      if (!fill_blocks(lane, peer, w)) return;
    } else {
      bool pays = model.credits && needs_credit(w.kind);
      if (pays && !peer.credits) return;
      if (pays) --peer.credits;
      transmit(lane, peer, w);
    }
    std::uint32_t owner = w.owner;
    peer.waiting.pop_front();
    --waiting_;
    if (Request* request = owner ? request_of(owner) : nullptr) done(lane, *request);
  }
}

/// A receiver gives credit back when half of it is used up, and twice as much to those who had to wait for
/// it.
void Engine::consumed_one(Lane& lane, Peer& peer, bool starved) {
  if (!model.credits) return;
  ++peer.consumed;
  if (starved && peer.granted < model.credits_most) {
    std::uint32_t more = std::min(peer.granted, model.credits_most - peer.granted);
    peer.granted += more;
    peer.consumed += more;
    ++sums.credits_grown;
  }
  if (peer.consumed * 2 < peer.granted) return;
  Waiting w{};
  w.kind = Kind::Credit;
  ++sums.protocol[static_cast<unsigned>(Protocol::Control)].count;
  transmit(lane, peer, w);
}

void Engine::drain(Lane& lane) {
  while (waiting_) {
    if (progress(lane)) continue;
    lib::ask(lane, host::Call::Wait, port->index, host::kNoDeadline, host::kNoRank);
  }
}

void Engine::entry(Lane& lane, Cq* cq, Completion c) {
  c.time = lib::now(lane);
  cq->entries.push_back(c);
  now_ready(*cq);
}

Request& Engine::new_request(Request::Kind kind, std::uint32_t peer) {
  do ++last_request_;
  while (!last_request_ || requests_.contains(last_request_));
  auto& slot = requests_[last_request_] = std::make_unique<Request>();
  slot->kind = kind;
  slot->id = last_request_;
  slot->peer = peer;
  if (kind >= Request::Kind::Put) ++one_sided_under_way;
  return *slot;
}

Request* Engine::request_of(std::uint64_t id) {
  auto found = requests_.find(static_cast<std::uint32_t>(id));
  return found == requests_.end() ? nullptr : found->second.get();
}

/// Its end is told, and it is forgotten.
void Engine::done(Lane& lane, Request& r) {
  if (r.local_key) weft_release(port, r.local_key);
  if (r.cq && (r.completion || r.error))
    entry(lane, r.cq, {r.context, r.completion, r.length, nullptr, 0, 0, FI_ADDR_NOTAVAIL, r.error, 0, 0});
  if (r.counter) ++(r.error ? r.counter->errors : r.counter->value);
  forget(r);
}

void Engine::forget(const Request& r) {
  if (r.kind >= Request::Kind::Put) --one_sided_under_way;
  requests_.erase(r.id);
}

/// The interface must know memory it is to read or write: the buffer, or a copy of it where it is scattered.
int Engine::register_buffer(Lane& lane, Request& r, unsigned rights, std::uint64_t& key) {
  void* base = r.bounce ? r.bounce.get() : r.buffer.part[0].iov_base;
  if (!r.bounce && r.buffer.parts > 1) {
    r.bounce.reset(new char[r.length]);
    if (r.kind == Request::Kind::Send || r.kind == Request::Kind::Put) {
      r.buffer.read(0, r.bounce.get(), r.length);
      copied(lane, r.length, r.protocol);
    }
    base = r.bounce.get();
  }
  weft_memory memory;
  std::int64_t before = lib::now(lane);
  int result = weft_register_anywhere(port, base, r.length, rights, &memory);
  sums.protocol[static_cast<unsigned>(r.protocol)].cost += lib::now(lane) - before;
  ++sums.registrations;
  if (result != 0) {
    lib::operation_failed("the registration of %zu bytes at %p for rank %u: %s", r.length, base,
                          peers_[r.peer]->rank, strerror(-result));
    return result;
  }
  key = r.local_key = memory.key;
  return 0;
}

/// One long operation, in pieces as long as the interface takes, and as many at a time as may be.
void Engine::move(Lane& lane, Request& r, nic::Operation operation, weft_memory remote,
                  std::uint64_t remote_offset, std::uint64_t local_key, std::uint64_t local_offset,
                  std::uint64_t operand, unsigned flags) {
  nic::Descriptor& d = r.whole;
  d.operation = operation;
  d.flags = static_cast<std::uint16_t>(nic::kNotifyDone | flags);
  d.node = remote.owner.node;
  d.port = remote.owner.port;
  d.remote_key = remote.key;
  d.remote_offset = remote_offset;
  d.local_key = local_key;
  d.local_offset = local_offset;
  d.operand = operand;
  d.context = r.id;
  r.left = r.length;
  const unsigned most = r.protocol == Protocol::RendezvousGet ? model.gets : ~0u;
  while (r.left && r.pieces < most) move_piece(lane, r);
}

void Engine::move_piece(Lane& lane, Request& r) {
  std::uint64_t most = port->header->limits.rdma_limit;
  if (r.protocol == Protocol::RendezvousGet) most = std::min(most, model.get_size);
  nic::Descriptor d = r.whole;
  d.length = std::min<std::uint64_t>(most, r.left);
  d.remote_offset += r.length - r.left;
  d.local_offset += r.length - r.left;
  r.left -= d.length;
  ++r.pieces;
  post(lane, d);
}

}  // namespace weft::fi
