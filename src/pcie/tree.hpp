// Bridges and functions below the root of a node, and how requests find their way: configuration requests by
// bus number, memory by the windows of bridges. Below a root port of PCI Express is one device or switch;
// below the host of a chain of HyperTransport are its units, one behind the other, and to memory the chain is
// a bus.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "pcie/function.hpp"
#include "pcie/link.hpp"

namespace weft::pcie {

class Tree {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  struct Place {
    std::string name;
    std::size_t parent = kNone;  // the bridge it is below; none: it is on bus 0
    unsigned device = 0;         // its number on that bus; of a unit of a chain: its place in it
    ConfigSpace* space = nullptr;
    Function* function = nullptr;  // none: a bridge
    LinkParameters link;           // upwards; of a root port, host or bridge to another bus: downwards
    std::size_t room = 0;          // for what is below it
    bool is_switch = false;        // what is below it are its ports
    std::vector<std::size_t> below;
  };

  /// A root port, or the host of a chain; its link is the one below it, and of a chain all of them.
  std::size_t add_root_port(std::string name, const LinkParameters& link);
  /// A unit of a chain that is a root port of PCI Express to what is below it.
  std::size_t add_bridge(std::string name, std::size_t below, const LinkParameters& link);
  /// A switch below a port: one upstream port, and as many downstream ports. Returns the upstream port.
  std::size_t add_switch(std::string name, std::size_t below, unsigned ports, const LinkParameters& link);
  /// The first port of a switch that leads nowhere yet, or a root port that does, or a chain with room;
  /// kNone: all are taken.
  std::size_t free_port(std::size_t bridge) const;
  bool is_chain(std::size_t place) const {
    return place != kNone && !places_[place].function && places_[place].link.is_hyper_transport();
  }
  /// Its `link` is its own end; on a chain it is what the chain has. It gets the capability of its bus.
  std::size_t add_function(std::string name, std::size_t below, Function& function,
                           const LinkParameters& link);

  const std::vector<Place>& places() const { return places_; }

  /// Who answers to this number, as bridges have theirs now; kNone: nobody. A bridge passes on what lies in
  /// its range of buses and drops the rest.
  std::size_t find(FunctionId id) const;
  /// Which function has put this memory where, as windows are now.
  struct Target {
    std::size_t place = kNone;
    unsigned bar = 0;
    std::uint64_t offset = 0;
  };
  Target find_memory(std::uint64_t address, std::uint64_t bytes) const;

  /// From the root down to a place: time of links and bridges, and the slowest of the links.
  LinkParameters path(std::size_t place) const;
  /// The links on this way, by the places at their lower ends: whatever else is below those shares them.
  std::vector<std::size_t> links(std::size_t place) const;
  /// What a link carries: the less of its two ends.
  LinkParameters link_above(std::size_t place) const;

  std::uint32_t config_read(FunctionId id, std::uint32_t offset, std::uint32_t bytes) const;
  /// False where nobody is there.
  bool config_write(FunctionId id, std::uint32_t offset, std::uint32_t bytes, std::uint32_t value);

 private:
  std::size_t add(Place place);
  void join_chain(std::size_t host, ConfigSpace& space);
  std::size_t on_bus(const std::vector<std::size_t>& bus, FunctionId id) const;

  std::vector<Place> places_;
  std::vector<std::size_t> roots_;
  std::deque<ConfigSpace> bridges_;  // addresses stay
};

/// Accesses to configuration space, wherever it is.
struct ConfigAccess {
  std::function<std::uint32_t(FunctionId id, std::uint32_t offset, std::uint32_t bytes)> read;
  std::function<void(FunctionId id, std::uint32_t offset, std::uint32_t bytes, std::uint32_t value)> write;
};
ConfigAccess access_to(Tree& tree);

/// What enumeration has found.
struct Found {
  FunctionId id;
  std::size_t parent;  // among what was found; Tree::kNone: on bus 0
  bool bridge = false;
  unsigned secondary = 0, subordinate = 0;                    // of a bridge
  std::vector<std::pair<std::uint64_t, std::uint64_t>> bars;  // address and size; size 0: none
};

/// Gives numbers to buses, depth first, then addresses from `memory` on to what functions want, opens windows
/// and sets payloads to the least of each path. `error`: what does not fit into `size` bytes.
std::vector<Found> enumerate(const ConfigAccess& access, std::uint64_t memory, std::uint64_t size,
                             std::string& error);

/// As `lspci -tv` prints it; `name` says in words what is there.
std::string tree_text(unsigned domain, const std::vector<Found>& found,
                      const std::function<std::string(FunctionId)>& name);
/// As `lspci -xxx` prints it, which `lspci -F` reads.
std::string hex_text(unsigned domain, const std::vector<Found>& found, const ConfigAccess& access,
                     const std::function<std::string(FunctionId)>& name);

}  // namespace weft::pcie
