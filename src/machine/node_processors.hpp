// Processors of single nodes ([processor.NAME]): what differs there from the [processor] of all others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/schema.hpp"
#include "machine/processor.hpp"

namespace weft::machine {

/// What its section leaves out is that of [processor].
struct NodeProcessor {
  std::string name;
  ProcessorParameters processor;
  std::vector<std::uint32_t> nodes;
};

/// Reads [processor] and the sections in it; `endpoints`: the nodes there are, where they are known.
void read_processors(const config::Table& root, double endpoints, config::Reader& reader,
                     ProcessorParameters& all, std::vector<NodeProcessor>& some);

/// What such a section has beside the keys of [processor].
const config::Section& node_processor_section();

}  // namespace weft::machine
