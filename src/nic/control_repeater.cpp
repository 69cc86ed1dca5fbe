#include "nic/control_repeater.hpp"

#include <utility>

#include "base/crc.hpp"
#include "nic/reliability.hpp"

namespace weft::nic {

void ControlRepeater::launch(std::uint32_t index, Time when) {
  if (context_.nic.corruption <= 0) return egress_.launch(index, when);
  Packet& packet = context_.packets[index];
  const NicId to = packet.header.to;
  if (outward_.size() <= to) outward_.resize(context_.nodes.size());
  Outward& flow = outward_[to];
  Held held;
  held.header = packet.header;
  held.header.flags |= kReliable;
  held.header.operation_id = flow.first + static_cast<std::uint32_t>(flow.held.size());
  held.header.crc = crc32(0, packet.data.data(), packet.data.size());
  held.stamps = packet.stamps;
  held.data = packet.data;
  context_.packets.give(index);
  flow.held.push_back(std::move(held));
  if (flow.sent < kWindow) send(flow, to, flow.sent++, when);
}

void ControlRepeater::send(Outward& flow, NicId to, std::uint32_t at, Time when) {
  const Held& held = flow.held[at];
  const std::uint32_t index = context_.new_packet();
  Packet& packet = context_.packets[index];
  packet.header = held.header;
  packet.header.generation = flow.first;  // nothing before it comes any more
  packet.stamps = held.stamps;
  packet.data = held.data;
  egress_.launch(index, when);
  const std::uint32_t alarm = alarms_.take();
  alarms_[alarm] = {to, held.header.operation_id};
  context_.at(when + patience(context_.nic, held.attempt), What::ControlAgain, interface_, alarm);
}

bool ControlRepeater::accept(const Packet& packet) {
  const Header& h = packet.header;
  if (!h.reliable()) return true;
  if (inward_.size() <= h.from) inward_.resize(context_.nodes.size());
  Inward& flow = inward_[h.from];
  while (static_cast<std::int32_t>(h.generation - flow.next) > 0) {
    ++flow.next;
    flow.early >>= 1;
  }
  for (; flow.early & 1; flow.early >>= 1) ++flow.next;
  const std::uint32_t ahead = h.operation_id - flow.next;
  const bool fresh = ahead < kWindow && !(flow.early >> ahead & 1);
  if (fresh) {
    flow.early |= std::uint64_t{1} << ahead;
    for (; flow.early & 1; flow.early >>= 1) ++flow.next;
  }
  const std::uint32_t index = context_.new_answer(PacketKind::ControlAck, h, packet.stamps);
  context_.packets[index].header.bytes = 8;
  egress_.launch(index, packet.stamps.ready + context_.nic.send_latency);
  return fresh;
}

void ControlRepeater::acknowledged(const Header& h) {
  if (h.from < outward_.size()) settle(h.from, h.operation_id);
}

void ControlRepeater::settle(NicId to, std::uint32_t number) {
  Outward& flow = outward_[to];
  const std::uint32_t at = number - flow.first;
  if (at >= flow.sent) return;  // an earlier copy of it was acknowledged
  flow.held[at].acknowledged = true;
  for (; !flow.held.empty() && flow.held.front().acknowledged; ++flow.first, --flow.sent)
    flow.held.pop_front();
  while (flow.sent < flow.held.size() && flow.sent < kWindow)
    send(flow, to, flow.sent++, context_.now() + context_.nic.send_latency);
}

bool ControlRepeater::alarm(std::uint32_t index, Header& given_up) {
  const Alarm alarm = alarms_[index];
  alarms_.give(index);
  Outward& flow = outward_[alarm.to];
  const std::uint32_t at = alarm.number - flow.first;
  if (at >= flow.sent || flow.held[at].acknowledged) return false;
  Held& held = flow.held[at];
  if (++held.attempt <= context_.nic.retries) {
    ++counters_.retries;
    send(flow, alarm.to, at, context_.now() + context_.nic.send_latency);
    return false;
  }
  given_up = held.header;
  settle(alarm.to, alarm.number);
  return true;
}

}  // namespace weft::nic
