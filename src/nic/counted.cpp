#include "nic/counted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "nic/reduction.hpp"

namespace weft::nic {

namespace {

std::uint32_t flags_of(const Descriptor& d) { return counted_flags(d.spare[1]); }

void put_reduction(Descriptor& d, const ReduceData& data) {
  d.length = data.bytes();
  std::memcpy(d.data, &data, d.length);
}

}  // namespace

/// What can be said of a descriptor before it waits.
Status Counted::check(const Outgoing& x) const {
  const Descriptor& d = x.d;
  const std::uint32_t flags = flags_of(d);
  const bool message = d.operation == Operation::Message;
  const bool numbers = flags & (kReduce | kResult);
  if (!context_.nic.triggers || (flags & ~kAllCounted)) return Status::BadOperation;
  if (d.operation == Operation::Get && (flags & kCounts)) return Status::BadOperation;
  if (!message && (numbers || (flags & (kToRing | kCarriesData | kCarriesAddress))))
    return Status::BadOperation;
  if (numbers && !context_.nic.operation_units) return Status::BadOperation;
  ReduceData ignored;
  if ((flags & kReduce) && !read_reduction(d.data, d.length, ignored)) return Status::Mismatch;
  if ((flags & kCarriesAddress) && d.length != sizeof(SwapAddress)) return Status::BadLength;
  if (flags & kSet) {
    const std::uint64_t targets = message ? d.length / sizeof(SetTarget) : d.spare[2];
    if (!message && (d.operation != Operation::Put || targets == 0)) return Status::BadOperation;
    if (targets > kSetTargets || (message && d.length % sizeof(SetTarget))) return Status::BadLength;
  }
  return Status::Ok;
}

Status Counted::accept(std::uint32_t index, bool& waits) {
  Outgoing& x = outgoing_[index];
  const std::uint32_t flags = flags_of(x.d), packets = counted_packets(x.d.spare[1]);
  waits = false;
  if (Status status = check(x); status != Status::Ok) return status;
  Queue& q = queue(x.port);
  if (flags & kSequenceStart) {
    if (q.open()) return Status::BadOperation;
    if (packets > room()) return Status::NoRoom;  // it would wait for ever
    q.waiting.push_back({packets, false, {}});
  } else if (!q.open()) {
    // By itself: it waits for nothing, so nothing can take the place of what it has.
    return flags & (kSequenceTail | kSwap | kSwapTarget | kSet | kResult) ? Status::BadOperation : Status::Ok;
  }
  waits = true;
  q.waiting.back().requests.push_back(index);
  q.waiting.back().whole = flags & kSequenceTail;
  run(x.port);
  return Status::Ok;
}

Status Counted::take(const Packet& packet, Time ready) {
  const Header& h = packet.header;
  if (!context_.nic.triggers) return Status::BadOperation;
  if (!ports_.is_open(h.target_port)) return Status::NoPort;
  Queue& q = queue(h.target_port);
  if (q.here.size() >= room()) return Status::NoRoom;
  ControlPacket& kept = q.here.emplace_back();
  kept.node = context_.nodes[h.from];
  kept.port = h.source_port;
  kept.flags = counted_flags(h.value);
  kept.damaged = h.damaged;
  kept.ready = ready;
  if (kept.flags & (kCarriesData | kCarriesAddress)) {
    kept.length = static_cast<std::uint32_t>(std::min(packet.data.size(), kept.data.size()));
    std::copy_n(packet.data.begin(), kept.length, kept.data.begin());
  }
  run(h.target_port);
  return Status::Ok;
}

/// How long the units combine what a sequence and its packets bring.
Time Counted::combining(const Sequence& sequence) const {
  std::uint64_t pairs = 0;
  for (std::uint32_t index : sequence.requests) {
    const Descriptor& d = outgoing_[index].d;
    ReduceData data;
    if ((flags_of(d) & kReduce) && read_reduction(d.data, d.length, data))
      pairs += std::uint64_t{data.count} * sequence.packets;
  }
  const std::uint64_t units = std::max(1u, context_.nic.operation_units);
  return Time{static_cast<std::int64_t>((pairs + units - 1) / units) * context_.nic.operation_time.value};
}

/// Sequences whose packets are all there are on their way, in the order they were posted.
void Counted::run(PortNo port) {
  Queue& q = queue(port);
  while (!q.waiting.empty() && q.waiting.front().whole && q.here.size() >= q.waiting.front().packets) {
    const std::uint32_t number = tasks_.take();
    Task& task = tasks_[number];
    task.port = port;
    task.generation = ports_[port].generation;
    task.sequence = std::move(q.waiting.front());
    q.waiting.pop_front();
    const auto end = q.here.begin() + task.sequence.packets;
    task.packets.assign(q.here.begin(), end);
    q.here.erase(q.here.begin(), end);
    Time ready = context_.now();
    for (const ControlPacket& packet : task.packets) ready = std::max(ready, packet.ready);
    const Time trigger = task.packets.empty() ? Time{0} : context_.nic.trigger_time;
    context_.at(triggered_.occupy(ready, trigger + combining(task.sequence)), What::Counted, interface_,
                number);
  }
}

std::vector<Counted::Fired> Counted::fire(std::uint32_t number) {
  Task& task = tasks_[number];
  const bool closed = !ports_.is_open(task.port, task.generation);
  Brought brought;
  for (const ControlPacket& packet : task.packets) {
    if (packet.flags & kCarriesData) brought.data = &packet;
    if (packet.flags & kCarriesAddress) brought.addresses.push_back(&packet);
    brought.damaged |= packet.damaged;
  }
  std::vector<Fired> out;
  if (!closed) ++counters_.triggered;
  for (std::uint32_t index : task.sequence.requests) {
    const Status status = closed ? Status::Closed : change(index, task, brought, out);
    out.push_back({index, status});
  }
  task.sequence = {};
  task.packets.clear();
  tasks_.give(number);
  return out;
}

Status Counted::change(std::uint32_t index, const Task& task, Brought& brought, std::vector<Fired>& out) {
  Outgoing& x = outgoing_[index];
  if (x.d.operation != Operation::Message)
    return flags_of(x.d) & kSwap ? change_memory(index, brought, out) : Status::Ok;
  const Descriptor list = x.d;  // of a set, the data is whom it is for
  if (flags_of(x.d) & kSet) x.d.length = 0;
  if (Status status = change_message(x, task, brought); status != Status::Ok) return status;
  if (flags_of(x.d) & kSet) send_to_set(index, list, out);
  return Status::Ok;
}

Status Counted::change_message(Outgoing& x, const Task& task, Brought& brought) const {
  const std::uint32_t flags = flags_of(x.d);
  if (flags & (kReduce | kResult | kSwap)) x.damaged = brought.damaged;
  if ((flags & kSwapTarget) && !task.packets.empty()) {
    const ControlPacket& from = brought.data ? *brought.data : task.packets.back();
    x.d.node = from.node;
    x.d.port = from.port;
  }
  if (flags & kReduce) return reduce(x.d, task, brought);
  if (flags & kResult) {
    ReduceData& result = brought.result;
    if (!brought.has_result &&
        !(brought.data && read_reduction(brought.data->data.data(), brought.data->length, result)))
      return Status::Mismatch;
    put_reduction(x.d, result);
  } else if ((flags & kSwap) && brought.data) {
    x.d.length = brought.data->length;
    std::memcpy(x.d.data, brought.data->data.data(), brought.data->length);
  }
  return Status::Ok;
}

/// Its own numbers first, then those of the packets by whom they come from: the same bits whoever is first.
Status Counted::reduce(Descriptor& d, const Task& task, Brought& brought) const {
  std::vector<const ControlPacket*> packets;
  for (const ControlPacket& packet : task.packets)
    if (packet.flags & kCarriesData) packets.push_back(&packet);
  std::stable_sort(packets.begin(), packets.end(), [](const ControlPacket* a, const ControlPacket* b) {
    return std::tie(a->node, a->port) < std::tie(b->node, b->port);
  });
  ReduceData value;
  if (!read_reduction(d.data, d.length, value)) return Status::Mismatch;
  for (const ControlPacket* packet : packets) {
    ReduceData other;
    if (!read_reduction(packet->data.data(), packet->length, other) || !alike(value, other))
      return Status::Mismatch;
    combine(value, other);
  }
  put_reduction(d, value);
  brought.result = value;
  brought.has_result = true;
  return Status::Ok;
}

/// The same message to all of a list; what is left of the descriptor goes to its own target, the last.
void Counted::send_to_set(std::uint32_t index, const Descriptor& list, std::vector<Fired>& out) {
  for (std::uint64_t at = 0; at + sizeof(SetTarget) <= list.length; at += sizeof(SetTarget)) {
    SetTarget target;
    std::memcpy(&target, list.data + at, sizeof target);
    const std::uint32_t copy = copy_of(index);
    outgoing_[copy].d.node = target.node;
    outgoing_[copy].d.port = target.port;
    out.push_back({copy, Status::Ok});
  }
}

/// Puts and gets take the addresses that packets bring, one after the other; those that come after the last
/// take that again. A set is a put for each of so many addresses.
Status Counted::change_memory(std::uint32_t index, Brought& brought, std::vector<Fired>& out) {
  Outgoing& x = outgoing_[index];
  const std::uint32_t flags = flags_of(x.d);
  const std::uint64_t wanted = flags & kSet ? x.d.spare[2] : 1;
  if ((flags & kSet) && brought.addresses.size() - brought.addresses_used < wanted) return Status::Mismatch;
  if (brought.addresses.empty()) return Status::Ok;
  for (std::uint64_t i = 0; i < wanted; ++i) {
    const std::uint32_t which = i + 1 < wanted ? copy_of(index) : index;
    const std::size_t number = std::min(brought.addresses_used++, brought.addresses.size() - 1);
    SwapAddress address;
    std::memcpy(&address, brought.addresses[number]->data.data(), sizeof address);
    Descriptor& d = outgoing_[which].d;
    d.remote_key = address.key;
    d.remote_offset = address.offset;
    if (flags & kSwapTarget) {
      d.node = address.node;
      d.port = address.port;
    }
    if (which != index) out.push_back({which, Status::Ok});
  }
  return Status::Ok;
}

/// Another of the same, of which nobody is told that it has left.
std::uint32_t Counted::copy_of(std::uint32_t index) {
  const std::uint32_t copy = outgoing_.take();
  const Outgoing& x = outgoing_[index];
  Outgoing& y = outgoing_[copy];
  y.d = x.d;
  y.d.flags &= static_cast<std::uint16_t>(~kNotifyLocal);
  y.port = x.port;
  y.port_generation = x.port_generation;
  y.damaged = x.damaged;
  y.slot_freed = true;  // it never had one
  return copy;
}

std::vector<std::uint32_t> Counted::close(PortNo port) {
  std::vector<std::uint32_t> out;
  if (port >= queues_.size()) return out;
  for (const Sequence& s : queues_[port].waiting) out.insert(out.end(), s.requests.begin(), s.requests.end());
  queues_[port] = {};
  return out;
}

void Counted::tell_pending(PortNo port, std::vector<std::string>& out) const {
  if (port >= queues_.size() || queues_[port].waiting.empty()) return;
  const Queue& q = queues_[port];
  const Sequence& first = q.waiting.front();
  out.push_back(first.whole
                    ? fmt::format("{} sequences of port {} wait, the first for {} control packets, of which "
                                  "{} are there",
                                  q.waiting.size(), port, first.packets, q.here.size())
                    : fmt::format("a sequence of port {} has no end yet", port));
}

}  // namespace weft::nic
