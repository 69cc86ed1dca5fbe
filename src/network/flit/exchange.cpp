#include "network/flit/exchange.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace weft::network::flit {

using topology::kNone;

namespace {

/// What follows in a message.
enum class Piece : std::uint8_t { Inbox, Offer, Note, News };

/// What an inbox of another rank gets; heads, bodies, credits and frames follow it.
struct Parcel {
  std::uint32_t tile;   // of all ranks
  std::uint32_t ahead;  // cycles from now on
  std::uint32_t heads, bodies, credits, ends;
};

struct CrossingHead {
  ChannelNumber to;
  PacketRecord record;
};

/// A head that a link has taken, and will bring.
struct Offered {
  EndNumber to;
  std::uint32_t channel;
  PacketRecord record;
};

/// What has been found out about a packet behind its head.
struct Note {
  ChannelNumber to;
  bool damaged, departed;
};

void put_bag(Ranks::Bytes& out, const Bag<ChannelNumber>& bag) {
  put_all(out, std::span(bag.begin(), bag.size()));
}

}  // namespace

Exchange::Exchange(Fabric& fabric, Sources& sources, Workers& workers, LinkLayer* links, Ranks& ranks)
    : fabric_(fabric),
      sources_(sources),
      workers_(workers),
      links_(links),
      ranks_(ranks),
      out_(ranks.count()),
      notes_(ranks.count()),
      in_(ranks.count()) {
  find_borders();
}

void Exchange::find_borders() {
  const Part& part = fabric_.part;
  border_of_.assign(part.ports.size(), kNone);
  for (std::size_t i = 0; i < part.ports.size(); ++i) {
    const auto port = static_cast<topology::PortId>(part.ports.begin + i);
    const topology::PortId peer = fabric_.graph.peer(port);
    if (peer == kNone || part.has_router(fabric_.graph.port_router(peer))) continue;
    border_of_[i] = static_cast<std::uint32_t>(borders_.size());
    const unsigned rank = fabric_.thread_of(fabric_.graph.port_router(peer)) / fabric_.own_threads();
    const EndNumber end = links_ ? links_->end_at(port) : kEnd;
    borders_.push_back({port, rank, end});
  }
  const std::size_t channels = borders_.size() << fabric_.state.channel_bits;
  crossings_.assign(channels, {kNoPacket, 0, false, false});
  arriving_.assign(channels, kNoPacket);
}

std::size_t Exchange::place_of(topology::PortId here, unsigned channel) const {
  return (std::size_t{border_of_[here - fabric_.part.ports.begin]} << fabric_.state.channel_bits) + channel;
}

Outlook Exchange::meet(Cycle now, Outlook mine) {
  along_.clear();
  if (companion_) companion_->give(along_);
  for (Ranks::Bytes& bytes : out_) {
    bytes.assign(sizeof(Outlook), std::byte{});
    put(bytes, std::uint64_t{along_.size()});
    put_all(bytes, std::span<const std::byte>(along_));
  }
  if (links_) pack_news();
  if (links_) pack_offers();
  mine.next = std::min(mine.next, pack(now));
  for (unsigned r = 0; r < ranks_.count(); ++r) {
    out_[r].insert(out_[r].end(), notes_[r].begin(), notes_[r].end());
    notes_[r].clear();
    std::memcpy(out_[r].data(), &mine, sizeof(Outlook));
  }
  ranks_.exchange(out_, in_);
  for (unsigned r = 0; r < ranks_.count(); ++r)
    if (r != ranks_.rank())
      unpack(now, in_[r], mine);
    else if (companion_)
      companion_->take(RankReader(along_));
  return mine;
}

// --- to others
// ---------------------------------------------------------------------------------------------------

/// Returns the first cycle in which something of it arrives. In the order of cycles, so that a head comes
/// before the flits that follow it.
Cycle Exchange::pack(Cycle now) {
  State& state = fabric_.state;
  Cycle first = kNever;
  for (Cycle c = now; c < now + state.slots; ++c) {
    for (std::size_t i = 0; i < fabric_.beyond.size(); ++i)
      for (const auto& worker : workers_) {
        const std::size_t at =
            fabric_.inbox_index(c, fabric_.first_beyond() + static_cast<std::uint32_t>(i), worker->index);
        if (state.awake[at] == Mark::kNo) continue;
        state.awake[at] = Mark::kNo;
        first = std::min(first, c);
        Inbox& from = state.inboxes[at];
        Ranks::Bytes& out = out_[fabric_.beyond[i].rank];
        put(out, Piece::Inbox);
        put(out, Parcel{fabric_.beyond[i].tile, static_cast<std::uint32_t>(c - now), from.heads.size(),
                        from.bodies.size(), from.credits.size(), from.due.size()});
        pack_inbox(from, c, out);
      }
  }
  return first;
}

