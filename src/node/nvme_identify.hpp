// What an NVM Express disk says of itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "node/node.hpp"
#include "node/nvme_commands.hpp"
#include "pcie/config_space.hpp"

namespace weft::node {

inline constexpr pcie::Identity kNvmeIdentity{0x1234, 0x0108, 0x010802};
inline constexpr std::uint64_t kNvmeBlock = 512;
inline constexpr unsigned kNvmeTransferPages = 5;  // a command moves at most 2 to this power of pages
inline constexpr unsigned kNvmeAsynchronousEvents = 4;

struct NvmeDisk {
  std::string name;
  NodeId node;
  std::uint64_t bytes;
};

/// Answers the command Identify: a page of zeroes becomes what it asks for. Returns a status.
std::uint16_t nvme_identify(const NvmeEntry& entry, const NvmeDisk& disk, std::vector<std::uint8_t>& out);

}  // namespace weft::node
