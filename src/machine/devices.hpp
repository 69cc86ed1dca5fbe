// What a description says about the devices of nodes: [node.device.NAME].
#pragma once

#include "config/schema.hpp"
#include "node/kind.hpp"

namespace weft::machine {

/// A device of some nodes, or of all.
struct Device : node::DeviceDescription {
  std::vector<std::uint32_t> nodes;  // empty: every node has one
  bool sits_on(std::uint32_t node) const;
};

/// Reads all of them; `endpoints`: the nodes there are, where they are known.
void read_devices(const config::Table& root, double endpoints, config::Reader& reader,
                  std::vector<Device>& out);

/// What every kind of device has: where it sits.
const config::Section& device_section();

}  // namespace weft::machine
