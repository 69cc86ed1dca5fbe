#include "nic/groups.hpp"

#include <algorithm>
#include <cstring>

namespace weft::nic {

Groups::Groups(const Parts& parts, NicId interface)
    : context_(parts.context),
      ports_(parts.ports),
      bus_(parts.bus),
      registration_(parts.registration),
      notifier_(parts.notifier),
      triggered_(parts.triggered),
      counters_(parts.counters),
      interface_(interface) {
  triggered_.on_run = [this](PortNo port, std::uint32_t sequence, std::uint64_t round) {
    if (held_.empty()) return;
    release([=](const Held& h) { return h.port == port && h.sequence == sequence && h.round == round; },
            Status::Ok);
  };
}

bool Groups::hold(Outgoing& x, std::uint32_t operation) {
  if (!x.d.spare[0]) return false;
  const auto tag = static_cast<std::uint32_t>(x.d.spare[0] - 1);
  if (!triggered_.waits(x.port, tag, x.d.spare[1])) return false;
  held_.push_back({x.port, tag & 0xffff, operation, x.d.spare[1]});
  x.first_data = bus_.from_memory(
      context_.now(), static_cast<std::int64_t>(std::min(context_.payload, x.d.length)), x.local.space);
  return true;
}

template <class Goes>
void Groups::release(Goes goes, Status status) {
  std::vector<Held> now;
  for (const Held& h : held_)
    if (goes(h)) now.push_back(h);
  std::erase_if(held_, goes);
  for (const Held& h : now) on_released(h.operation, status);
}

Status Groups::accept(const Outgoing& x) {
  const bool reduces = x.d.operand && x.d.operation != Operation::Expect;
  if (!context_.nic.triggers || !(reduces ? context_.network.reduces() : context_.network.multicasts()))
    return Status::BadOperation;
  if (x.d.tag >= context_.nic.triggers) return Status::NoRoom;
  switch (x.d.operation) {
    case Operation::Join:
      return reduces ? join_reduction(x) : join(x);
    case Operation::Expect:
      return expect(x);
    default:
      if (reduces) {
        if (context_.reductions.find(interface_, x.port, x.d.tag) == Reductions::kNone) return Status::BadKey;
        context_.reductions.leave(interface_, x.port, x.d.tag);
        return Status::Ok;
      }
      if (!find(x.port, x.d.tag)) return Status::BadKey;
      leave(x.port, x.d.tag);
      return Status::Ok;
  }
}

/// The list of nodes is fetched from memory.
Status Groups::read_nodes(const Outgoing& x, nic::Place& memory, std::vector<network::EndpointId>& members) {
  const Descriptor& d = x.d;
  const std::uint64_t nodes = d.length / sizeof(std::uint32_t);
  if (nodes < 2 || d.length % sizeof(std::uint32_t) || nodes > context_.nodes.size())
    return Status::BadLength;
  if (Status status = registration_.find_local(x.port, d, memory); status != Status::Ok) return status;
  std::vector<std::uint32_t> list(nodes);
  if (!context_.memory.read(memory.space, memory.address, list.data(), d.length)) return Status::BadMemory;
  bool here = false, elsewhere = false;
  for (std::uint32_t node : list) {
    const NicId nic = context_.interface_of(node);
    if (nic == kNobody) return Status::BadNode;
    (nic == interface_ ? here : elsewhere) = true;
    members.push_back(node);
  }
  return here && elsewhere ? Status::Ok : Status::BadNode;
}

void Groups::tell_joined(const Outgoing& x, const nic::Place& memory, Status status) {
  const Descriptor& d = x.d;
  Event event;
  event.kind = EventKind::Armed;
  event.operation = Operation::Join;
  event.status = status;
  event.node = context_.nodes[interface_];
  event.port = x.port;
  event.tag = d.tag;
  event.context = d.context;
  const Time from = context_.now() + registration_.translate(memory, 0, d.length, context_.now(), false);
  notifier_.notify(x.port, ports_[x.port].generation, event,
                   bus_.from_memory(from, static_cast<std::int64_t>(d.length)));
}

Status Groups::join_reduction(const Outgoing& x) {
  const Descriptor& d = x.d;
  if (context_.reductions.find(interface_, x.port, d.tag) != Reductions::kNone) return Status::Busy;
  if (d.operand > context_.nic.trigger_rounds) return Status::BadRange;
  // Errors that no link notices are found end to end, and nobody is at the end of what routers combine.
  if (context_.nic.corruption > 0) return Status::BadOperation;
  nic::Place memory;
  std::vector<network::EndpointId> nodes;
  if (Status status = read_nodes(x, memory, nodes); status != Status::Ok) return status;
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  const Reductions::Wish wish{.nic = interface_,
                              .port = x.port,
                              .tag = d.tag,
                              .key = d.remote_key,
                              .sequence = static_cast<std::uint32_t>(d.compare),
                              .members = static_cast<std::uint32_t>(d.spare[0]),
                              .rounds = static_cast<unsigned>(d.operand)};
  const bool joined = context_.reductions.join(wish, context_.nodes[interface_], nodes);
  tell_joined(x, memory, joined ? Status::Ok : Status::NoRoom);
  return Status::Ok;
}

Status Groups::join(const Outgoing& x) {
  const Descriptor& d = x.d;
  if (find(x.port, d.tag)) return Status::Busy;
  nic::Place memory;
  std::vector<network::EndpointId> members;
  if (Status status = read_nodes(x, memory, members); status != Status::Ok) return status;
  const network::GroupNumber group = context_.network.group(members);
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  if (context_.nodes_of_group.size() <= group) context_.nodes_of_group.resize(group + 1);
  context_.nodes_of_group[group] = static_cast<std::uint32_t>(members.size());
  if (places_.size() <= x.port) places_.resize(x.port + 1);
  if (places_[x.port].size() <= d.tag) places_[x.port].resize(d.tag + 1);
  Place& place = places_[x.port][d.tag];
  place.group = group;
  place.landings.assign(context_.nic.trigger_rounds, {});
  if (members_.size() <= group) members_.resize(group + 1);
  members_[group].push_back({x.port, d.tag});
  tell_joined(x, memory, Status::Ok);
  return Status::Ok;
}

Status Groups::expect(const Outgoing& x) {
  const Descriptor& d = x.d;
  if (!find(x.port, d.tag)) return Status::BadKey;
  Landing& landing = places_[x.port][d.tag].landings[d.operand % context_.nic.trigger_rounds];
  if (landing.open) return Status::NoRoom;
  nic::Place memory;
  if (Status status = registration_.find_local(x.port, d, memory); status != Status::Ok) return status;
  landing = {true, false, d.operand, d.length, 0, memory, d};
  return Status::Ok;
}

void Groups::leave(PortNo port, std::uint32_t tag) {
  Place& place = places_[port][tag];
  std::erase_if(members_[place.group],
                [&](const Member& member) { return member.port == port && member.tag == tag; });
  place = {};
}

void Groups::close(PortNo port) {
  release([=](const Held& h) { return h.port == port; }, Status::Closed);
  context_.reductions.close(interface_, port);
  if (port >= places_.size()) return;
  for (std::uint32_t tag = 0; tag < places_[port].size(); ++tag)
    if (find(port, tag)) leave(port, tag);
}

void Groups::refuse(const Header& h, Status status) {
  ++counters_.refused;
  notifier_.keep_error({status, h.operation, context_.nodes[h.from], h.source_port, h.remote_key, h.operand,
                        h.length, context_.now()});
}

void Groups::receive(const Packet& packet) {
  const Header& h = packet.header;
  if (h.group >= members_.size()) return;
  for (const Member& member : members_[h.group]) {
    if (h.from == interface_ && h.source_port == member.port) continue;  // who sends it has it
    const Landing& landing =
        places_[member.port][member.tag].landings[h.operand % context_.nic.trigger_rounds];
    if (!landing.open || landing.round != h.operand || landing.wanted.remote_key != h.remote_key) {
      refuse(h, Status::BadKey);
      continue;
    }
    if (h.length != landing.length || h.offset + h.bytes > landing.length) {
      refuse(h, Status::BadLength);
      continue;
    }
    const std::uint32_t index = tasks_.take();
    Task& task = tasks_[index];
    task.member = member;
    task.generation = ports_[member.port].generation;
    task.header = h;
    task.stamps = packet.stamps;
    task.data.assign(packet.data.begin(), packet.data.end());
    const Time ready = packet.stamps.ready;
    const Time translated = ready + registration_.translate(landing.memory, h.offset, h.bytes, ready, false);
    context_.at(bus_.to_memory(translated, h.bytes, landing.memory.space), What::GroupData, interface_,
                index);
  }
}

void Groups::land(std::uint32_t index) {
  Task& task = tasks_[index];
  const Header& h = task.header;
  if (ports_[task.member.port].generation == task.generation && find(task.member.port, task.member.tag)) {
    Landing& landing =
        places_[task.member.port][task.member.tag].landings[h.operand % context_.nic.trigger_rounds];
    if (landing.open && landing.round == h.operand) {
      landing.damaged |= h.damaged;
      if (!context_.memory.write(landing.memory.space, landing.memory.address + h.offset, task.data.data(),
                                 task.data.size()))
        refuse(h, Status::BadMemory);
      landing.arrived += h.bytes;
      if (landing.arrived >= landing.length) complete(task, landing);
    }
  }
  tasks_.give(index);
}

/// All of a round is in memory. Where errors that no link noticed are in it, the process has to repair it,
/// and acknowledges it then.
void Groups::complete(const Task& task, Landing& landing) {
  const Header& h = task.header;
  const Descriptor wanted = landing.wanted;
  const bool damaged = landing.damaged;
  landing = {};
  Event event;
  event.kind = EventKind::Arrived;
  event.operation = Operation::Expect;
  event.status = damaged ? Status::Damaged : Status::Ok;
  event.node = context_.nodes[h.from];
  event.port = h.source_port;
  event.tag = task.member.tag;
  event.length = h.length;
  event.context = wanted.context;
  event.data = h.operand;
  event.spare[0] = h.compare;
  notifier_.notify(task.member.port, task.generation, event, context_.now());
  if (context_.recording())
    (*context_.on_record)({Operation::Put, Status::Ok, h.from, interface_, h.source_port, task.member.port,
                           h.length, task.stamps.posted, context_.now(),
                           breakdown_of(task.stamps, false, context_.now()), 0});
  if (!damaged && wanted.spare[0]) triggered_.trigger_here(task.member.port, wanted);
}

}  // namespace weft::nic
