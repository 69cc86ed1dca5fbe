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

/// All accelerators that the job may be granted: those on nodes without a kernel first, each named by its
/// kind and its number among these.
std::vector<guest::PooledDevice> pool_of(const machine::Machine& machine,
                                         const std::vector<network::EndpointId>& place);

/// Who has which from the start: hosts take turns.
std::vector<guest::Assignment> assign_accelerators(const std::vector<AcceleratorRequest>& requests,
                                                   const machine::Machine& machine,
                                                   const std::vector<guest::PooledDevice>& pool,
                                                   std::size_t hosts, Diagnostics& problems);

/// What runs each of the nodes where no processor does, named by its device and its number among these:
/// "knc0".
std::vector<std::string> accelerators_of(const machine::Machine& machine,
                                         const std::vector<network::EndpointId>& place);
/// " of accelerators" where all of them are, ", 2 of accelerators," where some.
std::string share_of_accelerators(const std::vector<std::string>& accelerator_of);

/// What `--accelerator-script` was given: a script, or the name of a file that holds one. Throws UserError.
std::vector<guest::GrantRequest> read_grants(const std::string& given, const guest::GrantNames& names);

}  // namespace weft::app
