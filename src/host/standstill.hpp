// Whether a run in which nobody goes on can go on at all.
#pragma once

#include "host/call_handler.hpp"
#include "host/scheduler.hpp"
#include "host/segment.hpp"
#include "host/supervisor.hpp"

namespace weft::host {

/// Is every thread that polls in a call of MPI that comes back only when something has happened?
bool all_in_calls(const Supervisor& supervisor, const Scheduler& scheduler, const Segments& segments);

/// Does a thread wait for something real, or may one come that is not in virtual time yet?
bool may_go_on_by_itself(const Supervisor& supervisor, const Scheduler& scheduler, const CallHandler& calls);

/// How long the only rank that runs finds nothing but what it makes happen itself, so that a look in vain
/// need not be asked about. What it posts, it knows (lib/port.hpp).
Time known_until(const nic::Fabric& fabric, nic::NicId nic, const Supervisor& supervisor,
                 Scheduler& scheduler, const CallHandler& calls);

}  // namespace weft::host
