#include "nic/requester_pages.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace weft::nic {

namespace {

static_assert(offsetof(Descriptor, posted) == RequesterPages::kRdmaHeader);

struct MessageHeader {
  std::uint32_t node, port, tag;
  std::uint16_t length, flags;
};
static_assert(sizeof(MessageHeader) == RequesterPages::kMessageHeader);

constexpr std::uint32_t header_of(Unit unit) {
  return unit == Unit::Messages ? RequesterPages::kMessageHeader : RequesterPages::kRdmaHeader;
}

/// What a slot says whose header is there; its data is not looked at.
Descriptor read_header(Unit unit, const std::uint8_t* bytes) {
  Descriptor d;
  if (unit == Unit::Rdma) {
    std::memcpy(static_cast<void*>(&d), bytes, RequesterPages::kRdmaHeader);
    return d;
  }
  MessageHeader h;
  std::memcpy(&h, bytes, sizeof h);
  d.operation = Operation::Message;
  d.node = h.node;
  d.port = h.port;
  d.tag = h.tag;
  d.length = h.length;
  d.flags = h.flags;
  return d;
}

bool is_rdma(Operation operation) {
  return operation >= Operation::Put && operation <= Operation::BoundedAdd;
}

}  // namespace

Status RequesterPages::check(PortNo port, const Asker& asker) const {
  if (!ports_.is_open(port)) return Status::NoPort;
  if (ports_[port].memory_queue) return Status::BadOperation;  // takes its work from memory
  const node::DeviceId device = ports_[port].device;
  const bool has = device == kNobody
                       ? asker.devices.empty() && asker.nic == interface_
                       : std::find(asker.devices.begin(), asker.devices.end(), device) != asker.devices.end();
  return has ? Status::Ok : Status::NoRight;
}

bool RequesterPages::store(Unit unit, std::uint64_t offset, std::span<const std::uint8_t> data,
                           const Asker& asker) {
  const auto port = static_cast<PortNo>(offset / kPage);
  if (const Status status = check(port, asker); status != Status::Ok) {
    ++counters_.refused;
    notifier_.keep_error({status, unit == Unit::Messages ? Operation::Message : Operation::Put,
                          context_.nodes[asker.nic], port, 0, offset, data.size(), context_.now()});
    return false;
  }
  for (std::uint64_t at = offset % kPage; !data.empty();) {
    const std::size_t piece = std::min<std::size_t>(data.size(), kSlot - at % kSlot);
    take(unit, port, at, data.first(piece), asker.begun);
    data = data.subspan(piece);
    at += piece;
  }
  return true;
}

/// A part of one slot.
void RequesterPages::take(Unit unit, PortNo port, std::uint64_t at, std::span<const std::uint8_t> data,
                          Time begun) {
  std::vector<Slot>& slots = slots_[unit == Unit::Rdma];
  if (port >= slots.size()) slots.resize(port + 1);
  Slot& slot = slots[port];
  const std::uint32_t generation = ports_[port].generation;
  const std::uint64_t first = at - at % kSlot;
  const bool goes_on = slot.generation == generation && slot.first == first && at - first == slot.end;
  if (!goes_on) {
    // What was begun before will not be ended.
    if (slot.generation == generation && !slot.whole) fail(port, {}, Status::BadLength);
    slot.generation = generation;
    slot.first = first;
    slot.end = 0;
    slot.whole = at != first;
    slot.begun = begun;
    if (slot.whole) fail(port, {}, Status::BadRange);
  }
  if (!slot.whole) std::copy(data.begin(), data.end(), slot.bytes.begin() + slot.end);
  slot.end = static_cast<std::uint32_t>(at - first + data.size());
  if (!slot.whole) look(unit, port, slot);
}

/// Is it all there?
void RequesterPages::look(Unit unit, PortNo port, Slot& slot) {
  const std::uint32_t header = header_of(unit);
  if (slot.end < header) return;
  if (std::all_of(slot.bytes.begin(), slot.bytes.begin() + header, [](std::uint8_t b) { return b == 0; })) {
    slot.whole = true;  // the rest of a block that was written
    return;
  }
  Descriptor d = read_header(unit, slot.bytes.data());
  const bool has_data = d.operation == Operation::Message || d.operation == Operation::ImmediatePut;
  d.posted = slot.begun.value;
  Status status = Status::Ok;
  if (unit == Unit::Rdma && !is_rdma(d.operation)) status = Status::BadOperation;
  if (status == Status::Ok && has_data && d.length > kInlineBytes) status = Status::BadLength;
  const std::uint64_t bytes = header + (status == Status::Ok && has_data ? d.length : 0);
  if (slot.end < bytes) return;
  slot.whole = true;
  if (status != Status::Ok) return fail(port, d, status);
  std::memcpy(d.data, slot.bytes.data() + header, bytes - header);
  if (submission_.taken(port) >= context_.nic.queue_slots) return fail(port, d, Status::NoRoom);
  submission_.store(port, d);
}

void RequesterPages::fail(PortNo port, const Descriptor& d, Status status) {
  ++counters_.failed;
  Event event;
  event.kind = EventKind::Failed;
  event.operation = d.operation;
  event.status = status;
  event.node = d.node;
  event.port = d.port;
  event.tag = d.tag;
  event.length = d.length;
  event.context = d.context;
  notifier_.notify(port, ports_[port].generation, event, context_.now());
}

}  // namespace weft::nic
