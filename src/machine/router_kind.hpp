// A kind of router: its parameters, what it is made of, and what it cannot be. Each kind registers itself
// from its own file; see CONTRIBUTING.md for the whole of one.
//
// All kinds share the stages of an engine's router: a route is found, a virtual channel is allocated, the
// switch is allocated, and what has won both goes on. A kind says how inputs queue and which ports lie
// between its inputs and its outputs; an engine needs no code for a new one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/registry.hpp"
#include "topology/graph.hpp"

namespace weft::machine {

enum class Switching { Wormhole, CutThrough };
enum class Allocator { RoundRobin, Islip, Age };

/// What every kind has; a kind's own parameters derive from it.
struct RouterParameters {
  unsigned channels = 2;
  unsigned ports = 0;
  Time latency{60'000};
  DataSize flit{16};
  unsigned flit_overhead_bits = 0;
  Frequency clock{0};
  Switching switching = Switching::CutThrough;
  config::Auto<unsigned> buffer_flits;
  unsigned shared_flits = 0;
  unsigned message_classes = 1;
  std::vector<unsigned> class_weights{1};
  Allocator allocator = Allocator::Islip;
  unsigned iterations = 1;
  std::vector<unsigned> local_yield;
  unsigned local_headers = 0;

  unsigned traffic_classes() const { return static_cast<unsigned>(class_weights.size()); }
  /// Each with channels of its own: the message classes of the first traffic class, then of the next.
  unsigned all_classes() const { return message_classes * traffic_classes(); }
};

/// Ports inside a router, each with a buffer behind it: a flit goes from its input over some of them to its
/// output, a cycle each. Which ones follows from input and output alone. A flit keeps its virtual channel up
/// to the last of them, where it takes one it may leave by.
struct InnerPorts {
  static constexpr std::uint16_t kOut = 0xffff;
  std::vector<std::uint16_t> first;         // [input][output]: where a flit goes first
  std::vector<std::uint16_t> next;          // [inner port][output]: where it goes from there; kOut: out
  std::vector<std::uint16_t> buffer_flits;  // by inner port: for all virtual channels, a flit (with
                                            // cut-through a packet) each its own
  std::vector<std::string> names;           // by inner port, for messages

