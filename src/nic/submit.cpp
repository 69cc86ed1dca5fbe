// From a process's queue to the chip: by stores of the processor, or by a doorbell and a fetch.
#include <algorithm>
#include <utility>

#include "nic/fabric_state.hpp"

namespace weft::nic {

void Fabric::submit(std::uint32_t index) {
  Transfer& x = (*transfers_)[index];
  Nic& n = *nics_[x.from];
  Port& port = n.ports[x.from_port];
  Time posted{std::min(x.d.posted, now().value)};
  if (port.memory_queue) return at(std::max(now(), n.bus.to_interface(posted, 8)), Fetch, index);
  std::int64_t bytes = x.carries_inline()
                           ? 16 + static_cast<std::int64_t>(std::min<std::uint64_t>(x.d.length, kInlineBytes))
                           : p_.descriptor.value;
  Time there;
  if (p_.split_stores > 0 &&
      static_cast<double>(random_bits(seed_ ^ 0x73746f72, n.node, ++n.stores) >> 11) * 0x1p-53 <
          p_.split_stores) {
    // The combined stores left the processor too early: two transactions, and the interface must see that
    // they belong together.
    ++n.counters.split_stores;
    n.bus.to_interface(posted, bytes / 2);
    there = n.bus.to_interface(posted, bytes - bytes / 2) + p_.split_repair;
  } else {
    there = n.bus.to_interface(posted, bytes);
  }
  // What was posted later does not overtake a repair.
  port.last_on_chip = std::max({now(), there, port.last_on_chip});
  at(port.last_on_chip, Ready, index);
}

/// A descriptor is fetched once the buffer of its queue has room for it.
void Fabric::fetch(std::uint32_t index) {
  Transfer& x = (*transfers_)[index];
  Nic& n = *nics_[x.from];
  Port& port = n.ports[x.from_port];
  if (!n.buffers.empty() && !x.buffered) {
    auto buffers = static_cast<unsigned>(n.buffers.size());
    unsigned number = (x.from_port - (p_.ports - p_.memory_queues)) % buffers;
    QueueBuffer& buffer = n.buffers[number];
    unsigned queues = (p_.memory_queues - number + buffers - 1) / buffers;
    if (port.buffered && buffer.shared >= p_.buffer_slots - queues) {
      ++n.counters.buffer_waits;
      buffer.waiting.push_back(index);
      return;
    }
    if (port.buffered++) ++buffer.shared;
    x.buffered = true;
  }
  at(n.bus.from_memory(now(), p_.descriptor.value), Ready, index);
}

/// A descriptor leaves its queue; the room it had goes to the first that waits and may have it.
void Fabric::leave_queue(Transfer& x) {
  if (std::exchange(x.slot_freed, true)) return;
  queue_.stop();
  host_.slot_free({x.from, x.from_port}, now());
  if (!std::exchange(x.buffered, false)) return;
  Nic& n = *nics_[x.from];
  unsigned first = p_.ports - p_.memory_queues;
  QueueBuffer& buffer = n.buffers[(x.from_port - first) % n.buffers.size()];
  Port& port = n.ports[x.from_port];
  if (--port.buffered) --buffer.shared;
  auto next = std::find_if(buffer.waiting.begin(), buffer.waiting.end(), [&](std::uint32_t waiting) {
    // Room that was shared serves anyone; a queue's own serves that queue alone.
    return port.buffered || (*transfers_)[waiting].from_port == x.from_port;
  });
  if (next == buffer.waiting.end()) return;
  std::uint32_t index = *next;
  buffer.waiting.erase(next);
  fetch(index);
}

}  // namespace weft::nic
