// `weft boot --accelerators`: which devices of other nodes the Linux nodes of a job get.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostics.hpp"
#include "guest/cluster.hpp"
#include "machine/machine.hpp"

namespace weft::app {

struct AcceleratorRequest {
  const node::DeviceKind* kind = nullptr;
  unsigned count = 0;
};

/// "nvme=1,compute=2".
std::vector<AcceleratorRequest> parse_accelerators(const std::string& text, Diagnostics& problems);

/// Settings that give a machine the devices which its description has none of: one on each of its last nodes
/// that run no kernel.
std::vector<std::string> settings_of_accelerators(const std::vector<AcceleratorRequest>& requests,
                                                  const machine::Machine& machine,
                                                  const std::vector<network::EndpointId>& place);

/// Whose device each of them is: hosts take turns. Nodes without a kernel come first.
std::vector<guest::Assignment> assign_accelerators(const std::vector<AcceleratorRequest>& requests,
                                                   const machine::Machine& machine,
                                                   const std::vector<network::EndpointId>& place,
                                                   Diagnostics& problems);

}  // namespace weft::app
