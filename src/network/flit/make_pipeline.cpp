// Which stages a machine needs: compiled for its switching, queues and routing.
#include "network/flit/pipeline.hpp"
#include "network/flit/stages.hpp"

namespace weft::network::flit {

std::unique_ptr<Pipeline> make_pipeline(Fabric& fabric, Routes& routes, Sources& sources, LinkLayer* links,
                                        Worker& worker) {
  static constexpr RelationRoute kByRelation{};
  const bool cut_through = fabric.settings.switching == Switching::CutThrough;
  const auto make_copying = [&]<class Route>(const Route& route) -> std::unique_ptr<Pipeline> {
    return std::make_unique<Stages<Variant<Route, true, false, true>>>(fabric, routes, sources, links, worker,
                                                                       route);
  };
  if (fabric.settings.weighted()) return make_weighted_pipeline(fabric, routes, sources, links, worker);
  if (fabric.settings.multicast())
    return routes.grid ? make_copying(*routes.grid) : make_copying(kByRelation);
  auto make = [&]<class Route, bool Voq>(const Route& route,
                                         std::bool_constant<Voq>) -> std::unique_ptr<Pipeline> {
    if (cut_through)
      return std::make_unique<Stages<Variant<Route, true, Voq>>>(fabric, routes, sources, links, worker,
                                                                 route);
    return std::make_unique<Stages<Variant<Route, false, Voq>>>(fabric, routes, sources, links, worker,
                                                                route);
  };
  if (fabric.settings.router.queue_per_output) return make(kByRelation, std::true_type{});
  if (routes.grid) return make(*routes.grid, std::false_type{});
  return make(kByRelation, std::false_type{});
}

}  // namespace weft::network::flit
