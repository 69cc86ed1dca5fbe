// Watches the links and buffers of an engine: what each link carried, slice by slice, and where flits stood.
#pragma once

#include <string>
#include <vector>

#include "measure/traffic/result.hpp"
#include "network/cycle_engine.hpp"
#include "network/part.hpp"

namespace weft::measure {

class LinkWatch {
 public:
  /// `ranks`: who share the machine, each watching its own part, or null.
  LinkWatch(const topology::Graph& graph, const network::CycleEngine& engine, network::Ranks* ranks);

  /// The measured time starts now.
  void start();
  /// Looks at every buffer; `queued`: flits in the queues of the sources.
  void sample(std::uint64_t queued);
  /// A slice of time has ended. Slices are merged in pairs when there are many, so give a power of two of
  /// them in all, or take the last one as shorter.
  void end_slice(network::Cycle cycles);

  /// Every link between routers and where flits waited; `cycles` have been measured in all. Called by all
  /// ranks; the first alone is told, which writes it.
  void tell(network::Cycle cycles, TrafficPoint& point) const;

 private:
  struct Slice {
    network::Cycle cycles = 0;
    std::vector<std::uint32_t> sent;  // flits, by link
  };
  double utilisation(std::size_t link, std::uint64_t flits, network::Cycle cycles) const;
  void tell_links(network::Cycle cycles, TrafficPoint& point) const;
  std::vector<WaitingPlace> waiting(const std::vector<std::uint64_t>& standing, std::uint64_t queued) const;

  const topology::Graph& graph_;
  const network::CycleEngine& engine_;
  network::Ranks* const ranks_;
  Run here_;          // ports of this process
  bool keep_slices_;  // not where a network has so many links that nobody could look at them
  std::vector<topology::PortId> ports_;  // here, of links between routers
  std::vector<std::uint64_t> at_start_, at_slice_;
  std::vector<std::uint64_t> sent_;       // by port here, as last looked at
  std::vector<std::uint32_t> occupancy_;  // the same
  std::vector<Slice> slices_;
  std::vector<std::uint64_t> standing_;  // by port here, summed over samples
  std::uint64_t samples_ = 0, queued_ = 0;
};

}  // namespace weft::measure
