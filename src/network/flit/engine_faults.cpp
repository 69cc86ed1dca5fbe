// What happens to the engine when links fail: packets taken back, other routes.
#include <algorithm>

#include "network/flit/worker.hpp"

namespace weft::network::flit {

using topology::kNone;
using topology::PortId;
using topology::RouterId;

/// Flits of a guarded port go through its link. So do its credits. The links of a thread have inboxes like
/// those of a tile: credits for them are put there in the cycle they arise, and ends that will hear something
/// in the cycle they will.
void Engine::guard_ports() {
  const auto ends = static_cast<std::uint32_t>(guard_->ports().size());
  for (auto& worker : workers_) worker->links.emplace(ends);
  for (EndNumber end = 0; end < ends; ++end) {
    const PortId p = guard_->ports()[end];
    std::uint32_t tile = router_tile_[graph_.port_router(p)];
    Worker& owner =
        **std::find_if(workers_.begin(), workers_.end(), [&](const auto& w) { return tile < w->tile_end; });
    owner.links->timers.set(end, 0);
    link_inbox_.push_back((static_cast<std::uint32_t>(state_.tiles.size()) + owner.index) *
                          settings_.threads);
    Port& port = state_.ports[p];
    port.flags |= Port::kGuarded | Port::kNarrow;
    port.flight = flight_number(0);
    port.inbox = link_inbox_.back() + owner.index;
  }
}

/// The clock moves on as without links that can fail, but stops wherever something may happen between cycles.
void Engine::follow_links(bool moved, Cycle until, Cycle patience) noexcept {
  try {
    for (;;) {
      const std::uint64_t in_network = flits_in_network();
      guard_->between_cycles(*this, moved, in_network);
      if (moved || in_network == 0 || guard_->busy())
        moved_at_ = now_;
      else if (now_ - moved_at_ > patience)
        stalled_ = true;
      if (stalled_ || stop_) break;
      Cycle next = std::min(until, guard_->next_step(now_));
      if (in_network > 0 && patience < kNever - moved_at_) next = std::min(next, moved_at_ + patience + 1);
      next = next_work(next);
      if (next <= now_) break;
      now_ = next;
      moved = false;
    }
    stop_ = now_ >= until;
  } catch (...) {  // between cycles nobody can catch it; the end of the run can
    failure_ = std::current_exception();
    stop_ = true;
  }
  run_end_ = now_ + 1;
}

void Engine::freeze(RouterId router, bool frozen) {
  constexpr std::uint8_t flags = Port::kGuarded | Port::kNarrow;
  for (PortId p = graph_.port_begin(router); p < graph_.port_begin(router + 1); ++p) {
    if (graph_.port_endpoint(p) == kNone) continue;
    std::uint8_t& now = state_.ports[p].flags;
    now = static_cast<std::uint8_t>(frozen ? now | flags : now & ~flags);
  }
}

bool Engine::nobody_is_sending() const {
  return std::all_of(senders_.begin(), senders_.end(),
                     [](const Sender& sender) { return sender.current == kNoPacket; });
}

/// Packets made and neither delivered nor lost, those of each source in the order they were made.
std::vector<PacketId> Engine::waiting_packets() const {
  std::vector<bool> free(packets_.end());
  for (const auto& worker : workers_)
    for (PacketId id : worker->free) free[id] = true;
  // The order in a queue counts where several were made in one cycle.
  std::vector<std::uint32_t> place(packets_.end(), 0);
  for (const Sender& sender : senders_) {
    std::uint32_t n = 1;
    for (PacketId id = sender.first; id != kNoPacket; id = behind(id)) place[id] = n++;
  }
  std::vector<PacketId> out;
  for (PacketId id = 0; id < packets_.end(); ++id)
    if (!free[id]) out.push_back(id);
  std::sort(out.begin(), out.end(), [&](PacketId a, PacketId b) {
    const PacketRecord &x = packets_[a], &y = packets_[b];
    return std::tie(x.source, x.created, place[a], x.tag) < std::tie(y.source, y.created, place[b], y.tag);
  });
  return out;
}

void Engine::empty_network() {
  for (Queue& queue : state_.queues) queue = {};
  std::uint32_t all = settings_.all_channels() == 32 ? ~0u : (1u << settings_.all_channels()) - 1;
  for (PortNumber p = 0; p < state_.ports.size(); ++p) {
    Port& port = state_.ports[p];
    port.asker = port.granted = kEnd;
    port.free_channels = all;
    port.spare = state_.rests[p].shared;
  }
  for (OutChannel& channel : state_.channels) channel.used = 0;
  header_queues_.clear();
  for (Inbox& inbox : state_.inboxes) {
    inbox.heads.clear(), inbox.bodies.clear();
    inbox.credits.clear(), inbox.ends.clear();
  }
  std::fill(state_.awake.begin(), state_.awake.end(), Mark::kNo);
  for (Tile& tile : state_.tiles) {
    for (auto& bag : tile.asks) bag.clear();
    for (auto& bag : tile.ready) bag.clear();
    for (auto& bag : tile.senders) bag.clear();
  }
  for (auto& worker : workers_) {
    worker->counters.flits_injected -= worker->in_network;  // sums over workers, modulo 2^64
    worker->in_network = 0;
  }
}

std::uint64_t Engine::take_back() {
  std::vector<PacketId> packets = waiting_packets();
  std::uint64_t queued = 0;
  for (const Sender& sender : senders_)
    for (PacketId id = sender.first; id != kNoPacket; id = behind(id)) ++queued;
  empty_network();
  for (Sender& sender : senders_) {
    sender.first = sender.last = sender.current = kNoPacket;
    sender.left = 0;
    sender.queued = 0;
    sender.listed = false;
  }
  for (PacketId id : packets) {
    PacketRecord& record = packets_[id];
    record.via = record.turned_at = kNone;
    packets_.behind(id) = kNoPacket;
    record.hops = 0;
    record.remainder = 0;
    record.damaged = false;
    Sender& sender = senders_[record.source];
    if (!sender.listed) {
      sender.listed = true;
      std::uint32_t tile = endpoint_tile_[record.source];
      state_.tiles[tile].senders[now_ & 1].push(record.source);
      state_.awake[inbox_index(now_, tile)] = Mark::kYes;
    }
    if (sender.first == kNoPacket)
      sender.first = id;
    else
      packets_.behind(sender.last) = id;
    sender.last = id;
    ++sender.queued;
  }
  return packets.size() - queued;
}

void Engine::use(const routing::Routing& routing) {
  routing_ = &routing;
  share_channels();
  set_paces();
  place_ports();
  rerouted_ = true;
}

std::uint64_t Engine::give_up_cut_off() {
  std::uint64_t lost = 0;
  Observer& observer = *observers_->front();
  Worker& books = *workers_.front();
  for (Sender& sender : senders_) {
    PacketId id = sender.first, last = kNoPacket;
    sender.first = kNoPacket;
    while (id != kNoPacket) {
      PacketRecord& record = packets_[id];
      PacketId next = behind(id);
      if (guard_->cut_off(record.source, record.destination)) {
        ++lost;
        --sender.queued;
        ++books.counters.packets_lost;
        observer.lost({record.source, record.destination, record.flits, record.message_class, 0,
                       record.created, 0, now_, record.tag});
        books.free.push_back(id);
      } else {
        packets_.behind(id) = kNoPacket;
        if (last == kNoPacket)
          sender.first = id;
        else
          packets_.behind(last) = id;
        last = id;
      }
      id = next;
    }
    sender.last = last;
  }
  // Those with nothing left to send need not be asked.
  for (Tile& tile : state_.tiles)
    for (auto& bag : tile.senders) {
      std::vector<EndpointId> kept;
      for (EndpointId e : bag)
        if (Sender& sender = senders_[e]; sender.first != kNoPacket || sender.current != kNoPacket)
          kept.push_back(e);
        else
          sender.listed = false;
      bag.clear();
      for (EndpointId e : kept) bag.push(e);
    }
  return lost;
}

}  // namespace weft::network::flit
