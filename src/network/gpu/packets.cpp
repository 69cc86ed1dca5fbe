#include "network/gpu/packets.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/diagnostics.hpp"

namespace weft::network::gpu {

void Packets::start(Traffic& traffic) {
  for (EndpointId e = 0; e < network_.endpoints; ++e) next_[e] = traffic.first(e);
  begin_.assign(network_.endpoints, 0);
  end_ = begin_;
  network_.next_made = arena_.put(begin_);
  network_.made_end = arena_.put(end_);
}

u32 Packets::take_number() {
  if (free_.empty()) {
    packets_.emplace_back();
    return static_cast<u32>(packets_.size() - 1);
  }
  u32 id = free_.back();
  free_.pop_back();
  return id;
}

/// Room in the network for so many numbers of packets.
void Packets::make_room(u32 wanted) {
  if (wanted <= room_) return;
  if (wanted > kMostPackets) throw UserError("the GPU engine numbers at most 134,217,728 packets at once");
  const u32 room = std::min(kMostPackets, std::max({wanted, room_ + room_ / 2, kFirstRoom}));
  Network& n = network_;
  arena_.grow(n.packet, room_, room);
  arena_.grow(n.behind, room_, room);
  arena_.grow(n.created, room_, room);
  arena_.grow(n.injected, room_, room);
  arena_.grow(n.source, room_, room);
  arena_.grow(n.remainder, room_, room);
  if (n.counts_hops) arena_.grow(n.hops, room_, room);
  if (n.tables.vias) arena_.grow(n.via, room_, room);
  if (n.tables.vias) arena_.grow(n.turned_at, room_, room);
  arena_.grow(n.outcomes, 0, room);
  room_ = room;
}

void Packets::add(EndpointId source, Cycle now, const NewPacket& made) {
  WEFT_CHECK(made.destination < network_.endpoints && made.flits >= 1 && made.flits <= 0xfff,
             "traffic makes packets for endpoints there are");
  const u32 id = take_number();
  packets_[id] = {source, made.destination, made.flits, made.message_class, true, now, made.tag};
  const u64 entry = u64{made.destination} << 42 | u64{id} << 15 | u64{made.flits} << 3 | made.message_class;
  made_.push_back({entry, static_cast<u32>(now), made.remainder});
}

void Packets::make(Traffic& traffic, Cycle now, Cycle until) {
  due_.assign((until - now + 31) / 32 + 1, 0);
  kept_.swap(made_);
  made_.clear();
  std::size_t fresh = 0;
  for (EndpointId e = 0; e < network_.endpoints; ++e) {
    const auto begin = static_cast<u32>(made_.size());
    for (u32 i = begin_[e]; i < end_[e]; ++i)
      if (static_cast<std::int32_t>(kept_[i].cycle - static_cast<u32>(now)) >= 0) made_.push_back(kept_[i]);
    while (next_[e] < until) {
      Creation creation{.source = e};
      const Cycle cycle = next_[e];
      traffic.create_all(cycle, {&creation, 1});
      if (creation.made) add(e, cycle, creation.packet);
      ++fresh;
      next_[e] = creation.next == kNever ? kNever : std::max(creation.next, cycle + 1);
      due_[(cycle - now) / 32] |= 1u << ((cycle - now) & 31);
    }
    begin_[e] = begin;
    end_[e] = static_cast<u32>(made_.size());
    for (u32 i = begin; i < end_[e]; ++i) {
      const u32 cycle = made_[i].cycle - static_cast<u32>(now);
      due_[cycle / 32] |= 1u << (cycle & 31);
    }
  }
  const double rate = static_cast<double>(fresh) / static_cast<double>(until - now);
  cycles_ahead_ = static_cast<Cycle>(std::clamp(kPacketsAhead / std::max(rate, 1e-9), 64.0, 65'536.0));
  make_room(static_cast<u32>(packets_.size()));
  Network& n = network_;
  if (made_.size() > made_room_) {
    made_room_ = made_.size() + made_.size() / 2;
    auto* at = const_cast<Made*>(n.made);
    arena_.grow(at, 0, made_room_);
    n.made = at;
  }
  if (due_.size() > due_room_) {
    due_room_ = due_.size() + due_.size() / 2;
    auto* at = const_cast<u32*>(n.due);
    arena_.grow(at, 0, due_room_);
    n.due = at;
  }
  backend_.write(const_cast<Made*>(n.made), made_.data(), made_.size() * sizeof(Made));
  backend_.write(const_cast<u32*>(n.due), due_.data(), due_.size() * sizeof(u32));
  backend_.write(n.next_made, begin_.data(), begin_.size() * sizeof(u32));
  backend_.write(const_cast<u32*>(n.made_end), end_.data(), end_.size() * sizeof(u32));
  n.due_from = now;
}

void Packets::hand_over(Observer& observer, u32 count, Cycle now) {
  outcomes_.resize(count);
  backend_.read(outcomes_.data(), network_.outcomes, count * sizeof(Outcome));
  // Times are known by their low bits: a packet arrives at most some cycles after `now`, and within 2^31.
  const auto whole = [&](u32 low) {
    return now + static_cast<Cycle>(static_cast<std::int32_t>(low - static_cast<u32>(now)));
  };
  for (const Outcome& outcome : outcomes_) {
    Packet& packet = packets_[outcome.id];
    packet.alive = false;
    free_.push_back(outcome.id);
    if (outcome.hops == Outcome::kRefused) continue;
    deliveries_.push_back({packet.source, packet.destination, packet.flits, packet.message_class,
                           static_cast<std::uint16_t>(outcome.hops), packet.created, whole(outcome.injected),
                           whole(outcome.delivered), packet.tag, outcome.remainder, false});
  }
  if (!deliveries_.empty()) observer.delivered_all(deliveries_);
  deliveries_.clear();
}

bool Packets::older_than(Cycle age, Cycle now) {
  // Of packets that are in a router; those that have only just left it for an endpoint have had their
  // outcome.
  std::vector<Queue> queues(std::size_t{network_.all_ports} * network_.channels);
  std::vector<u32> injected(room_);
  backend_.read(queues.data(), network_.queue, queues.size() * sizeof(Queue));
  backend_.read(injected.data(), network_.injected, injected.size() * sizeof(u32));
  return std::any_of(queues.begin(), queues.end(), [&](const Queue& queue) {
    return queue.left > 0 && static_cast<u32>(now) - injected[Entry{queue.entry}.id()] > age;
  });
}

}  // namespace weft::network::gpu
