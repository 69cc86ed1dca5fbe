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
      links_(machine),
      maker_(machine, links_),
      control_apart_(machine::collective_network(machine.description).has_value()),
      control_only_(what == Carries::ControlPackets),
      parts_(links_.count()) {
  if (maker_.needs_load()) no_load_.resize(links_.count());
}

std::vector<Share> LinkLoads::route(network::EndpointId from, network::EndpointId to) {
  std::vector<Share> out;
  if (!maker_.route(from, to, no_load_.empty() ? nullptr : no_load_.data(), scratch_, out)) out.clear();
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
    if (!maker_.route(pair.first, pair.second, no_load_.empty() ? nullptr : no_load_.data(), scratch_, route))
      continue;
    for (const Share& s : route) {
      if (parts_[s.link] == 0) used.push_back(s.link);
      parts_[s.link] += bytes * s.weight;
    }
  }
  std::vector<LinkLoad> out;
  double time = static_cast<double>(std::max<std::int64_t>(1, (until - from).value));
  for (LinkId link : used) {
    double bytes = static_cast<double>(parts_[link]) / kWhole, capacity = links_.capacity(link) * time;
    out.push_back({link, parts_[link] / kWhole, capacity > 0 ? bytes / capacity : 0});
    parts_[link] = 0;
  }
  std::sort(out.begin(), out.end(), [](const LinkLoad& a, const LinkLoad& b) {
    return a.share != b.share ? a.share > b.share : a.link < b.link;
  });
  return out;
}

}  // namespace weft::measure
