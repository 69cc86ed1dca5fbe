// What one thread's routers receive from, and hand to, cables with a link layer. Runs beside the stages of a
// cycle: before them and after them.
#pragma once

#include "network/flit/fabric.hpp"
#include "network/flit/link_layer.hpp"
#include "network/flit/sources.hpp"
#include "network/flit/worker.hpp"

namespace weft::network::flit {

class LinkTraffic {
 public:
  LinkTraffic(Fabric& fabric, Sources& sources, LinkLayer& links, Worker& worker)
      : fabric_(fabric), sources_(sources), links_(links), worker_(worker) {}

  /// Puts what arrives into the inboxes of this cycle.
  void take(Cycle now);
  /// Sends the flits and credits of this cycle.
  void give(Cycle now);

 private:
  Fabric& fabric_;
  Sources& sources_;
  LinkLayer& links_;
  Worker& worker_;
};

}  // namespace weft::network::flit
