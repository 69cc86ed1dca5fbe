// The machine's file system on all Linux nodes of a run.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "guest/guest_node.hpp"
#include "host/storage_calls.hpp"

namespace weft::guest {

/// Every node has a device for it from now on; the first of them is this user of it. `interrupt`: that device
/// interrupts its node.
void share_files(host::StorageCalls& files, std::uint32_t first,
                 const std::vector<std::unique_ptr<GuestNode>>& nodes, event::EventQueue& queue,
                 const machine::HostParameters& host, std::int64_t date,
                 const std::function<void(GuestNode& node)>& interrupt);

}  // namespace weft::guest
