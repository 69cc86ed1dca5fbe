#include "measure/run/transfers.hpp"

#include <algorithm>
#include <map>

#include "machine/collective_network.hpp"

namespace weft::measure {

using network::flow::kWhole;
using network::flow::LinkId;
using network::flow::Share;

namespace {
constexpr std::size_t kMostTransfers = 2'000'000;
}

void Transfers::add(const nic::Record& r, network::EndpointId from, network::EndpointId to, bool storage) {
  if (r.status != nic::Status::Ok || from == to) return;
  if (all_.size() == kMostTransfers) {
    ++left_out_;
    return;
  }
  bool comes_back = r.operation == nic::Operation::Get;  // the data comes from there
  all_.push_back({r.begin, r.end, comes_back ? to : from, comes_back ? from : to,
                  r.length & (~std::uint64_t{0} >> 2), r.operation == nic::Operation::Trigger, storage});
}

LinkLoads::LinkLoads(const machine::Machine& machine, Carries what)
    : graph_(*machine.graph),
      joined_(machine::joined(machine)),
      links_(machine),
      maker_(machine, links_),
      control_apart_(machine::collective_network(machine.description).has_value()),
      control_only_(what == Carries::ControlPackets),
      parts_(links_.count()) {
  if (maker_.needs_load()) no_load_.resize(links_.count());
  if (!joined_) return;
  const machine::GatewayParameters& gateway = machine::networks_of(machine.description)->gateway;
  gateway_ps_ = (gateway.latency + gateway.occupancy).value;
  for (const machine::JoinedPart& part : joined_->parts()) networks_.push_back(std::make_unique<Part>(part));
}

/// A way through a gateway is two, one after the other.
bool LinkLoads::find(network::EndpointId from, network::EndpointId to, std::vector<Share>& out) {
  if (!joined_) return maker_.route(from, to, no_load_.empty() ? nullptr : no_load_.data(), scratch_, out);
  // A transfer is mostly its full packets.
  const auto bytes = static_cast<std::uint64_t>(networks_.front()->of.machine.description.nic.payload.value);
  const machine::Way way = joined_->way(from, to, bytes);
  if (way.gateway == topology::kNone) return find_in(*networks_[way.first], from, to, out);
  const network::EndpointId gateway = joined_->gateways()[way.gateway];
  return find_in(*networks_[way.first], from, gateway, out) &&
         find_in(*networks_[way.second], gateway, to, out);
}

std::int64_t LinkLoads::delay_ps(const std::vector<Share>& route) const {
  if (!joined_) return maker_.delay_ps(route);
  std::int64_t sum = 0;
  unsigned legs = 0;
  for (const Share& share : route) {
    const bool injection = share.link >= graph_.ports();
    legs += injection;
    const topology::RouterId router =
        injection ? graph_.endpoint_router(share.link - graph_.ports()) : graph_.port_router(share.link);
    const Part& part = *networks_[joined_->part_of_router(router)];
    const LinkId own = injection ? part.links.injection(0) : share.link - part.of.first_port;
    sum += share.weight * part.links.delay_ps(own);
  }
  return sum / kWhole + (legs > 1 ? gateway_ps_ : 0);
}

double LinkLoads::capacity(LinkId link) const {
  if (!joined_ || link >= graph_.ports()) return links_.capacity(link);
  const Part& part = *networks_[joined_->part_of_router(graph_.port_router(link))];
  return part.links.capacity(link - part.of.first_port);
}

bool LinkLoads::find_in(Part& part, network::EndpointId from, network::EndpointId to,
                        std::vector<Share>& out) {
  const std::vector<std::uint32_t> no_load(part.maker.needs_load() ? part.links.count() : 0);
  std::vector<Share> own;
  if (!part.maker.route(part.of.endpoint_of[from], part.of.endpoint_of[to],
                        no_load.empty() ? nullptr : no_load.data(), scratch_, own))
    return false;
  const std::uint32_t ports = part.of.machine.graph->ports();
  for (Share share : own) {
    share.link = share.link < ports ? share.link + part.of.first_port
                                    : links_.injection(part.of.node_of[share.link - ports]);
    out.push_back(share);
  }
  return true;
}

std::vector<Share> LinkLoads::route(network::EndpointId from, network::EndpointId to) {
  std::vector<Share> out;
  if (!find(from, to, out)) out.clear();
  return out;
}

bool LinkLoads::between_routers(LinkId link) const {
  return link < graph_.ports() && graph_.port_cable(link) != topology::kNone;
}

std::vector<LinkLoad> LinkLoads::between(const std::vector<Transfer>& transfers, Time from, Time until) {
  // Pairs share their route, so each route is found once.
  std::map<std::pair<network::EndpointId, network::EndpointId>, std::uint64_t> pairs;
  for (const Transfer& t : transfers)
    if (t.begin >= from && t.begin <= until && (control_only_ ? t.control : !(t.control && control_apart_)))
      pairs[{t.from, t.to}] += links_.wire_bytes(t.bytes);
  std::vector<LinkId> used;
  std::vector<Share> route;
  for (const auto& [pair, bytes] : pairs) {
    route.clear();
    if (!find(pair.first, pair.second, route)) continue;
    for (const Share& s : route) {
      if (parts_[s.link] == 0) used.push_back(s.link);
      parts_[s.link] += bytes * s.weight;
    }
  }
  std::vector<LinkLoad> out;
  double time = static_cast<double>(std::max<std::int64_t>(1, (until - from).value));
  for (LinkId link : used) {
    double bytes = static_cast<double>(parts_[link]) / kWhole, capacity = this->capacity(link) * time;
    out.push_back({link, parts_[link] / kWhole, capacity > 0 ? bytes / capacity : 0});
    parts_[link] = 0;
  }
  std::sort(out.begin(), out.end(), [](const LinkLoad& a, const LinkLoad& b) {
    return a.share != b.share ? a.share > b.share : a.link < b.link;
  });
  return out;
}

}  // namespace weft::measure
