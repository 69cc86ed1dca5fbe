#include "network/flit/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/check.hpp"

namespace weft::network::flit {

using topology::kNone;
using topology::RouterId;

namespace {

/// What an inbox of another rank gets; heads, bodies and credits follow it.
struct Parcel {
  std::uint32_t tile;
  std::uint32_t ahead;  // cycles from now on
  std::uint32_t heads, bodies, credits;
};

struct CrossingHead {
  ChannelNumber to;
  PacketRecord record;
};

template <class T>
void put(Ranks::Bytes& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof(T));
}

void put_all(Ranks::Bytes& out, const Bag<ChannelNumber>& bag) {
  const auto* bytes = reinterpret_cast<const std::byte*>(bag.begin());
  out.insert(out.end(), bytes, bytes + bag.size() * sizeof(ChannelNumber));
}

/// Reads a rank's bytes from front to back.
class Reader {
 public:
  explicit Reader(const Ranks::Bytes& bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}
  bool more() const { return at_ != end_; }
  template <class T>
  T take() {
    WEFT_CHECK(static_cast<std::size_t>(end_ - at_) >= sizeof(T), "ranks send whole records");
    T value;
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

 private:
  const std::byte *at_, *end_;
};

}  // namespace

Exchange::Exchange(Fabric& fabric, Sources& sources, std::vector<std::unique_ptr<Worker>>& workers,
                   Ranks& ranks)
    : fabric_(fabric),
      sources_(sources),
      workers_(workers),
      ranks_(ranks),
      borders_(ranks.count()),
      crossing_of_(fabric.graph.ports(), kNone),
      out_(ranks.count()),
      in_(ranks.count()) {
  find_borders();
}

void Exchange::find_borders() {
  const auto threads = static_cast<std::uint32_t>(workers_.size());
  const State& state = fabric_.state;
  const std::uint32_t tile_begin = workers_.front()->share.tile_begin,
                      tile_end = workers_.back()->share.tile_end;
  const auto own = [&](RouterId r) {
    return fabric_.router_tile[r] >= tile_begin && fabric_.router_tile[r] < tile_end;
  };
  for (topology::PortId p = 0; p < fabric_.graph.ports(); ++p) {
    const topology::PortId peer = fabric_.graph.peer(p);
    if (peer == kNone || !own(fabric_.graph.port_router(p))) continue;
    const RouterId other = fabric_.graph.port_router(peer);
    if (own(other)) continue;
    borders_[fabric_.thread_of(other) / threads].push_back(state.ports[p].inbox);
    crossing_of_[peer] = static_cast<std::uint32_t>(crossings_.size());
    crossings_.resize(crossings_.size() + (std::size_t{1} << state.channel_bits), {kNoPacket, 0});
  }
  for (auto& inboxes : borders_) {
    std::sort(inboxes.begin(), inboxes.end());
    inboxes.erase(std::unique(inboxes.begin(), inboxes.end()), inboxes.end());
  }
}

Exchange::Crossing& Exchange::crossing(ChannelNumber to) {
  const std::uint32_t mask = (1u << fabric_.state.channel_bits) - 1;
  return crossings_[crossing_of_[to >> fabric_.state.channel_bits] + (to & mask)];
}

Outlook Exchange::meet(Cycle now, Outlook mine) {
  for (Ranks::Bytes& bytes : out_) bytes.assign(sizeof(Outlook), std::byte{});
  mine.next = std::min(mine.next, pack(now));
  for (Ranks::Bytes& bytes : out_) std::memcpy(bytes.data(), &mine, sizeof(Outlook));
  ranks_.exchange(out_, in_);
  for (unsigned r = 0; r < ranks_.count(); ++r)
    if (r != ranks_.rank()) unpack(now, in_[r], mine);
  return mine;
}

/// Returns the first cycle in which something of it arrives. In the order of cycles, so that a head comes
/// before the flits that follow it.
Cycle Exchange::pack(Cycle now) {
  State& state = fabric_.state;
  Cycle first = kNever;
  for (Cycle c = now; c < now + state.slots; ++c) {
    for (unsigned r = 0; r < borders_.size(); ++r)
      for (std::uint32_t tile : borders_[r])
        for (const auto& worker : workers_) {
          const std::size_t at = fabric_.inbox_index(c, tile, worker->index);
          if (state.awake[at] == Mark::kNo) continue;
          state.awake[at] = Mark::kNo;
          first = std::min(first, c);
          Inbox& from = state.inboxes[at];
          put(out_[r], Parcel{tile, static_cast<std::uint32_t>(c - now), from.heads.size(),
                              from.bodies.size(), from.credits.size()});
          pack_inbox(from, out_[r]);
        }
  }
  return first;
}

void Exchange::pack_inbox(Inbox& inbox, Ranks::Bytes& out) {
  std::vector<PacketId>& free = workers_.front()->free;
  for (const HeadFlit& head : inbox.heads) {
    const Entry entry(head.entry);
    put(out, CrossingHead{head.to, sources_.packets[entry.id()]});
    crossing(head.to) = {entry.id(), entry.flits() - 1};
    if (entry.flits() == 1) free.push_back(entry.id());
  }
  for (ChannelNumber to : inbox.bodies) {
    Crossing& under_way = crossing(to);
    if (--under_way.left == 0) free.push_back(under_way.packet);
  }
  put_all(out, inbox.bodies);
  put_all(out, inbox.credits);
  inbox.heads.clear();
  inbox.bodies.clear();
  inbox.credits.clear();
}

void Exchange::unpack(Cycle now, const Ranks::Bytes& in, Outlook& all) {
  State& state = fabric_.state;
  Reader reader(in);
  const auto theirs = reader.take<Outlook>();
  all.moved += theirs.moved;
  all.in_network += theirs.in_network;
  all.next = std::min(all.next, theirs.next);
  all.acts |= theirs.acts;
  all.aged |= theirs.aged;
  while (reader.more()) {
    const auto parcel = reader.take<Parcel>();
    WEFT_CHECK(parcel.tile < state.tiles.size() && parcel.ahead < state.slots, "ranks agree on tiles");
    // All threads are at rest: it may come as if from the first of them.
    const std::size_t at = fabric_.inbox_index(now + parcel.ahead, parcel.tile, workers_.front()->index);
    Inbox& inbox = state.inboxes[at];
    state.awake[at] = Mark::kYes;
    for (std::uint32_t i = 0; i < parcel.heads; ++i) {
      const auto head = reader.take<CrossingHead>();
      const PacketId id = workers_.front()->take_packet(sources_.packets);
      sources_.packets[id] = head.record;
      inbox.heads.push(
          {head.to, Entry(id, head.record.destination, head.record.flits, head.record.message_class).bits()});
    }
    for (std::uint32_t i = 0; i < parcel.bodies; ++i) inbox.bodies.push(reader.take<ChannelNumber>());
    for (std::uint32_t i = 0; i < parcel.credits; ++i) inbox.credits.push(reader.take<ChannelNumber>());
  }
}

}  // namespace weft::network::flit
