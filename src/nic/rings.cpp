#include "nic/rings.hpp"

#include <algorithm>
#include <utility>

namespace weft::nic {

void Rings::accept(std::uint32_t index) {
  Packet& packet = context_.packets[index];
  PortNo port = packet.header.target_port;
  Ring& r = ring(port);
  packet.ring_generation = ports_[port].generation;
  if (r.held.empty() && r.messages + r.coming < ports_[port].ring_slots) {
    ++r.coming;
    return context_.at(to_ring(packet, port), What::Data, interface_, index);
  }
  ++counters_.messages_held;
  ++held_;
  r.held.push_back(index);
  ++r.watchdogs;
  context_.at(context_.now() + context_.nic.watchdog, What::Watchdog, interface_, port);
  NicId sender = packet.header.from;
  if (!context_.nic.hold_slots || held_ < context_.nic.hold_slots ||
      std::find(paused_.begin(), paused_.end(), sender) != paused_.end())
    return;
  paused_.push_back(sender);
  tell_sender(PacketKind::Pause, sender, context_.now(), 0);
}

bool Rings::land(const Packet& packet) {
  const Header& h = packet.header;
  PortNo port = h.target_port;
  bool same_port = ports_[port].generation == packet.ring_generation;
  if (same_port) --ring(port).coming;
  if (!same_port || !ports_[port].open) return false;
  Message m;
  m.time = context_.now().value;
  m.node = context_.nodes[h.from];
  m.port = h.source_port;
  m.tag = h.tag;
  m.length = static_cast<std::uint16_t>(h.bytes);
  m.flags = static_cast<std::uint16_t>((h.flags & kMore) | (h.damaged ? kDamaged : 0));
  m.sequence = h.sequence;
  std::copy(packet.data.begin(), packet.data.end(), m.data);
  const bool was_empty = ring(port).messages++ == 0;
  if (ports_[port].device != kNobody) {
    on_device(port, m);
    return true;
  }
  if (was_empty)
    notifier_.interrupt(Interrupt::Queue, port, event_at_target(context_, h, EventKind::Interrupt));
  context_.queue.stop();
  context_.host.message({interface_, port}, m);
  return true;
}

void Rings::consumed(PortNo port, unsigned messages) {
  Ring& r = ring(port);
  r.messages -= std::min(r.messages, messages);
  while (!r.held.empty() && r.messages + r.coming < ports_[port].ring_slots) {
    std::uint32_t index = r.held.front();
    r.held.pop_front();
    --held_;
    ++r.coming;
    Packet& packet = context_.packets[index];
    Time now = context_.now();
    packet.stamps.ready = std::max(packet.stamps.ready, now);
    context_.at(std::max(now, to_ring(packet, port)), What::Data, interface_, index);
  }
}

void Rings::resume_senders() {
  if (held_ >= context_.nic.hold_slots) return;
  for (NicId sender : std::exchange(paused_, {})) tell_sender(PacketKind::Resume, sender, context_.now(), 0);
}

void Rings::tell_sender(PacketKind kind, NicId sender, Time when, std::uint64_t attempt) {
  std::uint32_t index = context_.new_packet();
  Header& h = context_.packets[index].header;
  h.kind = kind;
  h.from = interface_;
  h.to = sender;
  h.bytes = 8;
  h.value = ++words_;
  h.operand = attempt;
  egress_.launch(index, when + context_.nic.send_latency);
}

void Rings::lost_resume(const Header& h) {
  bool stopped_again = std::find(paused_.begin(), paused_.end(), h.to) != paused_.end();
  if (h.kind != PacketKind::Resume || stopped_again || h.operand >= context_.nic.retries) return;
  tell_sender(PacketKind::Resume, h.to, context_.now() + context_.nic.timeout, h.operand + 1);
}

std::deque<std::uint32_t> Rings::close(PortNo port) {
  std::deque<std::uint32_t> held = std::exchange(ring(port).held, {});
  held_ -= static_cast<unsigned>(held.size());
  return held;
}

void Rings::watchdog(PortNo port) {
  Ring& r = ring(port);
  if (!r.watchdogs || --r.watchdogs || r.held.empty() || !ports_[port].open) return;
  Event event;
  event.kind = EventKind::Stalled;
  event.node = context_.nodes[interface_];
  event.port = port;
  event.length = r.held.size();
  notifier_.notify(port, ports_[port].generation, event, context_.now());
}

}  // namespace weft::nic
