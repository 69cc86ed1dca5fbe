// Chips of a machine before anybody has configured them, and the way to their registers over the network.
//
// The registers are those of abi/registers.hpp, with the rights they have there; a running machine's are kept
// by its interfaces (nic/register_unit.hpp). What differs is how a request comes to them: there are no routes
// yet. It starts at the manager's own router. Each router it comes to looks the chip's number up in its
// table of ways, which is empty until somebody has written it; the answer goes from router to router by the
// port by which each was given its number. So nothing is reached that was not made reachable before, by
// writes that went the same way. Requests take the time that routers, cables and interfaces take, one at a
// time: nothing else is under way. One that is not answered is given up after a while.
//
// Routers have two routing tables, and interfaces a register that says by which their packets go.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "abi/descriptor.hpp"
#include "abi/register_access.hpp"
#include "machine/machine.hpp"
#include "manage/wiring.hpp"

namespace weft::manage {

/// As a manager numbers chips, in the order it finds them; its own router is 0.
using ChipNumber = std::uint32_t;
inline constexpr std::uint16_t kNoPort = 0xffff;

/// What one register of a link says, as heard over the cable.
struct Neighbour {
  Plug::Kind kind = Plug::Kind::Nothing;
  std::uint32_t number = 0;  // of a router or an endpoint
  std::uint16_t port = 0;    // of the other chip
};

/// Of a routing table: how many outputs there are to choose from, and the first.
struct RouteEntry {
  std::uint16_t port = kNoPort;
  std::uint8_t channel_class = 0, choices = 0;
  friend bool operator==(const RouteEntry&, const RouteEntry&) = default;
};

class Chips {
 public:
  /// The manager runs on endpoint `manager`.
  Chips(const machine::Machine& machine, const Wiring& wiring, EndpointId manager);

  /// A router, whatever is at a port of it, or the manager's own router.
  struct Target {
    enum class What : std::uint8_t { Router, BeyondPort, Interface, Own } what = What::Router;
    ChipNumber chip = 0;
    std::uint16_t port = kNoPort;
  };
  /// One request: registers that follow each other, kMostAtOnce at most. Unreachable: no answer comes.
  nic::Status read(const Target& target, std::uint64_t offset, std::span<std::uint64_t> values);
  nic::Status write(const Target& target, std::uint64_t offset, std::span<const std::uint64_t> values);

  // What managers ask for, in registers. Nothing, or false, where it is refused or no answer comes back.
  struct Identity {
    RouterId router;
    std::uint32_t ports;
  };
  std::optional<Identity> read_identity(ChipNumber chip);
  std::optional<Neighbour> read_neighbour(ChipNumber chip, std::uint16_t port);
  /// A number made of the states of all links: who has read it before sees that something has changed.
  std::optional<std::uint64_t> read_links(ChipNumber chip, std::uint32_t ports);
  /// Of an interface: whether it may send, and by which of the two tables.
  struct Sending {
    bool held;
    unsigned table;
  };
  std::optional<Sending> read_sending(ChipNumber chip, std::uint16_t port);
  bool write_way(ChipNumber chip, ChipNumber to, std::uint16_t port);
  /// To the router at a port of a chip, whoever that is: who its manager is, its number, and from where on
  /// home is. It forgets the ways it knew.
  bool write_number(ChipNumber before, std::uint16_t port, ChipNumber number);
  /// The manager's own router.
  bool write_own_number(ChipNumber number);
  /// To the interface at a port of the chip.
  bool write_node(ChipNumber chip, std::uint16_t port, std::uint32_t node);
  bool write_sending(ChipNumber chip, std::uint16_t port, Sending sending);
  /// The other table becomes a copy of this one.
  bool write_copy(ChipNumber chip, unsigned from_table);
  /// A row of a routing table, kMostAtOnce entries at most: one request.
  static constexpr std::size_t kMostAtOnce = 64;
  bool write_routes(ChipNumber chip, unsigned table, std::uint64_t first,
                    std::span<const RouteEntry> entries);
  /// Requests come from another node from now on, and are what its rights are.
  void move_manager(EndpointId manager) {
    node_ = manager;
    start_ = machine_.graph->endpoint_router(manager);
  }
  /// Whom the manager names as the one that may take over, to every chip it comes to from now on.
  void name_successor(EndpointId node) { successor_ = node; }

  std::uint64_t reads() const { return reads_; }
  std::uint64_t writes() const { return writes_; }
  Time time() const { return time_; }  // all requests so far together

  /// Where a packet comes to by the tables as they are, or kNone. `classes`: that each table tells apart, by
  /// the input and class a packet came by; 0: it does not look at that.
  EndpointId deliver(EndpointId from, EndpointId to, std::array<unsigned, 2> classes) const;
  /// The row of a table for packets that came by an input and a class of it.
  static std::uint64_t row(std::uint16_t in_port, unsigned in_class, unsigned classes) {
    return abi::registers::table_row(in_port, in_class, classes);
  }
  std::uint32_t node_number(EndpointId e) const { return interfaces_[e].node; }

 private:
  struct Way {
    ChipNumber to;
    std::uint16_t port;
  };
  struct Router {
    std::uint64_t manager = abi::registers::kNobodyManages;
    std::vector<Way> ways;  // by number, which grows
    ChipNumber number = kNone;
    std::uint16_t home = kNoPort;
  };

  struct Interface {
    std::uint64_t manager = abi::registers::kNobodyManages;
    std::uint32_t node = kNone;
    bool held = false;
    std::uint8_t table = 0;
  };
  /// Where a request came to.
  struct Place {
    RouterId router = kNone;
    EndpointId interface = kNone;
    std::uint16_t came_by = kNoPort;
  };

  std::optional<Place> reach(const Target& target);
  bool walk(const Target& target, Place& place, Time& taken) const;
  bool find(const Place& place, std::uint64_t offset, abi::registers::Word& word) const;
  std::uint64_t manager_of(const Place& place) const;
  std::uint64_t value(const Place& place, const abi::registers::Word& word) const;
  std::uint64_t router_value(const Place& place, const abi::registers::Word& word) const;
  std::uint64_t link_value(RouterId router, const abi::registers::Word& word) const;
  void store(const Place& place, const abi::registers::Word& word, std::uint64_t value);
  void store_routes(std::vector<RouteEntry>& table, std::uint64_t first,
                    std::span<const std::uint64_t> values);
  bool claim(const Target& target);
  bool write_one(const Target& target, std::uint64_t offset, std::uint64_t value);
  Time hop_time(PortId port) const;

  const machine::Machine& machine_;
  const Wiring& wiring_;
  EndpointId node_, successor_ = kNone;
  RouterId start_;
  std::vector<Router> routers_;
  std::vector<Interface> interfaces_;
  std::array<std::vector<std::vector<RouteEntry>>, 2> tables_;
  std::uint64_t reads_ = 0, writes_ = 0;
  Time time_{0};
};

}  // namespace weft::manage
