// A job's burst buffer before and after its ranks: what it fetches, what it writes back, and what it has
// done.
#pragma once

#include "host/storage_calls.hpp"

namespace weft::host {

/// What is to be in the burst buffer comes there, and ranks begin when it has.
void stage_in(StorageCalls& storage, nic::Fabric& fabric, const Segments& segments, Scheduler& scheduler);

/// What servers, memory of nodes and a burst buffer have done.
storage::Figures storage_figures(StorageCalls& storage);

/// After ranks have ended: what is only in the burst buffer goes to the servers, which is part of the job.
void end_storage(StorageCalls& storage, nic::Fabric& fabric, bool failed, RunResult& result);

}  // namespace weft::host
