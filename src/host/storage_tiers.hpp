// The file system of a run: who uses it; a job's burst buffer before and after its ranks, what it fetches and
// what it writes back; and what all of it has done.
#pragma once

#include "host/neighbours.hpp"
#include "host/storage_calls.hpp"

namespace weft::host {

/// Ranks beside others have files where those have.
bool has_storage(const StorageOptions& options, const Neighbours* neighbours);
/// For ranks, and for neighbours that use files.
std::unique_ptr<StorageCalls> make_storage(const machine::Machine& machine, nic::Fabric& fabric,
                                           event::EventQueue& queue, const StorageRanks& ranks,
                                           const RunOptions& options, Neighbours* neighbours);

/// What is to be in the burst buffer comes there, and ranks begin when it has.
void stage_in(StorageCalls& storage, nic::Fabric& fabric, const Segments& segments, Scheduler& scheduler);

/// What servers, memory of nodes and a burst buffer have done.
storage::Figures storage_figures(StorageCalls& storage);

/// After ranks have ended: what is only in the burst buffer goes to the servers, which is part of the job.
void end_storage(StorageCalls& storage, nic::Fabric& fabric, bool failed, RunResult& result);

}  // namespace weft::host
