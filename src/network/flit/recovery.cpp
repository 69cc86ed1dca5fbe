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

std::uint64_t Recovery::take_back(Cycle now) {
  std::vector<PacketId> packets = waiting_packets();
  std::uint64_t queued = 0;
  for (const Sender& sender : sources_.senders)
    for (PacketId id = sender.first; id != kNoPacket; id = sources_.behind(id)) ++queued;
  fabric_.empty();
  sources_.header_queues.clear();
  for (auto& worker : workers_) {
    worker->counters.flits_injected -= worker->in_network;  // sums over workers, modulo 2^64
    worker->in_network = 0;
  }
  for (Sender& sender : sources_.senders) {
    sender.first = sender.last = sender.current = kNoPacket;
    sender.left = 0;
    sender.queued = 0;
    sender.listed = false;
  }
  for (PacketId id : packets) {
    PacketRecord& record = sources_.packets[id];
    record.via = record.turned_at = kNone;
    sources_.packets.behind(id) = kNoPacket;
    record.hops = 0;
    record.remainder = 0;
    record.damaged = false;
    Sender& sender = sources_.senders[record.source];
    if (!sender.listed) {
      sender.listed = true;
      std::uint32_t tile = fabric_.endpoint_tile[record.source];
      fabric_.state.tiles[tile].senders[now & 1].push(record.source);
      fabric_.state.awake[fabric_.inbox_index(now, tile)] = Mark::kYes;
    }
    sources_.append(id);
  }
  return packets.size() - queued;
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
      if (cut_off(record.source, record.destination)) {
        ++lost;
        --sender.queued;
        ++books.counters.packets_lost;
        books.observer->lost({record.source, record.destination, record.flits, record.message_class, 0,
                              record.created, 0, now, record.tag});
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
