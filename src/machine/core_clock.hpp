// [core]: the clock and width of the chip that holds interface and router. The times and rates of a
// description hold at the nominal clock and width; what the chip's clock drives follows from both.
#pragma once

#include <vector>

#include "config/schema.hpp"
#include "machine/mpi_parameters.hpp"
#include "machine/nic_parameters.hpp"
#include "machine/processor.hpp"
#include "machine/router_kind.hpp"
#include "topology/cable.hpp"

namespace weft::machine {

/// The clock and width of the chip that holds interface and router; 0: not given.
struct CoreParameters {
  Frequency clock{0}, nominal_clock{0};
  DataSize width{0}, nominal_width{0};
};

const config::Section& core_section();

/// Scales what the chip's clock drives. By the clock: the times of the interface's logic, of a router and of
/// the transceivers (all a number of cycles), and a router's own clock. By clock and width: what cables
/// carry. By the width: a flit. The host's bus, its memory and its processor have clocks of their own.
void apply_core(const CoreParameters& core, NicParameters& nic, RouterParameters& router,
                std::vector<topology::CableType>& cables);

/// Scales what the processor's clock drives: the times of its own instructions. What it waits for, memory and
/// the bus, has clocks of its own.
void apply_processor(const ProcessorParameters& processor, HostParameters& host, MpiParameters& mpi);

}  // namespace weft::machine
