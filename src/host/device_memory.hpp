// Memory of devices that processes have allocated and mapped: whose it is, and where it is in the device.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "nic/host.hpp"

namespace weft::host {

class DeviceMemory {
 public:
  struct Mapping {
    std::uint32_t rank;
    std::uint64_t address, length;  // in the process
    nic::NicId nic;
    node::DeviceId device;
    std::uint64_t offset;  // in the device's memory
    node::SpaceId space;
    bool is_peer;
  };

  /// Takes memory of a device for a process that maps it at this address; nothing where there is not so much.
  const Mapping* allocate(std::uint32_t rank, nic::NicId nic, node::DeviceId device,
                          const node::OwnMemory& memory, std::uint64_t address, std::uint64_t length);
  /// False where nothing of the process is mapped there.
  bool free(std::uint32_t rank, std::uint64_t address);
  void rank_ended(std::uint32_t rank);

  /// The memory of a device that all of a process's range is; nothing where it is none, or is partly.
  const Mapping* find(std::uint32_t rank, std::uint64_t address, std::uint64_t length) const;
  /// Does some of a process's range lie in memory of a device?
  bool touches(std::uint32_t rank, std::uint64_t address, std::uint64_t length) const;

 private:
  std::vector<Mapping> mappings_;  // few: a process allocates for long
};

}  // namespace weft::host
