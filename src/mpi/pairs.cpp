#include "mpi/pairs.hpp"

#include <string.h>

#include <algorithm>
#include <utility>

namespace weft::mpi {

std::uint32_t Pairs::peer_of_address(Address address) {
  std::uint64_t key = std::uint64_t{address.node} << 32 | address.port;
  auto [found, fresh] = peer_of_.try_emplace(key, count());
  if (fresh) {
    auto peer = std::make_unique<Peer>();
    peer->address = address;
    peer->credits = peer->granted = model_.credits;
    peers_.push_back(std::move(peer));
  }
  return found->second;
}

void Pairs::begin_anew(Peer& peer) {
  peer.sent = peer.expected = 0;
  peer.greeted = peer.starved = false;
  peer.assembling = nullptr;
  peer.credits = peer.granted = model_.credits;
  peer.consumed = 0;
  waiting_ -= static_cast<unsigned>(peer.waiting.size());
  peer.waiting.clear();
}

std::uint32_t Pairs::next_tag(Peer& peer, Kind kind, unsigned flags, unsigned credits) {
  std::uint16_t sequence = peer.sent++;
  if (!std::exchange(peer.greeted, true)) {
    flags |= kFirst;
    sequence = generation_;
  }
  return tag_word(kind, flags, credits, sequence);
}

void Pairs::small(Port& port, std::uint32_t to, Kind kind, unsigned flags, const void* head,
                  std::size_t head_bytes, const void* data, std::size_t bytes, std::uint32_t request) {
  Peer& peer = *peers_[to];
  // What starts something keeps its order; answers overtake what waits, or two could wait for each other.
  const bool ordered = needs_credit(kind), pays = ordered && model_.credits;
  const bool waits = ordered && ((pays && !peer.credits) || !peer.waiting.empty());
  Waiting now;
  Waiting& w = waits ? wait(port, peer) : now;
  w.kind = kind;
  w.flags = flags;
  w.length = static_cast<std::uint32_t>(head_bytes + bytes);
  w.request = request;
  w.owner = 0;
  w.mark = port.mark;
  if (head_bytes) memcpy(w.data, head, head_bytes);
  if (bytes) memcpy(w.data + head_bytes, data, bytes);
  if (waits) {
    if (pays && !peer.starved) ++costs_.sums().stalls;
    peer.starved |= pays;
    return;
  }
  if (pays) --peer.credits;
  transmit(port, peer, w);
}

void Pairs::transmit(Port& port, Peer& peer, const Waiting& w) {
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
  d.spare[4] = w.mark;
  if (w.request) {
    d.flags = nic::kNotifyDone;
    d.context = w.request;
  }
  memcpy(d.data, w.data, w.length);
  port.post(d);
}

// --- What waits.

Waiting& Pairs::wait(Port& port, Peer& peer) {
  if (waiting_++ == 0) stalled_since_ = port.now();
  return peer.waiting.push();
}

bool Pairs::transmit_waiting(Port& port, Peer& peer, const Waiting& w) {
  const bool pays = model_.credits && needs_credit(w.kind);
  if (pays && !peer.credits) return false;
  if (pays) --peer.credits;
  transmit(port, peer, w);
  return true;
}

void Pairs::have_left(Port& port, unsigned count) {
  waiting_ -= count;
  if (waiting_ == 0 && count > 0)
    costs_.sums().stalled_ps += static_cast<std::uint64_t>(port.now() - stalled_since_);
}

std::uint32_t Pairs::first_has_left(Port& port, Peer& peer) {
  const std::uint32_t owner = peer.waiting.front().owner;
  peer.waiting.pop_front();
  have_left(port, 1);
  return owner;
}

Fifo<Waiting> Pairs::take_waiting(Port& port, Peer& peer) {
  have_left(port, static_cast<unsigned>(peer.waiting.size()));
  return std::exchange(peer.waiting, {});
}

// --- Order and credit of what arrives.

bool Pairs::is_next(Peer& peer, const nic::Message& m) {
  const std::uint16_t sequence = flags_of(m.tag) & kFirst ? 0 : sequence_of(m.tag);
  if (sequence != peer.expected) {
    ++costs_.sums().reordered;
    peer.early.push_back(m);
    return false;
  }
  ++peer.expected;
  return true;
}

bool Pairs::next_of_early(Peer& peer, nic::Message& out) {
  auto next = std::find_if(peer.early.begin(), peer.early.end(), [&](const nic::Message& early) {
    return sequence_of(early.tag) == peer.expected;
  });
  if (next == peer.early.end()) return false;
  out = *next;
  peer.early.erase(next);
  ++peer.expected;
  return true;
}

void Pairs::consumed_one(Port& port, Peer& peer, bool starved) {
  if (!model_.credits) return;
  ++peer.consumed;
  if (starved && peer.granted < model_.credits_most) {
    std::uint32_t more = std::min(peer.granted, model_.credits_most - peer.granted);
    peer.granted += more;
    peer.consumed += more;
    ++costs_.sums().credits_grown;
  }
  if (peer.consumed * 2 < peer.granted) return;
  Waiting w;
  w.kind = Kind::Credit;
  costs_.counts(Protocol::Control, 0);
  transmit(port, peer, w);
}

}  // namespace weft::mpi
