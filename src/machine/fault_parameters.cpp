#include "machine/fault_parameters.hpp"

#include "machine/description.hpp"

namespace weft::machine {

using config::Range;

const config::Section& fault_section() {
  static const config::Section section =
      config::Schema<FaultParameters>()
          .field(&FaultParameters::dead_cables, "dead_cables",
                 "Cables out of order, each by a port at one end: \"r12.p3\"")
          .field(&FaultParameters::dead_routers, "dead_routers", "Routers out of order, by number")
          .section();
  return section;
}

const config::Section& rerouting_section() {
  using P = ReroutingParameters;
  const Range<Time> any{{0}, {1'000'000'000'000}};
  static const config::Section section =
      config::Schema<P>()
          .choice(&P::by, "by",
                  "How long it takes to find out what is left and to write the new tables: the times given "
                  "here, or what a management program on a node of the machine needs for it by reads and "
                  "writes of registers over the network (`weft manage`)",
                  {"times", "manager"})
          .field(&P::manager, "manager", "The endpoint on which that program runs",
                 Range<std::uint32_t>{0, 16'777'215})
          .field(&P::report, "report", "From a link's own diagnosis to whoever computes routes", any)
          .field(&P::compute, "compute", "Time new routes take to compute", any)
          .field(&P::prove, "prove", "Time it then takes to prove that they do not deadlock", any)
          .field(&P::write_per_router, "write_per_router",
                 "Time to rewrite the tables of one router; they are written one after the other", any)
          .field(&P::quiet, "quiet",
                 "While the network drains: packets that have not moved for so long go back to their sources",
                 any)
          .field(&P::longest_drain, "longest_drain", "Longest time the network is given to drain", any)
          .section();
  return section;
}

}  // namespace weft::machine
