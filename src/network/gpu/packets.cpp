#include "network/gpu/packets.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "base/diagnostics.hpp"
#include "base/parallel.hpp"

namespace weft::network::gpu {

namespace {

u32 low(Cycle cycle) { return static_cast<u32>(cycle); }

}  // namespace

Packets::Packets(Backend& backend, Arena& arena, Network& network, unsigned threads)
    : backend_(backend),
      arena_(arena),
      network_(network),
      threads_(threads),
      shares_(threads),
      next_(network.endpoints, kNever),
      drawn_end_(network.endpoints, 0),
      segments_{Segment(backend), Segment(backend)},
      outcomes_(backend) {
  for (unsigned t = 0; t < threads; ++t) {
    shares_[t].begin = static_cast<EndpointId>(std::uint64_t{network.endpoints} * t / threads);
    shares_[t].end = static_cast<EndpointId>(std::uint64_t{network.endpoints} * (t + 1) / threads);
  }
  for (Segment& segment : segments_) {
    segment.there_begin = arena_.take<u32>(network.endpoints);
    segment.there_end = arena_.take<u32>(network.endpoints);
    segment.begin.resize(network.endpoints);
    segment.end.resize(network.endpoints);
    std::fill_n(segment.begin.data(), network.endpoints, 0u);
    std::fill_n(segment.end.data(), network.endpoints, 0u);
  }
  network_.next_made = arena_.take<u32>(network.endpoints);
}

void Packets::start(Traffic& traffic) {
  for (EndpointId e = 0; e < network_.endpoints; ++e) next_[e] = traffic.first(e);
}

void Packets::draw(Traffic& traffic, Cycle until) {
  parallel_for(threads_, threads_, [&](unsigned, std::uint64_t t) {
    Share& share = shares_[t];
    for (EndpointId e = share.begin; e < share.end; ++e) {
      while (next_[e] < until) {
        Creation creation{.source = e};
        const Cycle now = next_[e];
        traffic.create_all(now, {&creation, 1});
        next_[e] = creation.next == kNever ? kNever : std::max(creation.next, now + 1);
        if (!creation.made) {
          share.in_vain.push_back(now);
          continue;
        }
        const NewPacket& made = creation.packet;
        WEFT_CHECK(made.destination < network_.endpoints && made.flits >= 1 && made.flits <= 0xfff,
                   "traffic makes packets for endpoints there are");
        share.drawn.push_back(
            {e, made.destination, made.flits, made.message_class, made.remainder, now, made.tag});
      }
      drawn_end_[e] = static_cast<u32>(share.drawn.size());
    }
  });
  std::size_t fresh = 0;
  for (const Share& share : shares_) fresh += share.drawn.size();
  const double rate = static_cast<double>(fresh) / static_cast<double>(std::max<Cycle>(1, until - drawn_to_));
  const double wanted = std::max(kPacketsAhead, kPacketsAheadEach * network_.endpoints);
  cycles_ahead_ = static_cast<Cycle>(std::clamp(wanted / std::max(rate, 1e-9), 64.0, 65'536.0));
  make_ready(until);
  drawn_to_ = until;
}

/// Room in the network for so many numbers of packets.
void Packets::make_room(std::size_t numbers) {
  if (numbers <= room_) return;
  if (numbers > kMostPackets) throw UserError("the GPU engine numbers at most 134,217,728 packets at once");
  const u32 room =
      std::min(kMostPackets, std::max({static_cast<u32>(numbers), room_ + room_ / 2, kFirstRoom}));
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
  arena_.grow(there_outcomes_, outcome_count_, room);
  room_ = room;
}

/// A number for each packet that has been drawn, those of a share from the end of the free ones.
void Packets::take_numbers() {
  std::size_t wanted = 0;
  for (const Share& share : shares_) wanted += share.drawn.size();
  if (free_.size() < wanted) {
    const std::size_t fresh = wanted - free_.size(), known = packets_.size();
    free_.resize(wanted);
    std::iota(free_.end() - static_cast<std::ptrdiff_t>(fresh), free_.end(), static_cast<u32>(known));
    packets_.resize(known + fresh);
  }
  std::size_t at = free_.size() - wanted;
  for (Share& share : shares_) {
    share.first_number = at;
    at += share.drawn.size();
  }
}

/// How many packets of a share's endpoints the next segment has: what the network may not have come to at the
/// end of the last, and what has been drawn. Until they are placed, `begin` is where the former begin there.
void Packets::count(Share& share, const Segment& before, Segment& next) {
  share.count = 0;
  u32 drawn = 0;
  for (EndpointId e = share.begin; e < share.end; ++e) {
    u32 kept = before.end[e];
    while (kept > before.begin[e] &&
           static_cast<std::int32_t>(before.made[kept - 1].cycle - low(next.from)) >= 0)
      --kept;
    next.begin[e] = kept;
    share.count += before.end[e] - kept + drawn_end_[e] - drawn;
    drawn = drawn_end_[e];
  }
}

void Packets::place(Share& share, const Segment& before, Segment& next) {
  auto at = static_cast<u32>(share.place);
  u32 drawn = 0;
  for (EndpointId e = share.begin; e < share.end; ++e) {
    const u32 begin = at;
    for (u32 kept = next.begin[e]; kept < before.end[e]; ++kept) next.made[at++] = before.made[kept];
    for (; drawn < drawn_end_[e]; ++drawn) {
      const Packet& packet = share.drawn[drawn];
      const u32 id = free_[share.first_number + drawn];
      packets_[id] = packet;
      const u64 entry =
          u64{packet.destination} << 42 | u64{id} << 15 | u64{packet.flits} << 3 | packet.message_class;
      next.made[at++] = {entry, low(packet.created), packet.remainder};
    }
    next.begin[e] = begin;
    next.end[e] = at;
  }
  share.drawn.clear();
  share.due.assign(next.due.size(), 0);
  std::erase_if(share.in_vain, [&](Cycle cycle) { return cycle < next.from; });
  const auto note = [&](u32 cycle) { share.due[cycle / 32] |= 1u << (cycle & 31); };
  for (Cycle cycle : share.in_vain) note(static_cast<u32>(cycle - next.from));
  for (auto made = static_cast<u32>(share.place); made < at; ++made)
    note(next.made[made].cycle - low(next.from));
}

template <class T>
void Packets::upload(T*& at, std::size_t& room, const HostArray<T>& values) {
  if (values.size() > room) {
    room = values.size() + values.size() / 2;
    arena_.grow(at, 0, room);
  }
  backend_.write_beside(at, values.data(), values.bytes());
}

/// A segment of what has been drawn up to a cycle. The network, which works on the other, comes to the last
/// window of that before it wants this.
void Packets::make_ready(Cycle until) {
  const Segment& before = segments_[handed_];
  Segment& next = segments_[1 - handed_];
  next.from = handed_to_ - std::min<Cycle>(handed_to_, network_.window);
  take_numbers();
  parallel_for(threads_, threads_, [&](unsigned, std::uint64_t t) { count(shares_[t], before, next); });
  std::size_t all = 0;
  for (Share& share : shares_) {
    share.place = all;
    all += share.count;
  }
  next.made.resize(all);
  next.due.resize((until - next.from + 31) / 32 + 1);
  parallel_for(threads_, threads_, [&](unsigned, std::uint64_t t) { place(shares_[t], before, next); });
  free_.resize(std::min(free_.size(), shares_.front().first_number));
  std::fill_n(next.due.data(), next.due.size(), 0u);
  for (const Share& share : shares_)
    for (std::size_t word = 0; word < next.due.size(); ++word) next.due[word] |= share.due[word];
  upload(next.there_made, next.made_room, next.made);
  upload(next.there_due, next.due_room, next.due);
  backend_.write_beside(next.there_begin, next.begin.data(), next.begin.bytes());
  backend_.write_beside(next.there_end, next.end.data(), next.end.bytes());
}

bool Packets::hand_in(Cycle now) {
  const Segment& next = segments_[1 - handed_];
  if (!drawn_ahead() || now < next.from) return false;
  make_room(packets_.size());
  backend_.settle();
  handed_ = 1 - handed_;
  handed_to_ = drawn_to_;
  Network& n = network_;
  n.made = next.there_made;
  n.made_begin = next.there_begin;
  n.made_end = next.there_end;
  n.due = next.there_due;
  n.due_from = next.from;
  return true;
}

void Packets::take_outcomes(u32 count, Cycle now) {
  std::swap(network_.outcomes, there_outcomes_);
  outcome_count_ = count;
  outcomes_at_ = now;
}

void Packets::tell(const std::vector<Observer*>& observers) {
  // Times are known by their low bits, which are within 2^31 cycles of now.
  const auto whole = [this](u32 bits) {
    return outcomes_at_ + static_cast<Cycle>(static_cast<std::int32_t>(bits - low(outcomes_at_)));
  };
  outcomes_.resize(std::exchange(outcome_count_, 0));
  backend_.read_beside(outcomes_.data(), there_outcomes_, outcomes_.bytes());
  backend_.settle();
  const std::size_t free_before = free_.size();
  free_.resize(free_before + outcomes_.size());
  parallel_for(threads_, threads_, [&](unsigned, std::uint64_t t) {
    std::vector<Delivery>& deliveries = shares_[t].deliveries;
    deliveries.clear();
    const std::size_t end = outcomes_.size() * (t + 1) / threads_;
    for (std::size_t i = outcomes_.size() * t / threads_; i < end; ++i) {
      const Outcome& outcome = outcomes_[i];
      free_[free_before + i] = outcome.id;
      if (outcome.hops == Outcome::kRefused) continue;
      const Packet& packet = packets_[outcome.id];
      deliveries.push_back({packet.source, packet.destination, packet.flits, packet.message_class,
                            static_cast<std::uint16_t>(outcome.hops), packet.created, whole(outcome.injected),
                            whole(outcome.delivered), packet.tag, outcome.remainder, false});
    }
    if (!deliveries.empty()) observers[t]->delivered_all(deliveries);
  });
}

bool Packets::older_than(Cycle age, Cycle now) const {
  std::vector<Queue> queues(std::size_t{network_.all_ports} * network_.port_queues);
  std::vector<u32> injected(room_);
  backend_.read(queues.data(), network_.queue, queues.size() * sizeof(Queue));
  backend_.read(injected.data(), network_.injected, injected.size() * sizeof(u32));
  return std::any_of(queues.begin(), queues.end(), [&](const Queue& queue) {
    return queue.left > 0 && low(now) - injected[Entry{queue.entry}.id()] > age;
  });
}

}  // namespace weft::network::gpu
