// A machine as arrays of the GPU engine.
#pragma once

#include "network/cycle_engine.hpp"
#include "network/flit/settings.hpp"
#include "network/gpu/backend.hpp"

namespace weft::network::gpu {

/// Throws UserError with all that this engine does not take of a machine and a run.
void check(const machine::Machine& machine, const flit::Settings& settings, const CycleOptions& options);

/// All arrays but those by packet, empty of traffic. Cables, buffers and turns are those of the flit engine:
/// they are copied from its `Fabric` and `Routes`.
Network build(const machine::Machine& machine, const flit::Settings& settings, Arena& arena);

}  // namespace weft::network::gpu
