#include "measure/run/monitor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/virtual_time.hpp"
#include "host/call_log.hpp"
#include "machine/management_network.hpp"

namespace weft::measure {

using topology::PortId;
using topology::RouterId;

namespace {

std::string lanes_lost(const network::Network::PortState& state, unsigned all) {
  std::string lost;
  for (unsigned lane = 0; lane < all; ++lane)
    if (!(state.lane_mask >> lane & 1)) lost += fmt::format("{}{}", lost.empty() ? "" : ", ", lane);
  return lost;
}

}  // namespace

Monitor::Monitor(const machine::Machine& machine, const network::Network& network, Time period)
    : graph_(*machine.graph),
      network_(network),
      management_(machine.description.management),
      last_(graph_.ports()),
      known_(graph_.ports()),
      told_(graph_.cables()) {
  const Time request =
      transfer_time(static_cast<std::uint64_t>(management_.request.value), management_.rate.value);
  for (std::uint32_t hops : machine::management_hops(machine))
    way_.push_back(Time{management_.latency.value * hops} + request);
  for (RouterId r = 0; r < graph_.routers(); ++r) round_ = later(round_, answer_time(r));
  period_ = std::max(period, round_);
}

Time Monitor::answer_time(RouterId router) const {
  const auto bytes = static_cast<std::uint64_t>(management_.header.value +
                                                management_.port_state.value * graph_.port_count(router));
  return transfer_time(bytes, management_.rate.value);
}

/// The two ends of a cable tell the same, one of them first.
void Monitor::compare(const Reading& before, const Reading& now, Time seen) {
  const PortId port = now.port;
  if (graph_.port_cable(port) == topology::kNone) return;
  network::Network::PortState& told = told_[graph_.port_cable(port)];
  const auto state = [](const network::Network::PortState& s) {
    return std::tuple(s.up, s.lane_mask, s.rate_share);
  };
  if (state(before.state) == state(now.state) || state(told) == state(now.state)) return;
  told = now.state;
  std::string what;
  const unsigned all = graph_.cable_type(graph_.port_cable(port)).lanes;
  if (!now.state.up)
    what = "is down";
  else if (now.state.lane_mask && now.state.lanes < all)
    what = fmt::format("goes on without lane {} of {}, at {:.0f}% of its rate", lanes_lost(now.state, all),
                       all, 100 * now.state.rate_share);
  else if (now.state.rate_share < 1)
    what = fmt::format("goes on at {:.0f}% of its rate", 100 * now.state.rate_share);
  else
    what = "is whole again";
  alarms_.push_back({now.taken, seen, port, what});
}

Time Monitor::read(Time now) {
  const RouterId router = next_;
  link_free_ = later(std::max(link_free_, later(now, way_[router])), answer_time(router));
  const Time seen = link_free_;
  for (std::uint16_t i = 0; i < graph_.port_count(router); ++i) {
    const PortId port = graph_.port(router, i);
    const Reading reading{now, port, network_.port_state(port)};
    if (known_[port]) {
      compare({now, port, last_[port]}, reading, seen);
      if (last_[port] == reading.state) continue;
    } else if (graph_.port_cable(port) != topology::kNone) {
      told_[graph_.port_cable(port)] = reading.state;
    }
    known_[port] = true;
    last_[port] = reading.state;
    if (readings_.size() < kMostReadings) readings_.push_back(reading);
  }
  // The next is asked when the link will have carried this answer; a nearer one is not read before it.
  asked_ = later(asked_, answer_time(router));
  if (++next_ == graph_.routers()) {
    next_ = 0;
    ++rounds_;
    round_began_ = later(round_began_, period_);
    asked_ = std::max(round_began_, asked_);
  }
  return std::max(now, later(asked_, way_[next_]));
}

std::string Monitor::csv() const {
  std::string out =
      "time_ns,port,router,to,up,lanes,rate_share,flits_sent,flits_received,flits_damaged,flits_sent_again,"
      "trainings\n";
  for (const Reading& r : readings_) {
    const network::Network::PortState& s = r.state;
    const PortId peer = graph_.peer(r.port);
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", static_cast<double>(r.taken.value) / 1000,
                       graph_.port_name(r.port), graph_.port_router(r.port),
                       peer == topology::kNone ? "" : graph_.port_name(peer), s.up ? 1 : 0, s.lanes,
                       s.rate_share, s.sent, s.received, s.damaged, s.sent_again, s.trainings);
  }
  return out;
}

std::string Monitor::in_words(const Alarm& alarm) const {
  const PortId peer = graph_.peer(alarm.port);
  return fmt::format("cable {}{}, since {} (known at {}): it {}", graph_.port_name(alarm.port),
                     peer == topology::kNone ? "" : " to " + graph_.port_name(peer),
                     host::time_text(alarm.since), host::time_text(alarm.seen), alarm.what);
}

}  // namespace weft::measure
