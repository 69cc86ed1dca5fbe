// One thread's tiles, cycle by cycle and stage by stage.
#pragma once

#include <memory>

#include "network/flit/fabric.hpp"
#include "network/flit/link_layer.hpp"
#include "network/flit/routes.hpp"
#include "network/flit/sources.hpp"
#include "network/flit/worker.hpp"

namespace weft::network::flit {

class alignas(64) Pipeline {  // each is written to by its thread alone
 public:
  virtual ~Pipeline() = default;
  /// Runs the tiles of its thread from `begin` to before `end`, one tile after the other.
  virtual void run(Cycle begin, Cycle end) = 0;
};

/// The stages this network needs, compiled for its routes; made anew when those change. Everything is kept by
/// reference. `links`: nothing where no cable has a link layer.
std::unique_ptr<Pipeline> make_pipeline(Fabric& fabric, Routes& routes, Sources& sources, LinkLayer* links,
                                        Worker& worker);
/// The same where classes of traffic share ports.
std::unique_ptr<Pipeline> make_weighted_pipeline(Fabric& fabric, Routes& routes, Sources& sources,
                                                 LinkLayer* links, Worker& worker);

}  // namespace weft::network::flit
