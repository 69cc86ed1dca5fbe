// The devices of a node as a tree of PCI Express or HyperTransport, as its description joins them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/diagnostics.hpp"
#include "machine/description.hpp"
#include "nic/host.hpp"
#include "node/node.hpp"
#include "pcie/tree.hpp"

namespace weft::nic {

struct DeviceTree {
  std::unique_ptr<pcie::Tree> tree;     // nothing where the node has no such device
  std::uint64_t window = 0;             // addresses the root port passes on
  Time power_up{0};                     // when the port's power is stable
  std::string root;                     // the port's name; empty where the description does not speak of it
  std::vector<node::DeviceId> devices;  // by place; kNobody: a bridge
  /// Where those below it and its host find units of the chip; 0: nowhere.
  std::uint64_t registers = 0, messages = 0, rdma = 0;
  bool device_ports = false;  // each function has a port of the interface from the start
};

/// `payload`: what a packet of the network carries at most. Without a word of bridges there is one root port,
/// and a switch below it where there are several devices.
DeviceTree device_tree(node::Node& site, std::uint32_t payload, const machine::Description& description,
                       Diagnostics& problems);

}  // namespace weft::nic
