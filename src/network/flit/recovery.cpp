#include "network/flit/recovery.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

namespace weft::network::flit {

using topology::kNone;

/// Packets made and neither delivered nor lost, those of each source in the order they were made.
std::vector<PacketId> Recovery::waiting_packets() const {
  std::vector<bool> free(sources_.packets.end());
  for (const auto& worker : workers_)
    for (PacketId id : worker->free) free[id] = true;
  // The order in a queue counts where several were made in one cycle.
  std::vector<std::uint32_t> place(sources_.packets.end(), 0);
  for (const Sender& sender : sources_.senders) {
    std::uint32_t n = 1;
    for (PacketId id = sender.first; id != kNoPacket; id = sources_.behind(id)) place[id] = n++;
  }
  std::vector<PacketId> out;
  for (PacketId id = 0; id < sources_.packets.end(); ++id)
    if (!free[id]) out.push_back(id);
  std::sort(out.begin(), out.end(), [&](PacketId a, PacketId b) {
    const PacketRecord &x = sources_.packets[a], &y = sources_.packets[b];
    return std::tie(x.source, x.created, place[a], x.tag) < std::tie(y.source, y.created, place[b], y.tag);
  });
  return out;
}

/// The endpoints that a packet for many, which has left its source, has not come to. A branch that was
/// granted a channel has a copy of its own, where there are several.
std::vector<EndpointId> Recovery::still_without(PacketId id, const std::vector<QueueNumber>& first_of) const {
  const PacketRecord& record = sources_.packets[id];
  if (record.turned_at != kNone) return {record.destination};
  const TreeHop& hop = routes_.trees->hop(record.destination);
  const QueueNumber q = first_of[id];
  std::vector<EndpointId> out;
  for (std::uint32_t i = 0; i < hop.count; ++i)
    if (q == kEnd || hop.count == 1 || !fabric_.multicast.branches_of(q)[i].has_channel())
      routes_.trees->add_endpoints(routes_.trees->branch(hop.first + i), out);
  return out;
}

/// The source is among those that send.
void Recovery::list_sender(EndpointId source, Cycle now) {
  Sender& sender = sources_.senders[source];
  if (sender.listed) return;
  sender.listed = true;
  const std::uint32_t tile = fabric_.endpoint_tile[source];
  fabric_.state.tiles[tile].senders[now & 1].push(source);
  fabric_.state.awake[fabric_.inbox_index(now, tile)] = Mark::kYes;
}

/// Rounds of reductions that have begun are joined no longer: what their members have sent and the root has
/// not got goes to it packet by packet. What of it is on its way is not delivered.
void Recovery::part_reductions(Cycle now) {
  Reductions& reductions = fabric_.reductions;
  if (!reductions.there_are()) return;
  Worker& books = *workers_.front();
  for (std::uint32_t slot = 0; slot < reductions.slots(); ++slot)
    if (const PacketId id = reductions.slot(slot).packet; id != kNoPacket) books.free.push_back(id);
  reductions.empty();
  // Those that have not left their source are there already.
  std::vector<std::vector<bool>> waits(reductions.count());
  for (const Sender& sender : sources_.senders)
    for (PacketId id = sender.first; id != kNoPacket; id = sources_.behind(id)) {
      PacketRecord& record = sources_.packets[id];
      if (!for_many(id) || !is_reduction(record.via)) continue;
      Reduction& r = reductions[record.via];
      auto& marks = waits[record.via & ~kReductionBit];
      marks.resize(r.given.size());
      marks[record.next_port * r.members.size() + r.place_of(record.source)] = true;
      record.destination = r.root;
      record.message_class = 0;
      record.via = kNone;
    }
  for (GroupNumber n = 0; n < reductions.count(); ++n) {
    Reduction& r = reductions[n];
    for (std::uint32_t round = 0; r.alive && round < r.rounds; ++round) {
      if (r.apart(round) || r.round[round].delivered) continue;
      for (std::uint32_t member = 0; member < r.members.size(); ++member) {
        const Contribution& given = r.of(round, member);
        if (!given.made) continue;
        if (!r.round[round].apart) reductions.parted.push_back({n | kReductionBit, round});
        r.round[round].apart = true;
        if (!waits[n].empty() && waits[n][round * r.members.size() + member]) continue;
        const PacketId id = books.take_packet(sources_.packets);
        sources_.packets[id] = {};
        PacketRecord& record = sources_.packets[id];
        record.created = record.injected = given.created;
        record.tag = given.tag;
        record.source = r.members[member];
        record.destination = r.root;
        record.via = record.turned_at = kNone;
        record.flits = given.flits;
        record.departed = true;
        sources_.packets.behind(id) = kNoPacket;
        sources_.append(id);
        list_sender(record.source, now);
      }
    }
  }
}

/// Packets for many that have left their source: those they have not come to get one each instead.
void Recovery::send_again_one_by_one(std::vector<PacketId>& packets, Cycle now) {
  Worker& books = *workers_.front();
  std::vector<bool> queued(sources_.packets.end());
  for (const Sender& sender : sources_.senders)
    for (PacketId id = sender.first; id != kNoPacket; id = sources_.behind(id)) queued[id] = true;
  std::vector<QueueNumber> first_of(sources_.packets.end(), kEnd);  // the queue a packet is the first of
  for (const auto& tile : fabric_.multicast.active)
    for (QueueNumber q : tile) {
      // One with a single branch keeps its number: it may be the first here and on its way beyond.
      const Entry first(fabric_.state.queues[q].entry);
      if (sources_.packets[first.id()].destination == first.destination()) first_of[first.id()] = q;
    }
  std::vector<PacketId> out;
  for (PacketId id : packets) {
    if (!for_many(id) || queued[id]) {
      out.push_back(id);
      continue;
    }
    const PacketRecord whole = sources_.packets[id];
    if (!whole.departed) books.observer->departed(whole.tag, now);
    if (is_reduction(whole.via)) {  // its member's are at their source again
      books.free.push_back(id);
      continue;
    }
    for (EndpointId member : still_without(id, first_of)) {
      const PacketId one = books.take_packet(sources_.packets);
      PacketRecord& record = sources_.packets[one] = whole;
      record.destination = member;
      record.message_class = 0;
      record.departed = true;
      out.push_back(one);
    }
    books.free.push_back(id);
  }
  packets = std::move(out);
}

std::uint64_t Recovery::take_back(Cycle now) {
  part_reductions(now);
  std::vector<PacketId> packets = waiting_packets();
  std::uint64_t queued = 0;
  for (const Sender& sender : sources_.senders)
    for (PacketId id = sender.first; id != kNoPacket; id = sources_.behind(id)) ++queued;
  if (fabric_.multicast.there_is()) send_again_one_by_one(packets, now);
  fabric_.empty();
  sources_.header_queues.clear();
  for (auto& worker : workers_) {
    worker->counters.flits_injected -= worker->in_network;  // sums over workers, modulo 2^64
    worker->in_network = worker->copied = 0;
  }
  for (Sender& sender : sources_.senders) {
    sender.first = sender.last = sender.current = kNoPacket;
    sender.left = 0;
    sender.queued = 0;
    sender.listed = false;
  }
  for (PacketId id : packets) {
    PacketRecord& record = sources_.packets[id];
    if (!for_many(id)) record.via = kNone;
    record.turned_at = kNone;
    sources_.packets.behind(id) = kNoPacket;
    record.hops = 0;
    record.remainder = 0;
    record.damaged = false;
    list_sender(record.source, now);
    sources_.append(id);
  }
  return packets.size() - queued;
}

void Recovery::use(const routing::Routing& routing, Cycle now) {
  part_reductions(now);
  routes_.use(fabric_, routing);
  rerouted_ = true;
  if (!fabric_.multicast.there_is()) return;
  if (fabric_.reductions.there_are()) fabric_.reductions.replant(*routes_.trees);
  // Packets for many that wait at their sources go by the new trees.
  Worker& books = *workers_.front();
  for (const Sender& sender : sources_.senders)
    for (PacketId id = sender.first; id != kNoPacket; id = sources_.behind(id)) {
      if (!for_many(id)) continue;
      PacketRecord& record = sources_.packets[id];
      const Trees::Root& root = routes_.trees->root(record.via, record.source);
      record.destination = root.hop;
      for (EndpointId member : root.cut_off) {
        ++books.counters.packets_lost;
        books.observer->lost({record.source, member, record.flits, record.message_class, 0, record.created, 0,
                              now, record.tag});
      }
    }
}

std::uint64_t Recovery::give_up(Cycle now, const CutOff& cut_off) {
  std::uint64_t lost = 0;
  Worker& books = *workers_.front();
  for (Sender& sender : sources_.senders) {
    PacketId id = sender.first, last = kNoPacket;
    sender.first = kNoPacket;
    while (id != kNoPacket) {
      PacketRecord& record = sources_.packets[id];
      PacketId next = sources_.behind(id);
      const bool nobody = for_many(id) && record.destination == kNoHop;  // its members know already
      if (nobody || (!for_many(id) && cut_off(record.source, record.destination))) {
        ++lost;
        --sender.queued;
        if (!nobody) {
          ++books.counters.packets_lost;
          books.observer->lost({record.source, record.destination, record.flits, record.message_class, 0,
                                record.created, 0, now, record.tag});
        }
        books.free.push_back(id);
      } else {
        sources_.packets.behind(id) = kNoPacket;
        if (last == kNoPacket)
          sender.first = id;
        else
          sources_.packets.behind(last) = id;
        last = id;
      }
      id = next;
    }
    sender.last = last;
  }
  // Those with nothing left to send need not be visited.
  for (Tile& tile : fabric_.state.tiles)
    for (auto& bag : tile.senders) {
      std::vector<EndpointId> kept;
      for (EndpointId e : bag)
        if (Sender& sender = sources_.senders[e]; sender.first != kNoPacket || sender.current != kNoPacket)
          kept.push_back(e);
        else
          sender.listed = false;
      bag.clear();
      for (EndpointId e : kept) bag.push(e);
    }
  return lost;
}

}  // namespace weft::network::flit
