// What is really plugged into the sockets of a machine, which need not be what its description says.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostics.hpp"
#include "topology/faults.hpp"

namespace weft::manage {

using topology::EndpointId;
using topology::Graph;
using topology::kNone;
using topology::PortId;
using topology::RouterId;

/// What is at the other end of a port's cable.
struct Plug {
  enum class Kind : std::uint8_t { Nothing, Router, Interface, Unknown };
  Kind kind = Kind::Nothing;
  std::uint32_t number = 0;  // a port of a router, an endpoint; else 0
  friend bool operator==(const Plug&, const Plug&) = default;
};

/// What a description says is at a port; where it calls the cable or a router dead, nothing answers there.
Plug described(const Graph& graph, const topology::Faults& faults, PortId port);

class Wiring {
 public:
  /// As described.
  Wiring(const Graph& graph, const topology::Faults& faults);

  const Plug& at(PortId port) const { return plugs_[port]; }
  const Graph& graph() const { return graph_; }

  /// The two cables' plugs are in each other's socket.
  void swap(PortId a, PortId b);
  /// Nothing is plugged in any more.
  void unplug(PortId a);
  /// As described, but for these.
  void follow(const topology::Faults& faults);
  /// A device that nobody knows is plugged in instead.
  void replace(PortId a);

 private:
  void put(PortId port, Plug plug);

  const Graph& graph_;
  std::vector<Plug> plugs_;
};

/// "r3.p0", "node 12", "nothing", "an unknown device".
std::string plug_name(const Graph& graph, Plug plug);

/// Mistakes somebody wants in the cabling, in the order they are made.
class Mistakes {
 public:
  explicit Mistakes(const Graph& graph) : graph_(graph) {}

  /// One of "swap r3.p0,r9.p0", "unplug r3.p0", "replace r3.p0". Errors are collected, told as of `where`.
  void add(const std::string& line, const std::string& where);
  /// A line each; `#` begins a comment.
  void add_file(const std::string& path);
  /// Throws UserError where there were any.
  void finish();
  void make(Wiring& wiring) const;

 private:
  struct Mistake {
    enum class Kind : std::uint8_t { Swap, Unplug, Replace } kind;
    PortId a, b;
  };
  PortId port_named(const std::string& name, const std::string& where);

  const Graph& graph_;
  std::vector<Mistake> mistakes_;
  std::vector<std::string> wrong_;
};

}  // namespace weft::manage
