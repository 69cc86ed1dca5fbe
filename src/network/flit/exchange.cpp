#include "network/flit/exchange.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"

namespace weft::network::flit {

using topology::kNone;

namespace {

/// What an inbox of another rank gets; heads, bodies and credits follow it.
struct Parcel {
  std::uint32_t tile, thread;  // to which, from which; of all ranks
  std::uint32_t ahead;         // cycles from now on
  std::uint32_t heads, bodies, credits;
};

struct CrossingHead {
  ChannelNumber to;
  PacketRecord record;
};

void put_bag(Ranks::Bytes& out, const Bag<ChannelNumber>& bag) {
  put_all(out, std::span(bag.begin(), bag.size()));
}

}  // namespace

Exchange::Exchange(Fabric& fabric, Sources& sources, std::vector<std::unique_ptr<Worker>>& workers,
                   Ranks& ranks)
    : fabric_(fabric),
      sources_(sources),
      workers_(workers),
      ranks_(ranks),
      out_(ranks.count()),
      in_(ranks.count()) {
  find_borders();
}

void Exchange::find_borders() {
  const Part& part = fabric_.part;
  crossing_of_.assign(part.ports.size(), kNone);
  for (std::size_t i = 0; i < part.ports.size(); ++i) {
    const topology::PortId peer = fabric_.graph.peer(static_cast<PortNumber>(part.ports.begin + i));
    if (peer == kNone || part.has_router(fabric_.graph.port_router(peer))) continue;
    crossing_of_[i] = static_cast<std::uint32_t>(crossings_.size());
    crossings_.resize(crossings_.size() + (std::size_t{1} << fabric_.state.channel_bits), {kNoPacket, 0});
  }
}

Exchange::Crossing& Exchange::crossing(ChannelNumber to) {
  const std::uint32_t mask = (1u << fabric_.state.channel_bits) - 1;
  const topology::PortId here = fabric_.graph.peer(to >> fabric_.state.channel_bits);
  return crossings_[crossing_of_[here - fabric_.part.ports.begin] + (to & mask)];
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
    const std::size_t row = (c & (state.slots - 1)) * state.slot_inboxes;
    for (const Beyond& there : fabric_.beyond) {
      if (state.awake[row + there.inbox] == Mark::kNo) continue;
      state.awake[row + there.inbox] = Mark::kNo;
      first = std::min(first, c);
      Inbox& from = state.inboxes[row + there.inbox];
      put(out_[there.rank], Parcel{there.tile, there.thread, static_cast<std::uint32_t>(c - now),
                                   from.heads.size(), from.bodies.size(), from.credits.size()});
      pack_inbox(from, out_[there.rank]);
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
  put_bag(out, inbox.bodies);
  put_bag(out, inbox.credits);
  inbox.heads.clear();
  inbox.bodies.clear();
  inbox.credits.clear();
}

void Exchange::unpack(Cycle now, const Ranks::Bytes& in, Outlook& all) {
  State& state = fabric_.state;
  RankReader reader(in);
  const auto theirs = reader.take<Outlook>();
  all.moved += theirs.moved;
  all.in_network += theirs.in_network;
  all.next = std::min(all.next, theirs.next);
  all.acts |= theirs.acts;
  all.aged |= theirs.aged;
  while (reader.more()) {
    const auto parcel = reader.take<Parcel>();
    const std::uint32_t inbox_here = fabric_.inbox_here(parcel.tile, parcel.thread);
    WEFT_CHECK(parcel.thread < fabric_.settings.threads && parcel.ahead < state.slots,
               "ranks agree on inboxes");
    const std::size_t at = ((now + parcel.ahead) & (state.slots - 1)) * state.slot_inboxes + inbox_here;
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
