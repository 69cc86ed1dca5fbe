// The stages of routers whose ports are shared by classes of traffic, apart from the others: those do not
// know of classes.
#include "network/flit/pipeline.hpp"
#include "network/flit/stages.hpp"

namespace weft::network::flit {

std::unique_ptr<Pipeline> make_weighted_pipeline(Fabric& fabric, Routes& routes, Sources& sources,
                                                 LinkLayer* links, Worker& worker) {
  static constexpr RelationRoute kByRelation{};
  const bool cut_through = fabric.settings.switching == Switching::CutThrough;
  auto make = [&]<class Route, bool Voq>(const Route& route,
                                         std::bool_constant<Voq>) -> std::unique_ptr<Pipeline> {
    if (cut_through)
      return std::make_unique<Stages<Variant<Route, true, Voq, false, true>>>(fabric, routes, sources, links,
                                                                              worker, route);
    return std::make_unique<Stages<Variant<Route, false, Voq, false, true>>>(fabric, routes, sources, links,
                                                                             worker, route);
  };
  if (fabric.settings.router.queue_per_output) return make(kByRelation, std::true_type{});
  if (routes.grid) return make(*routes.grid, std::false_type{});
  return make(kByRelation, std::false_type{});
}

}  // namespace weft::network::flit
