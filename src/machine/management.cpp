#include "machine/management.hpp"

namespace weft::machine {

using config::Range;

const config::Section& management_section() {
  using P = ManagementParameters;
  constexpr Range<DataSize> kBytes{{1}, {65'536}};
  static const config::Section section =
      config::Schema<P>()
          .field(&P::rate, "rate", "Of each of its links; the station's own carries all answers",
                 Range<DataRate>{{1'000}, {1'000'000'000'000}})
          .field(&P::latency, "latency", "Of one switch on the way, each way",
                 Range<Time>{{0}, {1'000'000'000'000}})
          .field(&P::fan_out, "fan_out",
                 "Links of one of its switches, away from the station, where it is a tree: without a section "
                 "[management.topology]",
                 Range<unsigned>{2, 4096})
          .field(&P::request, "request", "What asks a chip for its monitors", kBytes)
          .field(&P::header, "header", "Of an answer", kBytes)
          .field(&P::port_state, "port_state", "Counters and state of one port in an answer", kBytes)
          .section();
  return section;
}

}  // namespace weft::machine
