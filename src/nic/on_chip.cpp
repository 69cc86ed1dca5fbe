#include "nic/on_chip.hpp"

#include <algorithm>

#include "nic/register_unit.hpp"
#include "nic/requester_pages.hpp"

namespace weft::nic {

const char* name_of(Unit unit) {
  switch (unit) {
    case Unit::Network:
      return "the network";
    case Unit::Registers:
      return "the register file";
    case Unit::Messages:
      return "the unit of small messages";
    case Unit::Rdma:
      return "the RDMA unit";
  }
  return "";
}

bool OnChip::open(const Interval& interval) {
  for (const Interval& other : intervals_)
    if ((other.inputs & interval.inputs) && interval.first < other.first + other.size &&
        other.first < interval.first + interval.size)
      return false;
  intervals_.push_back(interval);
  return true;
}

void OnChip::close(NicId target) {
  std::erase_if(intervals_, [&](const Interval& interval) {
    return interval.unit == Unit::Network && interval.target == target;
  });
}

void OnChip::close_at(std::uint8_t input, std::uint64_t first) {
  std::erase_if(intervals_, [&](const Interval& interval) {
    return interval.unit == Unit::Network && interval.inputs == input && interval.first == first;
  });
}

const Interval* OnChip::find(std::uint8_t input, std::uint64_t address, std::uint64_t bytes) const {
  for (const Interval& interval : intervals_)
    if ((interval.inputs & input) && address >= interval.first && bytes <= interval.size &&
        address - interval.first <= interval.size - bytes)
      return &interval;
  return nullptr;
}

Unit OnChip::unit_of(std::uint8_t input, const pcie::Tlp& tlp) const {
  if (tlp.kind != pcie::TlpKind::MemoryRead && tlp.kind != pcie::TlpKind::MemoryWrite) return Unit::Network;
  const Interval* interval = find(input, tlp.address, tlp.bytes);
  return interval ? interval->unit : Unit::Network;
}

Time OnChip::ready(Unit unit, Time now) {
  if (unit != Unit::Registers) return now;
  Header request;
  request.length = 8;
  return registers_.serve(request, now);
}

bool OnChip::access(std::uint8_t input, const pcie::Tlp& tlp, std::span<const std::uint8_t> data,
                    const Asker& asker, std::vector<std::uint8_t>& answer) {
  const Interval* interval = find(input, tlp.address, tlp.bytes);
  if (!interval || interval->unit == Unit::Network) return false;
  const std::uint64_t offset = tlp.address - interval->first;
  if (interval->unit == Unit::Registers) return access_registers(tlp, offset, data, asker, answer);
  return tlp.is_write() && pages_.store(interval->unit, offset, data, asker);
}

/// One register, or half of one.
bool OnChip::access_registers(const pcie::Tlp& tlp, std::uint64_t offset, std::span<const std::uint8_t> data,
                              const Asker& asker, std::vector<std::uint8_t>& answer) {
  if ((tlp.bytes != 8 && tlp.bytes != 4) || offset % tlp.bytes) return false;
  Header request;
  request.from = asker.nic;
  request.remote_offset = offset - offset % 8;
  request.length = 8;
  const auto within = static_cast<std::ptrdiff_t>(offset % 8);
  const bool write = tlp.is_write();
  if ((!write || tlp.bytes == 4) && registers_.read(request, word_) != Status::Ok) return false;
  if (!write) {
    answer.assign(word_.begin() + within, word_.begin() + within + tlp.bytes);
    return true;
  }
  word_.resize(8);
  std::copy(data.begin(), data.end(), word_.begin() + within);
  return registers_.write(request, word_) == Status::Ok;
}

}  // namespace weft::nic
