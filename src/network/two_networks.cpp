#include "network/two_networks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostics.hpp"
#include "machine/collective_network.hpp"

namespace weft::network {

TwoNetworks::TwoNetworks(std::unique_ptr<Network> first, std::unique_ptr<Network> second,
                         std::unique_ptr<const machine::Machine> machine)
    : machine_(std::move(machine)), first_(std::move(first)), second_(std::move(second)) {}

TwoNetworks::~TwoNetworks() = default;

bool TwoNetworks::idle() const { return first_->idle() && second_->idle(); }

std::uint64_t TwoNetworks::largest_packet() const {
  return std::min(first_->largest_packet(), second_->largest_packet());
}

std::vector<Network::Incident> TwoNetworks::incidents() const {
  std::vector<Incident> out = first_->incidents();
  for (const Incident& incident : second_->incidents())
    out.push_back({incident.at, "network for collectives: " + incident.what});
  std::stable_sort(out.begin(), out.end(), [](const Incident& a, const Incident& b) { return a.at < b.at; });
  return out;
}

std::vector<std::string> TwoNetworks::explain() const {
  std::vector<std::string> out = first_->explain();
  for (const std::string& line : second_->explain()) out.push_back("network for collectives: " + line);
  return out;
}

Network& TwoNetworks::network_for(Packet& packet) {
  if (packet.message_class != kControl) return *first_;
  packet.message_class = 0;
  return *second_;
}

void TwoNetworks::accept(const Packet& packet, Time at) {
  ran_to_ = std::min(ran_to_, at);
  Packet own = packet;
  network_for(own).send(own, at);
}

void TwoNetworks::accept_message(const Packet& message, Time at) {
  ran_to_ = std::min(ran_to_, at);
  Packet own = message;
  network_for(own).send_message(own, at);
}

void TwoNetworks::reaction_time_changed() {
  first_->set_reaction_time(reaction_time());
  second_->set_reaction_time(reaction_time());
}

void TwoNetworks::run_to(Network& network, Time until, std::vector<Notice>& notices) {
  for (std::size_t told = ~std::size_t{0}; told != notices.size();) {
    told = notices.size();
    network.advance(until, notices);
  }
}

void TwoNetworks::run(Time until, std::vector<Notice>& notices) {
  const std::size_t told = notices.size();
  while (notices.size() == told && ran_to_ < until) {
    if (first_->idle() || second_->idle()) {
      Network& busy = first_->idle() ? *second_ : *first_;
      if (!busy.idle()) busy.advance(until, notices);
      ran_to_ = notices.size() == told ? until : std::max(ran_to_, notices.back().at);
      continue;
    }
    // What is told in this stretch begins at or after its start, so answers come after its end.
    const Time end = std::min(until, Time{later(ran_to_, reaction_time()).value - 1});
    run_to(*first_, end, notices);
    run_to(*second_, end, notices);
    ran_to_ = std::max(ran_to_, end);
    if (ran_to_ < until) ran_to_ = Time{ran_to_.value + 1};
  }
  std::sort(notices.begin() + static_cast<std::ptrdiff_t>(told), notices.end());
}

std::unique_ptr<Network> make_network(const EngineKind& engine, const machine::Machine& machine,
                                      const EngineOptions& options, const std::string& collective_faults) {
  const machine::Description& d = machine.description;
  auto first = engine.make(machine, options);
  auto described = machine::collective_network(d);
  if (!described) {
    if (!collective_faults.empty())
      throw UserError("the machine has no network for collectives ([collective_network]) that could break");
    return first;
  }
  auto own = std::make_unique<machine::Machine>(machine::build(std::move(*described)));
  Diagnostics problems;
  const std::string key = std::string(machine::kCollectiveNetwork) + ".topology";
  if (own->graph->endpoints() < machine.graph->endpoints())
    problems.add(d.origin(key + ".kind"), key,
                 fmt::format("has {} endpoints; every one of the machine's {} nodes needs one",
                             own->graph->endpoints(), machine.graph->endpoints()));
  if (d.nic.send_latency.value == 0)
    problems.add(
        d.origin("nic.send_latency"), "nic.send_latency",
        "must be more than 0 where there is a network for collectives: the two could not run in turn");
  problems.throw_if_any();
  std::vector<link::FaultEvent> breaks;
  if (!collective_faults.empty()) breaks = link::read_faults(collective_faults, *own->graph);
  auto second = engine.make(*own, {options.seed, options.threads, std::move(breaks), options.ranks});
  return std::make_unique<TwoNetworks>(std::move(first), std::move(second), std::move(own));
}

}  // namespace weft::network
