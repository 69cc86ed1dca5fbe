#include "host/rank_ports.hpp"

#include <algorithm>
#include <utility>

#include "abi/port_set.hpp"

namespace weft::host {

RankPorts::RankPorts(nic::Fabric& fabric, const Segments& segments, std::vector<nic::NicId> nics)
    : fabric_(fabric),
      segments_(segments),
      nics_(std::move(nics)),
      ports_(nics_.size(), std::vector<Port>(kPortsPerProcess)),
      owner_of_port_(fabric.nics()) {}

std::uint32_t RankPorts::rank_of(nic::PortRef port) const {
  if (port.nic >= owner_of_port_.size()) return kNoRank;  // of a node without ranks
  const auto& ports = owner_of_port_[port.nic];
  return port.port < ports.size() && ports[port.port] != kNobody
             ? static_cast<std::uint32_t>(ports[port.port] >> 8)
             : kNoRank;
}

RankPorts::Place RankPorts::place_of(nic::PortRef port) const {
  std::uint64_t owner = owner_of_port_[port.nic][port.port];
  return {static_cast<std::uint32_t>(owner >> 8), static_cast<unsigned>(owner & 255)};
}

unsigned RankPorts::free_index(std::uint32_t rank) const {
  unsigned index = 0;
  while (index < kPortsPerProcess && ports_[rank][index].open) ++index;
  return index;
}

unsigned RankPorts::open(std::uint32_t rank, unsigned index, nic::PortNo number) {
  auto& owners = owner_of_port_[nics_[rank]];
  if (owners.size() <= number) owners.resize(number + 1, kNobody);
  owners[number] = std::uint64_t{rank} << 8 | index;
  unsigned slots = fabric_.ring_slots({nics_[rank], number});
  segments_[rank]->open(index, slots);
  ports_[rank][index] = {true, number};
  return slots;
}

void RankPorts::close(std::uint32_t rank, unsigned index) {
  if (!is_open(rank, index)) return;
  fabric_.close(port(rank, index));
  segments_[rank]->close(index);
  ports_[rank][index].open = false;
}

void RankPorts::abandon(std::uint32_t rank) {
  for (unsigned i = 0; i < kPortsPerProcess; ++i) {
    if (ports_[rank][i].open) fabric_.close(port(rank, i));
    ports_[rank][i].open = false;
  }
}

bool RankPorts::busy(std::uint32_t rank, std::uint32_t index) const {
  for (unsigned i = 0; i < kPortsPerProcess; ++i)
    if ((index == kAnyPort || i == index) && ports_[rank][i].open && fabric_.busy(port(rank, i))) return true;
  return false;
}

Time RankPorts::first_entry(std::uint32_t rank, std::uint32_t named) const {
  Time first = kNever, there{0};
  const Segment& segment = *segments_[rank];
  for (unsigned i = 0; i < kPortsPerProcess; ++i) {
    if (!ports_[rank][i].open || !names_port(named, i)) continue;
    if (segment.has_message(i, there)) first = std::min(first, there);
    if (segment.has_event(i, there)) first = std::min(first, there);
  }
  return first;
}

bool RankPorts::take_posted(std::uint32_t rank, Time earliest, Time latest) {
  bool any = false;
  Segment& segment = *segments_[rank];
  for (unsigned i = 0; i < kPortsPerProcess; ++i) {
    if (!ports_[rank][i].open) continue;
    posted_.clear();
    segment.take_posted(i, posted_);
    for (nic::Descriptor& d : posted_) {
      d.posted = std::clamp(d.posted, std::max<std::int64_t>(0, earliest.value), latest.value);
      fabric_.post(port(rank, i), d);
    }
    unsigned messages = 0, events = 0;
    segment.take_consumed(i, messages, events);
    if (messages || events) fabric_.consumed(port(rank, i), messages, events);
    any |= !posted_.empty();
  }
  return any;
}

}  // namespace weft::host
