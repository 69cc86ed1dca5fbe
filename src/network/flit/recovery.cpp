#include "network/flit/recovery.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

namespace weft::network::flit {

using topology::kNone;

/// Packets that have a number here.
std::vector<PacketId> Recovery::all_packets() const {
  std::vector<bool> free(sources_.packets.end());
  for (const auto& worker : workers_)
    for (PacketId id : worker->free) free[id] = true;
  for (PacketId id : sources_.packets.pool()) free[id] = true;
  std::vector<PacketId> out;
  for (PacketId id = 0; id < sources_.packets.end(); ++id)
    if (!free[id]) out.push_back(id);
  return out;
}

/// Packets made and neither delivered nor lost, those of each source in the order they were made.
std::vector<PacketId> Recovery::waiting_packets() const {
  std::vector<PacketId> out = all_packets();
  if (others_) others_->send_home(out);
  // The order in a queue counts where several were made in one cycle.
  std::vector<std::uint32_t> place(sources_.packets.end(), 0);
  for (const Sender& sender : sources_.senders) {
    std::uint32_t n = 1;
    for (PacketId id = sender.first; id != kNoPacket; id = sources_.behind(id)) place[id] = n++;
  }
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
    if (!for_many(id) || queued[id] || contributes(id)) {
      out.push_back(id);
      continue;
    }
    const PacketRecord whole = sources_.packets[id];
    if (!whole.departed) books.observer->departed(whole.tag, now);
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

/// Rounds of reductions that are under way begin again: interfaces keep what they gave as long as routers
/// keep room for its round. Where somebody has the result already, it is sent from there to those who have
/// not, so that all have the same.
void Recovery::contribute_again(std::vector<PacketId>& packets, Cycle now) {
  Worker& books = *workers_.front();
  auto& rounds = fabric_.multicast.rounds;
  std::vector<bool> queued(sources_.packets.end());
  std::vector<std::vector<bool>> at_source(rounds.size());  // by round and member: it has not left
  for (std::uint32_t r = 0; r < rounds.size(); ++r) at_source[r].resize(rounds[r].given.size());
  for (const Sender& sender : sources_.senders)
    for (PacketId id = sender.first; id != kNoPacket; id = sources_.behind(id)) {
      queued[id] = true;
      if (!for_many(id) || !contributes(id)) continue;
      const PacketRecord& record = sources_.packets[id];
      at_source[record.next_port][routes_.reductions->index_of(record.via, record.source)] = true;
    }
  std::vector<PacketId> out;
  for (PacketId id : packets) {
    const PacketRecord& record = sources_.packets[id];
    if (!for_many(id) || !contributes(id) || queued[id]) {
      out.push_back(id);
    } else {
      if (!record.departed) books.observer->departed(record.tag, now);
      books.free.push_back(id);
    }
  }
  packets = std::move(out);
  for (std::uint32_t r = 0; r < rounds.size(); ++r)
    if (rounds[r].reduction != kNoReduction && !rounds[r].one_by_one)
      hand_in_again(r, at_source[r], packets, now);
}

void Recovery::hand_in_again(std::uint32_t number, const std::vector<bool>& at_source,
                             std::vector<PacketId>& packets, Cycle now) {
  ReductionRound& round = fabric_.multicast.rounds[number];
  const auto& members = routes_.reductions->members(round.reduction);
  const auto has_it = std::find_if(round.given.begin(), round.given.end(),
                                   [](const ReductionRound::Given& given) { return given.delivered; });
  round.one_by_one = has_it != round.given.end();
  for (std::size_t i = 0; i < members.size(); ++i) {
    const ReductionRound::Given& given = round.given[i];
    if (round.one_by_one ? given.delivered : !given.made || at_source[i]) continue;
    const PacketId id = workers_.front()->take_packet(sources_.packets);
    PacketRecord& record = sources_.packets[id] = {};
    record.created = now;
    record.turned_at = kNone;
    record.flits = given.flits;
    record.departed = true;
    record.via = round.reduction;
    record.next_port = number;
    record.source = members[i];
    record.tag = given.tag;
    record.message_class = static_cast<std::uint8_t>(fabric_.settings.message_classes);
    if (round.one_by_one) {
      record.source = members[static_cast<std::size_t>(has_it - round.given.begin())];
      record.destination = members[i];
      record.tag = kResultTag | number;
      record.message_class = 0;
    }
    packets.push_back(id);
  }
}

std::uint64_t Recovery::take_back(Cycle now) {
  if (others_) others_->withdraw();
  std::vector<PacketId> packets = waiting_packets();
  std::uint64_t queued = 0;
  for (const Sender& sender : sources_.senders)
    for (PacketId id = sender.first; id != kNoPacket; id = sources_.behind(id)) ++queued;
  if (routes_.reductions) contribute_again(packets, now);
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
    record.hops = 0;
    record.remainder = 0;
    record.damaged = false;
    wait_at_source(id, now);
  }
  const std::uint64_t taken_back = packets.size() - queued;
  return others_ ? others_->sum(taken_back) : taken_back;
}

void Recovery::wait_at_source(PacketId id, Cycle now) {
  const EndpointId source = sources_.packets[id].source;
  Sender& sender = sources_.senders[source];
  if (!sender.listed) {
    sender.listed = true;
    std::uint32_t tile = fabric_.endpoint_tile[source];
    fabric_.state.tiles[tile].senders[now & 1].push(source);
    fabric_.state.awake[fabric_.inbox_index(now, tile, fabric_.first_thread)] = Mark::kYes;
  }
  sources_.packets.behind(id) = kNoPacket;
  sources_.append(id);
}

void Recovery::use(const routing::Routing& routing, Cycle now) {
  routes_.use(fabric_, routing);
  rerouted_ = true;
  if (!fabric_.multicast.there_is()) return;
  if (routes_.reductions) {
    // A network may be empty while routers hold contributions.
    fabric_.multicast.meetings.assign(routes_.reductions->meetings(), {});
    std::vector<PacketId> again;
    contribute_again(again, now);
    for (PacketId id : again) wait_at_source(id, now);
  }
  // Packets for many that wait at their sources go by the new trees.
  Worker& books = *workers_.front();
  for (const Sender& sender : sources_.senders)
    for (PacketId id = sender.first; id != kNoPacket; id = sources_.behind(id)) {
      if (!for_many(id)) continue;
      PacketRecord& record = sources_.packets[id];
      if (contributes(id)) {
        record.destination = routes_.reductions->entry(record.via, record.source);
        if (record.destination != kNoHop) continue;
        ++books.counters.packets_lost;
        books.observer->lost({record.source, record.source, record.flits, record.message_class, 0,
                              record.created, 0, now, record.tag});
        continue;
      }
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
        if (sources_.busy(e))
          kept.push_back(e);
        else
          sources_.senders[e].listed = false;
      bag.clear();
      for (EndpointId e : kept) bag.push(e);
    }
  return others_ ? others_->sum(lost) : lost;
}

}  // namespace weft::network::flit
