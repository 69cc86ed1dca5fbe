#include "network/gpu/packets.hpp"

#include <algorithm>

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
      begin_(network.endpoints, 0),
      end_(network.endpoints, 0) {
  for (unsigned t = 0; t < threads; ++t) {
    shares_[t].begin = static_cast<EndpointId>(std::uint64_t{network.endpoints} * t / threads);
    shares_[t].end = static_cast<EndpointId>(std::uint64_t{network.endpoints} * (t + 1) / threads);
  }
  network_.next_made = arena_.put(begin_);
  network_.made_end = arena_.put(end_);
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
  room_ = room;
}

/// A number for each packet that has been drawn, those of a share from the end of the free ones.
void Packets::take_numbers() {
  std::size_t wanted = 0;
  for (const Share& share : shares_) wanted += share.drawn.size();
  while (free_.size() < wanted) {
    free_.push_back(static_cast<u32>(packets_.size()));
    packets_.emplace_back();
  }
  make_room(packets_.size());
  std::size_t at = free_.size() - wanted;
  for (Share& share : shares_) {
    share.first_number = at;
    at += share.drawn.size();
  }
}

/// What a share hands in: by endpoint what the network has not come to, then what has been drawn since.
void Packets::merge(Share& share, Cycle now) {
  share.scratch.swap(share.made);
  share.made.clear();
  std::size_t drawn = 0, before = 0;
  const u32 offset = share.begin < share.end ? begin_[share.begin] : 0;
  for (EndpointId e = share.begin; e < share.end; ++e) {
    for (before = begin_[e] - offset; before < end_[e] - offset; ++before)
      if (static_cast<std::int32_t>(share.scratch[before].cycle - low(now)) >= 0)
        share.made.push_back(share.scratch[before]);
    for (; drawn < drawn_end_[e]; ++drawn) {
      const Packet& packet = share.drawn[drawn];
      const u32 id = free_[share.first_number + drawn];
      packets_[id] = packet;
      const u64 entry =
          u64{packet.destination} << 42 | u64{id} << 15 | u64{packet.flits} << 3 | packet.message_class;
      share.made.push_back({entry, low(packet.created), packet.remainder});
    }
    drawn_end_[e] = static_cast<u32>(share.made.size());  // for a moment: where its part ends
  }
}

template <class T>
void Packets::upload(const T*& at, std::size_t& room, const std::vector<T>& values) {
  if (values.size() > room) {
    room = values.size() + values.size() / 2;
    auto* memory = const_cast<T*>(at);
    arena_.grow(memory, 0, room);
    at = memory;
  }
  backend_.write(const_cast<T*>(at), values.data(), values.size() * sizeof(T));
}

/// Puts a share's packets and the ends of its endpoints' parts where the network looks for them, and notes
/// the cycles in which something is made.
void Packets::place(Share& share, Cycle now) {
  std::copy(share.made.begin(), share.made.end(), made_.begin() + static_cast<std::ptrdiff_t>(share.place));
  u32 begin = static_cast<u32>(share.place);
  for (EndpointId e = share.begin; e < share.end; ++e) {
    begin_[e] = begin;
    end_[e] = begin = static_cast<u32>(share.place + drawn_end_[e]);
    drawn_end_[e] = 0;
  }
  share.drawn.clear();
  share.due.assign(due_.size(), 0);
  std::erase_if(share.in_vain, [&](Cycle cycle) { return cycle < now; });
  for (Cycle cycle : share.in_vain) share.due[(cycle - now) / 32] |= 1u << ((cycle - now) & 31);
  for (const Made& one : share.made) {
    const u32 cycle = one.cycle - low(now);
    share.due[cycle / 32] |= 1u << (cycle & 31);
  }
}

void Packets::hand_in(Cycle now) {
  take_numbers();
  parallel_for(threads_, threads_, [&](unsigned, std::uint64_t t) { merge(shares_[t], now); });
  std::size_t all = 0;
  for (Share& share : shares_) {
    free_.resize(std::min(free_.size(), share.first_number));
    share.place = all;
    all += share.made.size();
  }
  made_.resize(all);
  due_.assign((drawn_to_ - now + 31) / 32 + 1, 0);
  parallel_for(threads_, threads_, [&](unsigned, std::uint64_t t) { place(shares_[t], now); });
  for (const Share& share : shares_)
    for (std::size_t word = 0; word < due_.size(); ++word) due_[word] |= share.due[word];
  Network& n = network_;
  upload(n.made, made_room_, made_);
  upload(n.due, due_room_, due_);
  backend_.write(n.next_made, begin_.data(), begin_.size() * sizeof(u32));
  backend_.write(const_cast<u32*>(n.made_end), end_.data(), end_.size() * sizeof(u32));
  n.due_from = now;
}

void Packets::fetch(u32 count, Cycle now) {
  outcomes_.resize(count);
  backend_.read(outcomes_.data(), network_.outcomes, count * sizeof(Outcome));
  outcomes_at_ = now;
}

void Packets::tell(const std::vector<Observer*>& observers) {
  // Times are known by their low bits, which are within 2^31 cycles of now.
  const auto whole = [this](u32 bits) {
    return outcomes_at_ + static_cast<Cycle>(static_cast<std::int32_t>(bits - low(outcomes_at_)));
  };
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
  outcomes_.clear();
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
