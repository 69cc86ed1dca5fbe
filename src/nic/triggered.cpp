#include "nic/triggered.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "nic/operation_units.hpp"

namespace weft::nic {

namespace {

std::uint32_t sequence_of(std::uint32_t tag) { return tag & 0xffff; }
std::uint32_t input_of(std::uint32_t tag) { return tag >> 16; }

std::uint64_t packed(const TriggerTarget& t, bool place) {
  return place ? std::uint64_t{t.node} << 32 | t.port : std::uint64_t{t.input} << 16 | t.sequence;
}
TriggerTarget unpacked(std::uint64_t place, std::uint64_t which) {
  return {static_cast<std::uint32_t>(place >> 32), static_cast<std::uint32_t>(place),
          static_cast<std::uint16_t>(which), static_cast<std::uint16_t>(which >> 16)};
}

}  // namespace

Triggered::Triggered(const Parts& parts, NicId interface)
    : context_(parts.context),
      ports_(parts.ports),
      bus_(parts.bus),
      registration_(parts.registration),
      notifier_(parts.notifier),
      egress_(parts.egress),
      counters_(parts.counters),
      interface_(interface),
      repeater_(parts.context, interface, parts.egress, parts.counters) {}

Triggered::Sequence* Triggered::find(PortNo port, std::uint32_t number) {
  if (port >= sequences_.size() || number >= sequences_[port].size()) return nullptr;
  Sequence& s = sequences_[port][number];
  return s.armed ? &s : nullptr;
}

std::uint32_t Triggered::new_task(Task::Kind kind, PortNo port) {
  std::uint32_t index = tasks_.take();
  Task& task = tasks_[index];
  task.kind = kind;
  task.port = port;
  task.generation = ports_[port].generation;
  task.data.clear();
  return index;
}

Status Triggered::accept(const Outgoing& x) {
  if (!context_.nic.triggers) return Status::BadOperation;
  switch (x.d.operation) {
    case Operation::Arm:
      return accept_arm(x);
    case Operation::Trigger:
      return accept_trigger(x);
    default:
      if (Sequence* s = find(x.port, x.d.tag)) {
        *s = {};
        return Status::Ok;
      }
      return Status::BadKey;
  }
}

/// The image is fetched from memory.
Status Triggered::accept_arm(const Outgoing& x) {
  const Descriptor& d = x.d;
  if (d.tag >= context_.nic.triggers) return Status::NoRoom;
  if (find(x.port, d.tag)) return Status::Busy;
  const std::uint64_t most =
      sizeof(TriggerImage) + sizeof(TriggerTarget) * 2 * (context_.nic.trigger_inputs + 1);
  if (d.length < sizeof(TriggerImage) || d.length > most) return Status::BadLength;
  Place place;
  if (Status status = registration_.find_local(x.port, d, place); status != Status::Ok) return status;
  std::uint32_t index = new_task(Task::Armed, x.port);
  Task& task = tasks_[index];
  task.sequence = d.tag;
  task.descriptor = d;
  task.place = place;
  Time from = context_.now() + registration_.translate(place, 0, d.length, context_.now(), false);
  context_.at(bus_.from_memory(from, static_cast<std::int64_t>(d.length), place.space), What::Trigger,
              interface_, index);
  return Status::Ok;
}

Status Triggered::check(const TriggerImage& image, PortNo port) const {
  const machine::NicParameters& p = context_.nic;
  if (image.inputs == 0 || image.inputs > p.trigger_inputs || image.steps > kTriggerSteps ||
      image.sources > image.targets)
    return Status::BadLength;
  for (unsigned i = 0; i < image.steps; ++i) {
    const TriggerStep& step = image.step[i];
    switch (step.action) {
      case TriggerAction::Combine:
        break;
      case TriggerAction::Swap:
        if (step.input >= image.inputs || step.step <= i || step.step >= image.steps ||
            image.step[step.step].action != TriggerAction::Send || image.step[step.step].count == 0)
          return Status::BadRange;
        break;
      case TriggerAction::Send:
        if (step.first + step.count > image.targets - image.sources) return Status::BadRange;
        break;
      case TriggerAction::Deliver:
        if (image.stride) {
          Descriptor d;
          d.local_key = image.local_key;
          d.local_offset = image.local_offset;
          d.length = std::uint64_t{image.stride} * p.trigger_rounds;
          Place ignored;
          if (Status status = registration_.find_local(port, d, ignored); status != Status::Ok) return status;
        }
        break;
      default:
        return Status::BadOperation;
    }
  }
  return Status::Ok;
}

void Triggered::arm(Task& task) {
  const Descriptor& d = task.descriptor;
  Event event;
  event.kind = EventKind::Armed;
  event.operation = Operation::Arm;
  event.node = context_.nodes[interface_];
  event.port = task.port;
  event.tag = task.sequence;
  event.context = d.context;
  task.data.resize(d.length);
  if (!context_.memory.read(task.place.space, task.place.address, task.data.data(), d.length))
    return tell_failure(task.port, task.generation, event, Status::BadMemory, context_.now());
  TriggerImage image;
  std::memcpy(&image, task.data.data(), sizeof image);
  Status status = check(image, task.port);
  if (status == Status::Ok && d.length != sizeof image + sizeof(TriggerTarget) * image.targets)
    status = Status::BadLength;
  if (status != Status::Ok) return tell_failure(task.port, task.generation, event, status, context_.now());
  if (sequences_.size() <= task.port) sequences_.resize(task.port + 1);
  auto& sequences = sequences_[task.port];
  if (sequences.size() <= task.sequence) sequences.resize(task.sequence + 1);
  Sequence& s = sequences[task.sequence];
  s.armed = true;
  s.image = image;
  s.targets.resize(image.targets);
  if (image.targets)
    std::memcpy(s.targets.data(), task.data.data() + sizeof image, sizeof(TriggerTarget) * image.targets);
  s.rounds.assign(context_.nic.trigger_rounds, {});
  s.run.assign(context_.nic.trigger_rounds, 0);
  s.inputs.assign(std::size_t{context_.nic.trigger_rounds} * image.inputs, {});
  s.data.resize(s.inputs.size() * context_.payload);
  notifier_.notify(task.port, task.generation, event, context_.now());
}

Status Triggered::accept_trigger(const Outgoing& x) {
  const Descriptor& d = x.d;
  RoundKind kind = RoundKind::of(d.compare);
  if (context_.interface_of(d.node) == kNobody) return Status::BadNode;
  if (d.length > context_.payload) return Status::BadLength;
  if (!can_combine(kind.combine, kind.type)) return Status::BadOperation;
  if (needs_units(kind.combine) && (!context_.nic.operation_units || d.length % element_bytes(kind.type)))
    return Status::BadOperation;
  Place place;
  const bool in_memory = d.length && d.local_key;
  if (in_memory) {
    if (Status status = registration_.find_local(x.port, d, place); status != Status::Ok) return status;
  } else if (d.length > kInlineBytes) {
    return Status::BadLength;
  }
  std::uint32_t index = new_task(Task::Read, x.port);
  Task& task = tasks_[index];
  task.descriptor = d;
  task.place = place;
  context_.ledger.begin({interface_, x.port}, task.generation);
  if (!in_memory) {
    task.data.assign(d.data, d.data + d.length);
    send(task);
    tasks_.give(index);
    return Status::Ok;
  }
  Time from = context_.now() + registration_.translate(place, 0, d.length, context_.now(), false);
  context_.at(bus_.from_memory(from, static_cast<std::int64_t>(d.length), place.space), What::Trigger,
              interface_, index);
  return Status::Ok;
}

/// The data of a process's own control packet is on the chip.
void Triggered::send(Task& task) {
  const Descriptor& d = task.descriptor;
  const TriggerTarget carried = unpacked(d.spare[0], d.spare[1]);
  context_.ledger.end({interface_, task.port}, task.generation);
  if (context_.interface_of(d.node) == interface_ && d.port == task.port) {
    Status status = take({task.port, d.tag, d.node, d.remote_key, d.operand, d.compare, carried, false,
                          &task.data, context_.now()});
    if (status == Status::Ok) return;
    Event event;
    event.operation = Operation::Trigger;
    event.node = d.node;
    event.port = d.port;
    event.tag = d.tag;
    event.context = d.context;
    event.data = d.operand;
    return tell_failure(task.port, task.generation, event, status, context_.now());
  }
  value_ = task.data;
  task.sequence = sequence_of(d.tag);
  task.round = d.operand;
  send_to(task, {d.node, d.port, static_cast<std::uint16_t>(d.tag), static_cast<std::uint16_t>(d.tag >> 16)},
          d.remote_key, d.compare, carried, false, context_.now());
}

namespace {

/// A control packet that has come, for those who count what crossed the network.
void record(const Context& context, const Packet& packet) {
  if (!context.recording()) return;
  const Header& h = packet.header;
  const Stamps& t = packet.stamps;
  Record record{h.operation,   Status::Ok, h.from,   h.to,    h.source_port,
                h.target_port, h.length,   t.posted, t.ready, {}};
  Time* part = record.parts.part;
  part[Breakdown::Nic] = t.sent - t.started;
  part[Breakdown::Wire] = t.delivered - t.sent;
  part[Breakdown::RemoteQueue] = t.received - t.delivered;
  part[Breakdown::RemoteNic] = t.ready - t.received;
  (*context.on_record)(record);
}

/// Who sends a control packet, and what about.
struct Sends {
  NicId interface;
  PortNo port;
  std::uint32_t generation;
  std::uint64_t round, key, kind;
};

/// With a value, to a sequence of the interface itself until its header says another.
std::uint32_t new_control(Context& context, const Sends& from, const TriggerTarget& target,
                          const std::vector<std::uint8_t>& value, Time when) {
  const std::uint32_t index = context.new_packet();
  Packet& packet = context.packets[index];
  packet.data.assign(value.begin(), value.end());
  Header& h = packet.header;
  h.kind = PacketKind::Control;
  h.operation = Operation::Trigger;
  h.last = true;
  h.from = h.to = from.interface;
  h.source_port = from.port;
  h.source_generation = from.generation;
  h.target_port = target.port;
  h.tag = trigger_tag(target.sequence, target.input);
  h.remote_key = from.key;
  h.operand = from.round;
  h.compare = from.kind;
  h.length = value.size();
  h.bytes = static_cast<std::uint32_t>(value.size());
  packet.stamps.posted = packet.stamps.at_chip = packet.stamps.started = when;
  return index;
}

/// Contributions to routers of one round are of different collectives: each member is told of another.
Event mismatch_of(const Header& h) {
  Event event;
  event.operation = Operation::Trigger;
  event.node = static_cast<std::uint32_t>(h.offset);
  event.tag = sequence_of(h.tag);
  event.length = h.length;
  event.data = h.operand;
  event.spare[0] = h.compare;
  event.spare[1] = h.value;
  return event;
}

Event failed_trigger(const TriggerTarget& target, std::uint64_t round) {
  Event event;
  event.operation = Operation::Trigger;
  event.node = target.node;
  event.port = target.port;
  event.tag = trigger_tag(target.sequence, target.input);
  event.data = round;
  return event;
}

}  // namespace

void Triggered::send_to(const Task& task, const TriggerTarget& target, std::uint64_t key, std::uint64_t kind,
                        const TriggerTarget& carried, bool damaged, Time when) {
  // What routers combine comes back to a sequence of the same port.
  const bool routers = target.node == kToRouters;
  const std::uint32_t reduction =
      routers ? context_.reductions.find(interface_, task.port, target.port) : Reductions::kNone;
  NicId to = routers ? interface_ : context_.interface_of(target.node);
  if (to == kNobody || (routers && reduction == Reductions::kNone))
    return tell_failure(task.port, task.generation, failed_trigger(target, task.round),
                        routers ? Status::BadKey : Status::BadNode, context_.now());
  if (to == interface_ && !routers) {  // of another process of this node: it does not leave the interface
    ++counters_.local_triggers;
    const Status status = take({target.port, trigger_tag(target.sequence, target.input), target.node, key,
                                task.round, kind, carried, damaged, &value_, when});
    if (status == Status::Ok) return;
    Event event = failed_trigger(target, task.round);
    event.spare[0] = kind;
    return tell_failure(task.port, task.generation, event, status, when);
  }
  const std::uint32_t index = new_control(
      context_, {interface_, task.port, task.generation, task.round, key, kind}, target, value_, when);
  Header& h = context_.packets[index].header;
  h.damaged = damaged;
  h.to = to;
  h.reduction = reduction;
  if (routers) h.target_port = task.port;
  h.value = packed(carried, true);
  h.offset = packed(carried, false);
  if (routers && !context_.reductions.give(context_.packets[index], context_.nodes[interface_])) {
    context_.packets.give(index);
    return tell_failure(task.port, task.generation, failed_trigger(target, task.round), Status::Busy, when);
  }
  ++counters_.control_packets;
  counters_.reduced_packets += routers;
  repeater_.launch(index, when + context_.nic.send_latency);
}

void Triggered::receive(Packet& packet) {
  const Header& h = packet.header;
  if (h.kind == PacketKind::ControlAck) return repeater_.acknowledged(h);
  if (!repeater_.accept(packet)) return;
  if (h.kind == PacketKind::ControlRefused) return refused(h, packet.stamps.ready);
  take_packet(packet);
}

void Triggered::repeat(std::uint32_t alarm) {
  Header given_up;
  if (!repeater_.alarm(alarm, given_up) || given_up.kind != PacketKind::Control) return;
  std::swap(given_up.from, given_up.to);
  given_up.status = Status::TimedOut;
  refused(given_up, context_.now());
}

void Triggered::take_packet(Packet& packet) {
  const Header& h = packet.header;
  if (h.reduced() && !ports_.is_open(h.source_port, h.source_generation)) return;  // nobody waits for it
  if (h.status == Status::Mismatch)
    return tell_failure(h.source_port, h.source_generation, mismatch_of(h), h.status, context_.now());
  Status status = Status::NoPort;
  if (ports_.is_open(h.target_port))
    status = take({h.target_port, h.tag, context_.nodes[h.from], h.remote_key, h.operand, h.compare,
                   unpacked(h.value, h.offset), h.damaged, &packet.data, packet.stamps.ready});
  if (status == Status::Ok) return record(context_, packet);
  ++counters_.refused;
  notifier_.keep_error({status, h.operation, context_.nodes[h.from], h.source_port, h.remote_key, h.operand,
                        h.length, context_.now()});
  std::uint32_t index = context_.new_answer(PacketKind::ControlRefused, h, packet.stamps);
  Header& answer = context_.packets[index].header;
  answer.status = status;
  answer.bytes = 16;
  repeater_.launch(index, packet.stamps.ready + context_.nic.send_latency);
}

void Triggered::refused(const Header& h, Time when) {
  Event event;
  event.operation = Operation::Trigger;
  event.node = context_.nodes[h.from];
  event.port = h.target_port;
  event.tag = h.tag;
  event.data = h.operand;
  event.spare[0] = h.compare;
  tell_failure(h.source_port, h.source_generation, event, h.status, when);
}

void Triggered::lost(const Header& h, Time when) {
  if (h.kind != PacketKind::Control || h.reliable()) return;  // a reliable one is repeated in time
  Header told = h;
  std::swap(told.from, told.to);
  told.status = Status::Unreachable;
  refused(told, when);
}

void Triggered::tell_failure(PortNo port, std::uint32_t generation, const Event& about, Status status,
                             Time when) {
  ++counters_.failed;
  Event event = about;
  event.kind = EventKind::Failed;
  event.status = status;
  notifier_.notify(port, generation, event, when);
}

void Triggered::trigger_here(PortNo port, const Descriptor& d) {
  const auto tag = static_cast<std::uint32_t>(d.spare[0] - 1);
  static const std::vector<std::uint8_t> kNothing;
  const Status status = take({port, tag, context_.nodes[interface_], d.remote_key, d.spare[1], d.spare[2],
                              unpacked(d.spare[3], d.spare[4]), false, &kNothing, context_.now()});
  if (status == Status::Ok) return;
  Event event;
  event.operation = Operation::Trigger;
  event.node = context_.nodes[interface_];
  event.port = port;
  event.tag = tag;
  event.data = d.spare[1];
  event.spare[0] = d.spare[2];
  tell_failure(port, ports_[port].generation, event, status, context_.now());
}

bool Triggered::waits(PortNo port, std::uint32_t tag, std::uint64_t round) const {
  if (port >= sequences_.size() || sequence_of(tag) >= sequences_[port].size()) return false;
  const Sequence& s = sequences_[port][sequence_of(tag)];
  return s.armed && s.run[round % s.run.size()] != round + 1;
}

Status Triggered::take(const Arrival& a) {
  Sequence* s = find(a.port, sequence_of(a.tag));
  if (!s) return Status::BadKey;
  if (a.key != s->image.key) return Status::NoRight;
  const std::uint32_t input = input_of(a.tag);
  if (input >= s->image.inputs || a.data->size() > context_.payload) return Status::BadRange;
  const auto slot = static_cast<std::size_t>(a.round % s->rounds.size());
  Round& round = s->rounds[slot];
  if (round.arrived && round.number != a.round) return Status::NoRoom;
  if (round.have >> input & 1) return Status::Busy;
  if (!round.arrived) round = {a.round, 0, 0, false};
  const std::size_t place = slot * s->image.inputs + input;
  s->inputs[place] = {static_cast<std::uint32_t>(a.data->size()), a.node, a.kind, a.carried};
  std::copy(a.data->begin(), a.data->end(),
            s->data.begin() + static_cast<std::ptrdiff_t>(place * context_.payload));
  round.have |= std::uint64_t{1} << input;
  round.damaged |= a.damaged;
  if (++round.arrived < s->image.inputs) return Status::Ok;
  const RoundKind kind = RoundKind::of(a.kind);
  Time takes = context_.nic.trigger_time;
  if (needs_units(kind.combine) && s->image.inputs > 1) {
    const std::uint64_t pairs = a.data->size() / element_bytes(kind.type) * (s->image.inputs - 1u);
    const std::uint64_t units = std::max(1u, context_.nic.operation_units);
    takes = takes +
            Time{static_cast<std::int64_t>((pairs + units - 1) / units) * context_.nic.operation_time.value};
  }
  std::uint32_t index = new_task(Task::Fire, a.port);
  tasks_[index].sequence = sequence_of(a.tag);
  tasks_[index].round = a.round;
  context_.at(occupy(a.ready, takes), What::Trigger, interface_, index);
  return Status::Ok;
}

/// The inputs' data, in their order, becomes the value; false where they are not of one collective.
bool Triggered::combine_inputs(const Task& task, Sequence& s, unsigned slot, std::uint64_t kind) {
  const RoundKind about = RoundKind::of(kind);
  const std::size_t first = std::size_t{slot} * s.image.inputs;
  value_.clear();
  for (unsigned i = 0; i < s.image.inputs; ++i) {
    const Input& input = s.inputs[first + i];
    const std::uint8_t* data = s.data.data() + (first + i) * context_.payload;
    const bool alike = input.kind == kind &&
                       (about.combine == Combine::Concatenate || input.length == s.inputs[first].length);
    if (!alike) {
      Event event;
      event.operation = Operation::Trigger;
      event.node = input.node;
      event.tag = task.sequence;
      event.length = input.length;
      event.context = s.image.context;
      event.data = task.round;
      event.spare[0] = kind;
      event.spare[1] = input.kind;
      tell_failure(task.port, task.generation, event, Status::Mismatch, context_.now());
      return false;
    }
    if (i == 0 || about.combine == Combine::Concatenate)
      value_.insert(value_.end(), data, data + input.length);
    else
      combine(about.combine, about.type, value_.data(), data, input.length);
  }
  return true;
}

void Triggered::fire(Task& task) {
  Sequence* s = find(task.port, task.sequence);
  if (!s) return;
  const auto slot = static_cast<unsigned>(task.round % s->rounds.size());
  const std::size_t first = std::size_t{slot} * s->image.inputs;
  const bool damaged = s->rounds[slot].damaged;
  const std::uint64_t kind = s->inputs[first].kind;
  TriggerTarget carried = s->inputs[first].carried, patched;
  unsigned patched_step = kTriggerSteps;
  value_.assign(
      s->data.begin() + static_cast<std::ptrdiff_t>(first * context_.payload),
      s->data.begin() + static_cast<std::ptrdiff_t>(first * context_.payload + s->inputs[first].length));
  ++counters_.triggered;
  s->rounds[slot] = {};
  s->run[slot] = task.round + 1;
  if (on_run) on_run(task.port, task.sequence, task.round);
  Time when = context_.now();
  for (unsigned i = 0; i < s->image.steps; ++i) {
    const TriggerStep& step = s->image.step[i];
    switch (step.action) {
      case TriggerAction::Combine:
        if (!combine_inputs(task, *s, slot, kind)) return;
        if (value_.size() > context_.payload) {
          Event event;
          event.operation = Operation::Trigger;
          event.tag = task.sequence;
          event.length = value_.size();
          event.context = s->image.context;
          event.data = task.round;
          return tell_failure(task.port, task.generation, event, Status::BadLength, when);
        }
        break;
      case TriggerAction::Swap:
        patched = s->inputs[first + step.input].carried;
        patched_step = step.step;
        break;
      case TriggerAction::Send:
        for (unsigned t = 0; t < step.count; ++t) {
          const TriggerTarget& target = t == 0 && i == patched_step ? patched : s->targets[step.first + t];
          send_to(task, target, s->image.key, kind, carried, damaged, when);
          when = when + context_.nic.occupancy;
        }
        break;
      case TriggerAction::Deliver:
        deliver(task, *s, kind, damaged);
        break;
    }
  }
  free_ = std::max(free_, when);
}

void Triggered::deliver(Task& fired, const Sequence& s, std::uint64_t kind, bool damaged) {
  Event event;
  event.kind = EventKind::Triggered;
  event.operation = Operation::Trigger;
  event.status = damaged ? Status::Damaged : Status::Ok;
  event.node = context_.nodes[interface_];
  event.port = fired.port;
  event.tag = fired.sequence;
  event.length = value_.size();
  event.context = s.image.context;
  event.data = fired.round;
  event.spare[0] = kind;
  if (value_.empty()) return notifier_.notify(fired.port, fired.generation, event, context_.now());
  Descriptor d;
  d.local_key = s.image.local_key;
  d.local_offset = s.image.local_offset + std::uint64_t{s.image.stride} * (fired.round % s.rounds.size());
  d.length = value_.size();
  Place place;
  Status status =
      value_.size() > s.image.stride ? Status::BadLength : registration_.find_local(fired.port, d, place);
  if (status != Status::Ok) return tell_failure(fired.port, fired.generation, event, status, context_.now());
  std::uint32_t index = new_task(Task::Written, fired.port);
  Task& task = tasks_[index];
  task.event = event;
  task.place = place;
  task.data.assign(value_.begin(), value_.end());
  Time from = context_.now() + registration_.translate(place, 0, d.length, context_.now(), false);
  context_.at(bus_.to_memory(from, static_cast<std::int64_t>(d.length), place.space), What::Trigger,
              interface_, index);
}

void Triggered::act(std::uint32_t index) {
  Task& task = tasks_[index];
  // A port that was closed meanwhile has no memory, and its next user none of these sequences.
  if (ports_.is_open(task.port, task.generation)) {
    switch (task.kind) {
      case Task::Armed:
        arm(task);
        break;
      case Task::Read:
        task.data.resize(task.descriptor.length);
        if (context_.memory.read(task.place.space, task.place.address, task.data.data(), task.data.size())) {
          send(task);
        } else {
          Event event;
          event.operation = Operation::Trigger;
          event.tag = task.descriptor.tag;
          event.context = task.descriptor.context;
          context_.ledger.end({interface_, task.port}, task.generation);
          tell_failure(task.port, task.generation, event, Status::BadMemory, context_.now());
        }
        break;
      case Task::Fire:
        fire(task);
        break;
      case Task::Written:
        if (context_.memory.write(task.place.space, task.place.address, task.data.data(), task.data.size())) {
          notifier_.notify(task.port, task.generation, task.event, context_.now());
        } else {
          tell_failure(task.port, task.generation, task.event, Status::BadMemory, context_.now());
        }
        break;
    }
  } else if (task.kind == Task::Read) {
    context_.ledger.end({interface_, task.port}, task.generation);
  }
  tasks_.give(index);
}

void Triggered::close(PortNo port) {
  if (port < sequences_.size()) sequences_[port].clear();
}

void Triggered::add_waiting(PortNo port, std::vector<WaitingRound>& out) const {
  if (port >= sequences_.size()) return;
  for (std::size_t number = 0; number < sequences_[port].size(); ++number) {
    const Sequence& s = sequences_[port][number];
    if (!s.armed) continue;
    const std::size_t first_source = s.targets.size() - s.image.sources;
    for (std::size_t slot = 0; slot < s.rounds.size(); ++slot) {
      const Round& round = s.rounds[slot];
      if (!round.arrived || round.arrived == s.image.inputs) continue;
      WaitingRound w;
      w.port = port;
      w.sequence = static_cast<std::uint32_t>(number);
      w.members = s.image.members;
      w.key = s.image.key;
      w.round = round.number;
      w.own_is_missing = !(round.have & 1);
      for (unsigned i = 0; i < s.image.inputs; ++i) {
        const bool here = round.have >> i & 1;
        if (here) w.kind = s.inputs[slot * s.image.inputs + i].kind;
        if (i > 0 && i <= s.image.sources)
          (here ? w.here : w.missing).push_back(s.targets[first_source + i - 1]);
      }
      out.push_back(std::move(w));
    }
  }
}

std::string in_words(const WaitingRound& w) {
  std::string missing = w.own_is_missing ? "its own process" : "";
  for (const TriggerTarget& t : w.missing)
    missing += fmt::format("{}node {}", missing.empty() ? "" : ", ", t.node);
  return fmt::format("round {} of the tree in sequence {} of port {} waits for {}", w.round, w.sequence,
                     w.port, missing.empty() ? "an input that has no name" : missing);
}

}  // namespace weft::nic