void Exchange::pack_inbox(Inbox& inbox, Cycle at, Ranks::Bytes& out) {
  for (const HeadFlit& head : inbox.heads) {
    const Entry entry(head.entry);
    put(out, CrossingHead{head.to, sources_.packets[entry.id()]});
    Crossing& crossing = crossings_[place_of(here_of(head.to), channel_of(head.to))];
    begin(crossing, entry.id());
    end(crossing, head.to, notes_[borders_[border_of_[here_of(head.to) - fabric_.part.ports.begin]].rank]);
  }
  for (ChannelNumber to : inbox.bodies) {
    const PortNumber here = here_of(to);
    end(crossings_[place_of(here, channel_of(to))], to,
        notes_[borders_[border_of_[here - fabric_.part.ports.begin]].rank]);
  }
  put_bag(out, inbox.bodies);
  put_bag(out, inbox.credits);
  for (EndNumber end : inbox.due) {
    const std::uint8_t* bytes = nullptr;
    link::Frame* frame = links_->wire_to(end).arriving(at, bytes);
    put(out, end);
    put(out, frame ? *frame : link::Frame{});
    if (!frame) continue;
    if (frame->has_flit) put_all(out, std::span(bytes, links_->flit_bytes()));
    frame->kind = link::Frame::Kind::Nothing;
  }
  inbox.heads.clear();
  inbox.bodies.clear();
  inbox.credits.clear();
  inbox.due.clear();
}

void Exchange::begin(Crossing& crossing, PacketId packet) {
  const PacketRecord& record = sources_.packets[packet];
  crossing = {packet, record.flits, record.damaged, record.departed};
}

/// A flit has crossed; with the last one the packet is another rank's.
void Exchange::end(Crossing& crossing, ChannelNumber to, Ranks::Bytes& notes) {
  if (--crossing.left > 0) return;
  tell_found_out(crossing, to, notes);
  workers_.front()->free.push_back(crossing.packet);
}

bool Exchange::tell_found_out(Crossing& crossing, ChannelNumber to, Ranks::Bytes& notes) {
  const PacketRecord& record = sources_.packets[crossing.packet];
  if (record.damaged == crossing.damaged && record.departed == crossing.departed) return false;
  crossing.damaged = record.damaged, crossing.departed = record.departed;
  put(notes, Piece::Note);
  put(notes, Note{to, record.damaged, record.departed});
  return true;
}

/// What links to other ranks have taken from their routers in this cycle.
void Exchange::pack_offers() {
  for (const Border& border : borders_) {
    if (border.end == kEnd) continue;
    const auto offer = links_->take_offer(border.end);
    if (!offer) continue;
    const ChannelNumber to = (fabric_.graph.peer(border.port) << fabric_.state.channel_bits) + offer->channel;
    Crossing& crossing = crossings_[place_of(border.port, offer->channel)];
    if (offer->index == 0) {
      begin(crossing, offer->entry.id());
      put(out_[border.rank], Piece::Offer);
      put(out_[border.rank],
          Offered{LinkLayer::other_end(border.end), offer->channel, sources_.packets[offer->entry.id()]});
    }
    end(crossing, to, notes_[border.rank]);
  }
}

void Exchange::pack_news() {
  for (const EndNews& news : links_->take_news())
    for (Ranks::Bytes& out : out_) {
      put(out, Piece::News);
      put(out, news);
    }
}

// --- from others
// -------------------------------------------------------------------------------------------------

void Exchange::unpack(Cycle now, const Ranks::Bytes& in, Outlook& all) {
  RankReader reader(in);
  const auto theirs = reader.take<Outlook>();
  along_of_others_.resize(reader.take<std::uint64_t>());
  for (std::byte& byte : along_of_others_) byte = reader.take<std::byte>();
  if (companion_) companion_->take(RankReader(along_of_others_));
  all.moved += theirs.moved;
  all.in_network += theirs.in_network;
  all.until = std::min(all.until, theirs.until);
  all.next = std::min(all.next, theirs.next);
  all.acts |= theirs.acts;
  all.aged |= theirs.aged;
  all.sending |= theirs.sending;
  all.links_busy |= theirs.links_busy;
  while (reader.more()) switch (reader.take<Piece>()) {
      case Piece::Inbox:
        unpack_inbox(reader, now);
        break;
      case Piece::Offer: {
        const auto offered = reader.take<Offered>();
        links_->expect(offered.to, offered.channel, offered.record);
        break;
      }
      case Piece::Note:
        unpack_notes(reader);
        break;
      case Piece::News:
        links_->hear(reader.take<EndNews>());
        break;
    }
}

