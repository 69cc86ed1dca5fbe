// What every link has carried since somebody last looked, as a share of what it could have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "machine/machine.hpp"
#include "measure/run/transfers.hpp"

namespace weft::live {

class LinkMeter {
 public:
  explicit LinkMeter(const machine::Machine& machine);

  /// From an engine that counts flits: sent so far by port, the time of a flit by cable, and the time now, in
  /// the same unit. Where no time has passed since the last look, what was found then stays.
  void counted(const std::vector<std::uint64_t>& sent, const std::vector<double>& flit_time, double now);
  /// From one that does not: what was sent since, laid on its routes.
  void laid(const std::vector<measure::LinkLoad>& loads);

  /// By cable there and back, packed as heat maps have it, or by bundle where a machine is drawn as tiers; a
  /// table by kind of link; the busiest by name.
  Json json() const;
  double use(topology::PortId port) const { return use_[port]; }

 private:
  struct Kind {
    std::string name;
    std::uint64_t links = 0;
  };
  std::vector<topology::PortId> busiest() const;
  Json bundles() const;

  const topology::Graph& graph_;
  std::vector<Kind> kinds_;                              // in the order reports have them
  std::vector<std::uint32_t> kind_of_;                   // by port
  std::vector<std::vector<topology::CableId>> bundles_;  // as they are drawn
  std::vector<float> use_;                               // by port
  std::vector<std::uint64_t> sent_;
  double then_ = 0;
};

}  // namespace weft::live
