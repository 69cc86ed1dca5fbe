#include "nic/submission.hpp"

#include <algorithm>
#include <utility>

#include "base/random.hpp"

namespace weft::nic {

Submission::Submission(Context& context, NicId interface, const PortTable& ports, node::Bus& bus,
                       OutgoingTable& outgoing, Counters& counters)
    : context_(context),
      interface_(interface),
      ports_(ports),
      bus_(bus),
      outgoing_(outgoing),
      counters_(counters),
      buffers_(std::min(context.nic.queue_buffers, context.nic.memory_queues)) {}

std::uint32_t Submission::new_operation(PortNo port, const Descriptor& descriptor) {
  std::uint32_t index = outgoing_.take();
  Outgoing& x = outgoing_[index];
  x.d = descriptor;
  x.port = port;
  x.port_generation = ports_[port].generation;
  ++queue(port).on_the_way;
  ++queue(port).taken;
  return index;
}

void Submission::post(PortNo port, const Descriptor& descriptor) {
  const std::uint32_t index = new_operation(port, descriptor);
  context_.at(std::max(context_.now(), Time{descriptor.posted}), What::Post, interface_, index);
}

void Submission::store(PortNo port, const Descriptor& descriptor) {
  const std::uint32_t index = new_operation(port, descriptor);
  Queue& q = queue(port);
  q.last_on_chip = std::max(context_.now(), q.last_on_chip);
  context_.at(q.last_on_chip, What::Ready, interface_, index);
}

void Submission::submit(std::uint32_t index) {
  Outgoing& x = outgoing_[index];
  Time now = context_.now(), posted{std::min(x.d.posted, now.value)};
  if (ports_[x.port].memory_queue)
    return context_.at(std::max(now, bus_.to_device(posted, 8)), What::Fetch, interface_, index);
  const machine::NicParameters& p = context_.nic;
  constexpr std::int64_t kControl = 48;  // target, key, round and kind
  std::int64_t bytes = x.carries_inline()
                           ? (x.d.operation == Operation::Trigger ? kControl : 16) +
                                 static_cast<std::int64_t>(std::min<std::uint64_t>(x.d.length, kInlineBytes))
                           : p.descriptor.value;
  Time there;
  if (p.split_stores > 0 &&
      static_cast<double>(random_bits(context_.seed ^ 0x73746f72, context_.nodes[interface_], ++stores_) >>
                          11) *
              0x1p-53 <
          p.split_stores) {
    // The combined stores left the processor too early: two transactions, and the interface must see that
    // they belong together.
    ++counters_.split_stores;
    bus_.to_device(posted, bytes / 2);
    there = bus_.to_device(posted, bytes - bytes / 2) + p.split_repair;
  } else {
    there = bus_.to_device(posted, bytes);
  }
  // What was posted later does not overtake a repair.
  Queue& q = queue(x.port);
  q.last_on_chip = std::max({now, there, q.last_on_chip});
  context_.at(q.last_on_chip, What::Ready, interface_, index);
}

unsigned Submission::buffer_of(PortNo port) const {
  return (port - (context_.nic.ports - context_.nic.memory_queues)) % static_cast<unsigned>(buffers_.size());
}

void Submission::fetch(std::uint32_t index) {
  Outgoing& x = outgoing_[index];
  if (!buffers_.empty() && !x.buffered) {
    Queue& q = queue(x.port);
    auto buffers = static_cast<unsigned>(buffers_.size());
    unsigned number = buffer_of(x.port);
    Buffer& buffer = buffers_[number];
    unsigned queues = (context_.nic.memory_queues - number + buffers - 1) / buffers;
    if (q.buffered && buffer.shared >= context_.nic.buffer_slots - queues) {
      ++counters_.buffer_waits;
      buffer.waiting.push_back(index);
      return;
    }
    if (q.buffered++) ++buffer.shared;
    x.buffered = true;
  }
  context_.at(bus_.from_memory(context_.now(), context_.nic.descriptor.value), What::Ready, interface_,
              index);
}

void Submission::leave(Outgoing& x) {
  if (std::exchange(x.slot_freed, true)) return;
  if (ports_[x.port].generation == x.port_generation) --queue(x.port).taken;
  if (ports_[x.port].device == kNobody) {
    context_.queue.stop();
    context_.host.slot_free({interface_, x.port}, context_.now());
  }
  leave_buffer(x);
}

void Submission::leave_buffer(Outgoing& x) {
  if (!std::exchange(x.buffered, false)) return;
  Buffer& buffer = buffers_[buffer_of(x.port)];
  Queue& q = queue(x.port);
  if (--q.buffered) --buffer.shared;
  auto next = std::find_if(buffer.waiting.begin(), buffer.waiting.end(), [&](std::uint32_t waiting) {
    // Room that was shared serves anyone; a queue's own serves that queue alone.
    return q.buffered || outgoing_[waiting].port == x.port;
  });
  if (next == buffer.waiting.end()) return;
  std::uint32_t index = *next;
  buffer.waiting.erase(next);
  fetch(index);
}

}  // namespace weft::nic