void Exchange::unpack_inbox(RankReader& reader, Cycle now) {
  State& state = fabric_.state;
  const auto parcel = reader.take<Parcel>();
  const std::uint32_t inbox_here = fabric_.inbox_for(parcel.tile);
  WEFT_CHECK(inbox_here < fabric_.first_beyond() && parcel.ahead < state.slots, "ranks agree on tiles");
  // All threads are at rest: it may come as if from the first of them.
  const std::size_t at = fabric_.inbox_index(now + parcel.ahead, inbox_here, fabric_.first_thread);
  Inbox& inbox = state.inboxes[at];
  state.awake[at] = Mark::kYes;
  for (std::uint32_t i = 0; i < parcel.heads; ++i) {
    const auto head = reader.take<CrossingHead>();
    const PacketId id = workers_.front()->take_packet(sources_.packets);
    sources_.packets[id] = head.record;
    arriving_[place_of(head.to >> fabric_.state.channel_bits, channel_of(head.to))] = id;
    inbox.heads.push(
        {head.to, Entry(id, head.record.destination, head.record.flits, head.record.message_class).bits()});
  }
  for (std::uint32_t i = 0; i < parcel.bodies; ++i) inbox.bodies.push(reader.take<ChannelNumber>());
  for (std::uint32_t i = 0; i < parcel.credits; ++i) inbox.credits.push(reader.take<ChannelNumber>());
  std::vector<std::uint8_t> bytes(links_ ? links_->flit_bytes() : 0);
  for (std::uint32_t i = 0; i < parcel.ends; ++i) {
    const auto end = reader.take<EndNumber>();
    const auto frame = reader.take<link::Frame>();
    if (frame.kind != link::Frame::Kind::Nothing && frame.has_flit)
      for (std::uint8_t& byte : bytes) byte = reader.take<std::uint8_t>();
    inbox.due.push(end);
    if (frame.kind != link::Frame::Kind::Nothing)
      links_->wire_to(end).deliver(now + parcel.ahead, frame, bytes.data());
  }
}

void Exchange::unpack_notes(RankReader& reader) {
  const auto note = reader.take<Note>();
  PacketRecord& record = *record_behind(note.to);
  record.damaged |= note.damaged;
  record.departed |= note.departed;
}

/// Of the packet that comes, or came last, by a channel from another rank.
PacketRecord* Exchange::record_behind(ChannelNumber at) {
  const topology::PortId port = at >> fabric_.state.channel_bits;
  const unsigned channel = channel_of(at);
  const EndNumber end = borders_[border_of_[port - fabric_.part.ports.begin]].end;
  if (end == kEnd) return &sources_.packets[arriving_[place_of(port, channel)]];
  if (PacketRecord* expected = links_->last_expected(end, channel)) return expected;
  return &sources_.packets[links_->number_here(end, channel)];
}

// --- routes that change
// ------------------------------------------------------------------------------------------

void Exchange::withdraw() {
  // What is known behind a head catches up with it, through all the ranks the packet lies across.
  for (bool more = true; more;) {
    std::uint64_t told = 0;
    for (Ranks::Bytes& bytes : out_) bytes.clear();
    for (const Border& border : borders_)
      for (unsigned c = 0; c < 1u << fabric_.state.channel_bits; ++c) {
        Crossing& crossing = crossings_[place_of(border.port, c)];
        if (crossing.left == 0) continue;
        const ChannelNumber to = (fabric_.graph.peer(border.port) << fabric_.state.channel_bits) + c;
        told += tell_found_out(crossing, to, out_[border.rank]);
      }
    ranks_.exchange(out_, in_);
    for (unsigned r = 0; r < ranks_.count(); ++r) {
      if (r == ranks_.rank()) continue;
      for (RankReader reader(in_[r]); reader.more();) {
        reader.take<Piece>();
        unpack_notes(reader);
      }
    }
    more = sum(told) > 0;
  }
  for (Crossing& crossing : crossings_) {
    if (crossing.left > 0) workers_.front()->free.push_back(crossing.packet);
    crossing.left = 0;
  }
  if (!links_) return;
  for (const PacketRecord& record : links_->drop_expected())
    sources_.packets[workers_.front()->take_packet(sources_.packets)] = record;
}

void Exchange::send_home(std::vector<PacketId>& packets) {
  for (Ranks::Bytes& bytes : out_) bytes.clear();
  std::erase_if(packets, [&](PacketId id) {
    const PacketRecord& record = sources_.packets[id];
    if (fabric_.part.has_endpoint(record.source)) return false;
    put(out_[rank_of(record.source)], record);
    workers_.front()->free.push_back(id);
    return true;
  });
  ranks_.exchange(out_, in_);
  for (unsigned r = 0; r < ranks_.count(); ++r) {
    if (r == ranks_.rank()) continue;
    for (RankReader reader(in_[r]); reader.more();) {
      const PacketId id = workers_.front()->take_packet(sources_.packets);
      sources_.packets[id] = reader.take<PacketRecord>();
      packets.push_back(id);
    }
  }
}

}  // namespace weft::network::flit
