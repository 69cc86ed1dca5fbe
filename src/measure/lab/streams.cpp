#include "measure/lab/streams.hpp"

#include <algorithm>
#include <numeric>

#include "base/random.hpp"
#include "workload/replay.hpp"

namespace weft::measure::lab {

std::vector<double> stream_rates(const machine::Machine& machine, const std::vector<Stream>& streams,
                                 const StreamSetup& setup) {
  auto network = workload::make_engine(setup.engine, machine, {setup.seed, 1});
  struct State {
    unsigned sent = 0, arrived = 0;
    Time end{0};
  };
  std::vector<State> states(streams.size());
  const std::uint64_t packet = std::min<std::uint64_t>(setup.packet, network->largest_packet());
  auto send = [&](std::size_t i, Time at) {
    if (states[i].sent == setup.packets) return;
    ++states[i].sent;
    network->send({streams[i].from, streams[i].to, packet, 0, i}, at);
  };
  for (std::size_t i = 0; i < streams.size(); ++i)
    for (unsigned k = 0; k < setup.window; ++k) send(i, Time{0});
  std::vector<network::Notice> notices;
  while (!network->idle()) {
    notices.clear();
    network->advance(network::kForever, notices);
    for (const network::Notice& notice : notices) {
      if (notice.kind == network::Notice::Kind::Departed) send(notice.tag, notice.at);
      if (notice.kind == network::Notice::Kind::Delivered && ++states[notice.tag].arrived == setup.packets)
        states[notice.tag].end = notice.at;
    }
  }
  std::vector<double> out;
  for (const State& state : states)
    out.push_back(static_cast<double>(packet) * setup.packets * 1e12 / static_cast<double>(state.end.value));
  return out;
}

std::vector<Stream> random_pairs(const machine::Machine& machine, std::uint64_t seed) {
  std::vector<network::EndpointId> order(machine.graph->endpoints());
  std::iota(order.begin(), order.end(), 0u);
  for (auto left = static_cast<std::uint32_t>(order.size()); left > 1; --left)
    std::swap(order[left - 1], order[random_below(seed, left, 0, left)]);
  std::vector<Stream> out;
  for (std::size_t i = 0; i + 1 < order.size(); i += 2) {
    out.push_back({order[i], order[i + 1]});
    out.push_back({order[i + 1], order[i]});
  }
  return out;
}

}  // namespace weft::measure::lab
