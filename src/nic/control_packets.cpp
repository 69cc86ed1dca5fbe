#include "nic/control_packets.hpp"

namespace weft::nic {

namespace {

Sending way_of(const TriggerStep& step) { return static_cast<Sending>(step.reserved); }

}  // namespace

std::uint32_t ControlPackets::new_packet(const Content& content, Time when) {
  const std::uint32_t index = context_.new_packet();
  Packet& packet = context_.packets[index];
  packet.data.assign(content.data.begin(), content.data.end());
  Header& h = packet.header;
  h.kind = PacketKind::Control;
  h.operation = Operation::Trigger;
  h.last = true;
  h.damaged = content.damaged;
  h.from = h.to = interface_;
  h.source_port = content.port;
  h.source_generation = content.generation;
  h.remote_key = content.key;
  h.operand = content.round;
  h.compare = content.kind;
  h.length = content.data.size();
  h.bytes = static_cast<std::uint32_t>(content.data.size());
  packet.stamps.posted = packet.stamps.at_chip = packet.stamps.started = when;
  ++counters_.control_packets;
  return index;
}

void ControlPackets::send(const Content& content, NicId to, const TriggerTarget& target,
                          const TriggerTarget& carried, Time when) {
  const std::uint32_t index = new_packet(content, when);
  Header& h = context_.packets[index].header;
  h.to = to;
  h.target_port = target.port;
  h.tag = trigger_tag(target.sequence, target.input);
  h.value = std::uint64_t{carried.node} << 32 | carried.port;
  h.offset = std::uint64_t{carried.input} << 16 | carried.sequence;
  egress_.launch(index, when + context_.nic.send_latency);
}

Status ControlPackets::send_step(const Content& content, const TriggerStep& step,
                                 const std::vector<TriggerTarget>& targets, Time when) {
  const Membership of = membership(content.port, step.count);
  const bool joins = way_of(step) == Sending::Contribution;
  const TriggerTarget target = joins ? targets[step.first] : TriggerTarget{};
  const NicId to = joins ? context_.interface_of(target.node) : interface_;
  const network::GroupNumber group = joins ? of.reduction : of.group;
  if (group == network::kNoGroup || of.key != content.key || to == kNobody) return Status::BadKey;
  const std::uint32_t index = new_packet(content, when);
  Header& h = context_.packets[index].header;
  h.to = to;
  h.group = group;
  h.tag = step.first;  // of those for members: the sequence behind each one's first
  if (joins) {
    h.target_port = target.port;
    h.tag = trigger_tag(target.sequence, target.input);
    context_.reductions.note_sent(content.key, context_.nodes[interface_]);
  }
  egress_.launch(index, when + context_.nic.send_latency);
  return Status::Ok;
}

void ControlPackets::joined(PortNo port, std::uint32_t number, const Membership& membership) {
  if (joined_.size() <= port) joined_.resize(port + 1);
  if (joined_[port].size() <= number) joined_[port].resize(number + 1);
  joined_[port][number] = membership;
}

ControlPackets::Membership ControlPackets::membership(PortNo port, std::uint32_t number) const {
  return port < joined_.size() && number < joined_[port].size() ? joined_[port][number] : Membership{};
}

Status ControlPackets::check(const TriggerImage& image, const TriggerStep& step, PortNo port) const {
  const unsigned targets = image.targets - image.sources;
  const Membership of = membership(port, step.count);
  switch (way_of(step)) {
    case Sending::ToTargets:
      return step.first + step.count > targets ? Status::BadRange : Status::Ok;
    case Sending::ToMembers:
      return of.group == network::kNoGroup || of.key != image.key ? Status::BadKey : Status::Ok;
    case Sending::Contribution:
      if (step.first >= targets) return Status::BadRange;
      return of.reduction == network::kNoGroup || of.key != image.key ? Status::BadKey : Status::Ok;
  }
  return Status::BadOperation;
}

void ControlPackets::note_armed(PortNo port, std::uint32_t sequence, const TriggerImage& image,
                                const std::vector<TriggerTarget>& targets) {
  for (unsigned i = 0; i < image.steps; ++i) {
    const TriggerStep& step = image.step[i];
    if (step.action == TriggerAction::Send && way_of(step) == Sending::Contribution)
      context_.reductions.note_sender(
          image.key, {context_.nodes[interface_], port, static_cast<std::uint16_t>(sequence), 0},
          targets[step.first]);
  }
}

void ControlPackets::record(const Packet& packet) const {
  if (!context_.recording()) return;
  const Header& h = packet.header;
  const Stamps& t = packet.stamps;
  Record record{h.operation,   Status::Ok, h.from,   h.to,    h.source_port,
                h.target_port, h.length,   t.posted, t.ready, {}};
  Time* part = record.parts.part;
  part[Breakdown::Nic] = t.sent - t.started;
  part[Breakdown::Wire] = t.delivered - t.sent;
  part[Breakdown::RemoteQueue] = t.received - t.delivered;
  part[Breakdown::RemoteNic] = t.ready - t.received;
  (*context_.on_record)(record);
}

}  // namespace weft::nic
