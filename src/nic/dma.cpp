#include "nic/dma.hpp"

#include <algorithm>
#include <utility>

namespace weft::nic {

namespace {

constexpr std::uint64_t kStage = 64 * 1024;  // read from a process at once

}  // namespace

bool DmaChannels::taken(Outgoing& x, std::uint32_t index) {
  bool rdma = x.d.operation == Operation::Put || x.d.operation == Operation::Get;
  if (!context_.nic.channels || !rdma || x.channel != kNoDomain) return false;
  std::uint32_t domain = ports_[x.port].domain;
  if (domain == kNoDomain) return false;  // the kernel's
  auto [channel, free] = channels_.try_emplace(domain, index);
  if (!free) {
    counters_.channel_waits += !std::exchange(x.waited_for_channel, true);
    return true;
  }
  x.channel = domain;
  return false;
}

void DmaChannels::leave(Outgoing& x, std::uint32_t index) {
  if (x.channel == kNoDomain) return;
  auto channel = channels_.find(std::exchange(x.channel, kNoDomain));
  if (channel != channels_.end() && channel->second == index) channels_.erase(channel);
}

Time MemoryReader::on_chip(Staging& staging, const Place& place, Packet& packet, Time from, bool snooped) {
  const Header& h = packet.header;
  if (h.offset < staging.first || h.offset + h.bytes > staging.first + staging.data.size()) {
    staging.first = h.offset;
    staging.data.resize(std::min(kStage, h.length - h.offset));
    if (!context_.memory.read(place.space, place.address + h.offset, staging.data.data(),
                              staging.data.size())) {
      staging.data.clear();
      return from;
    }
  }
  const std::uint8_t* begin = staging.data.data() + (h.offset - staging.first);
  packet.data.assign(begin, begin + h.bytes);
  Time translated = from + registration_.translate(place, h.offset, h.bytes, from, h.flags & kPhysical);
  if (snooped && !node::is_of_device(place.space)) translated = translated + context_.host_parameters.snoop;
  return bus_.from_memory(translated, h.bytes, place.space);
}

}  // namespace weft::nic
