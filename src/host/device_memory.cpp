#include "host/device_memory.hpp"

#include <algorithm>

namespace weft::host {

namespace {

constexpr std::uint64_t kPage = 4096;  // what processes map

}  // namespace

const DeviceMemory::Mapping* DeviceMemory::allocate(std::uint32_t rank, nic::NicId nic, node::DeviceId device,
                                                    const node::OwnMemory& memory, std::uint64_t address,
                                                    std::uint64_t length) {
  if (length == 0 || length > memory.size || address % kPage || address + length < address) return nullptr;
  length = (length + kPage - 1) / kPage * kPage;
  // The first gap that is large enough.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
  for (const Mapping& m : mappings_)
    if (m.nic == nic && m.device == device) taken.emplace_back(m.offset, m.offset + m.length);
  std::sort(taken.begin(), taken.end());
  std::uint64_t offset = 0;
  for (const auto& [first, end] : taken) {
    if (first >= offset + length) break;
    offset = end;
  }
  if (length > memory.size || offset > memory.size - length) return nullptr;
  mappings_.push_back({rank, address, length, nic, device, offset, memory.space, memory.is_peer});
  return &mappings_.back();
}

bool DeviceMemory::free(std::uint32_t rank, std::uint64_t address) {
  return std::erase_if(mappings_, [&](const Mapping& m) { return m.rank == rank && m.address == address; }) >
         0;
}

void DeviceMemory::rank_ended(std::uint32_t rank) {
  std::erase_if(mappings_, [&](const Mapping& m) { return m.rank == rank; });
}

const DeviceMemory::Mapping* DeviceMemory::find(std::uint32_t rank, std::uint64_t address,
                                                std::uint64_t length) const {
  for (const Mapping& m : mappings_)
    if (m.rank == rank && address >= m.address && length <= m.length &&
        address - m.address <= m.length - length)
      return &m;
  return nullptr;
}

bool DeviceMemory::touches(std::uint32_t rank, std::uint64_t address, std::uint64_t length) const {
  return std::any_of(mappings_.begin(), mappings_.end(), [&](const Mapping& m) {
    return m.rank == rank && address < m.address + m.length && m.address < address + length;
  });
}

}  // namespace weft::host
