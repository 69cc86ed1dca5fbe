// Who sent how much to whom, and when; and what that was for the links in between.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "machine/joined.hpp"
#include "network/flow/routes.hpp"
#include "nic/fabric.hpp"

namespace weft::measure {

/// Data that crossed the network.
struct Transfer {
  Time begin, end;
  network::EndpointId from, to;
  static constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << 62) - 1;
  std::uint64_t bytes : 62;
  std::uint64_t control : 1 = 0;  // a control packet, which a collective in the interfaces is made of
  std::uint64_t storage : 1 = 0;  // of the file system
};
static_assert(sizeof(Transfer) == 32);

/// The first ones of a run, as many as fit in memory nobody misses.
class Transfers {
 public:
  void add(const nic::Record& record, network::EndpointId from, network::EndpointId to, bool storage = false);
  const std::vector<Transfer>& all() const { return all_; }
  std::uint64_t left_out() const { return left_out_; }

 private:
  std::vector<Transfer> all_;
  std::uint64_t left_out_ = 0;
};

struct LinkLoad {
  network::flow::LinkId link;
  std::uint64_t bytes;
  double share;  // of what it could have carried
};

/// Lays transfers on the links of their routes, as the routing spreads them. Packets' own headers are not
/// counted.
class LinkLoads {
 public:
  /// What goes by the links of a machine; or, where that is the network for collectives of another, by those.
  enum class Carries { Everything, ControlPackets };
  explicit LinkLoads(const machine::Machine& machine, Carries what = Carries::Everything);

  /// The links that carried anything between two times, the busiest first. A transfer counts where it began.
  std::vector<LinkLoad> between(const std::vector<Transfer>& transfers, Time from, Time until);

  /// The links between two endpoints on an empty network, with their shares; none where there is no way.
  std::vector<network::flow::Share> route(network::EndpointId from, network::EndpointId to);
  std::int64_t delay_ps(const std::vector<network::flow::Share>& route) const;

  /// Bytes per picosecond.
  double capacity(network::flow::LinkId link) const;

  const network::flow::Links& links() const { return links_; }
  /// Between two routers; else to or from an endpoint.
  bool between_routers(network::flow::LinkId link) const;

 private:
  /// Routes of one of several networks, whose links have other numbers in the whole.
  struct Part {
    explicit Part(const machine::JoinedPart& part)
        : of(part), links(part.machine), maker(part.machine, links) {}
    const machine::JoinedPart& of;
    network::flow::Links links;
    network::flow::RouteMaker maker;
  };
  bool find(network::EndpointId from, network::EndpointId to, std::vector<network::flow::Share>& out);
  bool find_in(Part& part, network::EndpointId from, network::EndpointId to,
               std::vector<network::flow::Share>& out);

  const topology::Graph& graph_;
  const machine::Joined* joined_;
  std::int64_t gateway_ps_ = 0;                  // that a packet spends in a gateway, at least
  std::vector<std::unique_ptr<Part>> networks_;  // where there are several
  network::flow::Links links_;
  network::flow::RouteMaker maker_;
  network::flow::RouteMaker::Scratch scratch_;
  bool control_apart_;  // control packets go by a network of their own, whose links are not these
  bool control_only_;   // these are its links
  std::vector<std::uint32_t> no_load_;
  std::vector<std::uint64_t> parts_;  // by link: bytes x kWhole
};

}  // namespace weft::measure