  std::size_t count() const { return buffer_flits.size(); }
};

/// What a machine wants of its routers, for a kind to check.
struct RouterUse {
  const topology::Graph& graph;
  unsigned channels;  // of a port, over all classes
  unsigned largest_packet_flits;
  unsigned latency_cycles;
  bool cut_through;
  bool has_escape;  // the routing has escape channels that a packet turns to later
  std::string routing;
};

/// What a router has for reductions: it holds the contributions of a group's ways until all have come, and
/// passes on what they make together.
struct RouterReduction {
  unsigned groups = 0;    // it has room for; 0: it reduces nothing
  unsigned operands = 0;  // contributions it holds, of all groups
  Time latency{0};        // from the last contribution to what they make together
};

/// A router of some kind, with its parameters.
struct RouterModel {
  /// An input has a queue for each output, of each virtual channel: the route is found on arrival, and a
  /// packet takes a channel when it wins the switch.
  bool queue_per_output = false;
  /// Inner ports that a flit crosses; with any, the output is chosen at the input, for good.
  unsigned inner_stages = 0;
  std::function<InnerPorts(unsigned ports)> inner = {};  // of a router with so many ports
  unsigned smallest_inner_flits = 0xffff'ffff;  // buffer on the way, which bounds packets that cut through
  /// It copies packets for many endpoints where their tree branches (routing/multicast.hpp).
  bool multicast = false;
  RouterReduction reduction = {};
  std::function<void(const RouterUse& use, const config::Complain& complain)> check = {};
};

struct RouterKind {
  ~RouterKind();
  std::string name, about;
  config::Section section;
  const RouterParameters& (*view)(const void* parameters);
  std::function<RouterModel(const void* parameters)> model;
  int order = 100;  // in lists
};

inline constexpr const char* kDefaultRouter = "input-queued";

/// All kinds, in the order of lists.
std::vector<const RouterKind*> router_kinds();

/// The parameters of every router, for a kind to add its own to.
template <class P>
config::Schema<P> router_schema() {
  auto of = []<class V>(V RouterParameters::*member) -> V P::* { return member; };
  return config::Schema<P>()
      .field(of(&RouterParameters::channels), "channels", "Virtual channels of each cable and direction",
             config::Range<unsigned>{1, 64})
      .field(of(&RouterParameters::ports), "ports",
             "Ports the router chip has; 0: as many as the topology asks for",
             config::Range<unsigned>{0, 4096})
      .field(of(&RouterParameters::latency), "latency",
             "Time a packet's head takes through one router without waiting",
             config::Range<Time>{{0}, {1'000'000'000}})
      .field(of(&RouterParameters::flit), "flit", "What a link carries in one step of flow control",
             config::Range<DataSize>{{1}, {4096}})
      .field(of(&RouterParameters::flit_overhead_bits), "flit_overhead_bits",
             "Bits a link carries with each flit beside its data: begin and end marks, flow control",
             config::Range<unsigned>{0, 1024})
      .field(of(&RouterParameters::clock), "clock",
             "Flits a router can pass each second and port; 0: as the fastest cable",
             config::Range<Frequency>{{0}, {100'000'000'000}})
      .choice(of(&RouterParameters::switching), "switching",
              "'wormhole' sends a flit when there is room for it, 'cut-through' a packet when there is "
              "room for all of it",
              {"wormhole", "cut-through"})
      .field(of(&RouterParameters::buffer_flits), "buffer_flits",
             "Buffer of each channel of an input port, its own; \"auto\": what one channel needs to keep "
             "its "
             "cable busy, a credit's round trip and a packet of the interface",
             config::Range<unsigned>{1, 16384})
      .field(of(&RouterParameters::shared_flits), "shared_flits",
             "Buffer of an input port that any of its channels may use beyond its own (DAMQ); 0: none",
             config::Range<unsigned>{0, 16384})
      .field(of(&RouterParameters::message_classes), "message_classes",
             "Classes of messages (requests, responses, completions) that never wait for each other; "
             "each has its own channels",
             config::Range<unsigned>{1, 8})
      .field(of(&RouterParameters::class_weights), "class_weights",
             "Traffic classes, by the weights at which routers and interfaces share a port among those that "
             "have something to send; each class has message classes and channels of its own",
             config::Range<unsigned>{1, 1000})
      .choice(of(&RouterParameters::allocator), "allocator",
              "Who gets an output: in turn, in turn with iSLIP's pointers, or the oldest packet",
              {"round-robin", "islip", "age"})
      .field(of(&RouterParameters::iterations), "iterations", "Rounds of the allocator in a cycle",
             config::Range<unsigned>{1, 16})
      .field(of(&RouterParameters::local_yield), "local_yield",
             "For each local port of a router in turn, how far it gives way: ports with a lower number go "
             "first; cables have 0, and so has what is not listed")
      .field(of(&RouterParameters::local_headers), "local_headers",
             "Headers that each channel of a local input takes in a queue of their own, beside "
             "buffer_flits for payload; 0: all flits lie in one queue",
             config::Range<unsigned>{0, 4096});
}

/// Gives a kind's functions the type of its parameters.
template <class P>
RouterKind router_kind(std::string name, std::string about, int order, config::Section section,
                       RouterModel (*model)(const P&)) {
  return {std::move(name),
          std::move(about),
          std::move(section),
          [](const void* p) -> const RouterParameters& { return *static_cast<const P*>(p); },
          [model](const void* p) { return model(*static_cast<const P*>(p)); },
          order};
}

}  // namespace weft::machine

WEFT_DECLARE_REGISTRY(weft::machine::RouterKind);
