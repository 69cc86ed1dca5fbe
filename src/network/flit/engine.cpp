#include "network/flit/engine.hpp"

#include <fmt/format.h>

#include <barrier>
#include <thread>

#include "network/flit/kernel.hpp"

namespace weft::network::flit {

using topology::kNone;
using topology::PortId;
using topology::RouterId;

namespace {

unsigned ring_size(const Settings& s) {
  unsigned flits = s.buffer_flits + s.shared_flits;
  unsigned packets =
      flits / std::max(1u, s.smallest_packet_flits) + 2;  // the first and the last may be here in part
  return std::bit_ceil(s.smallest_packet_flits <= 1 ? flits : std::min(flits, packets));
}

}  // namespace

Engine::~Engine() = default;

Engine::Engine(const topology::Graph& graph, const routing::Routing& routing, Settings settings)
    : graph_(graph),
      routing_(routing),
      settings_(std::move(settings)),
      layout_(graph, settings_.all_channels(), ring_size(settings_)) {
  WEFT_CHECK(settings_.all_channels() <= 32, "a port has at most 32 channels");
  WEFT_CHECK(settings_.route_cycles <= 1 && settings_.allocate_cycles <= 1 && settings_.traverse_cycles >= 1);
  WEFT_CHECK(settings_.cable_cycles.size() == graph.cables() &&
             settings_.cable_interval.size() == graph.cables());
  WEFT_CHECK(graph.endpoints() < Entry::kMaxEndpoints);
  unsigned longest = settings_.endpoint_cycles + 1;
  for (std::uint16_t cycles : settings_.cable_cycles) longest = std::max<unsigned>(longest, cycles);
  links_.slots = std::bit_ceil(longest + settings_.traverse_cycles + 1);
  links_.mask = links_.slots - 1;
  links_.ports = graph.ports() + 8;
  links_.flit.assign(links_.slots * links_.ports, FlitByte::kNothing);
  links_.credit.assign(links_.slots * links_.ports, CreditByte::kNothing);
  links_.entry.assign(links_.slots * links_.ports, 0);

  routing::ChannelPlan plan = routing.plan(settings_.channels);
  WEFT_CHECK(plan.complete, "every class of the routing has channels");
  channel_class_.assign(settings_.channels, 0);
  for (unsigned c = 0; c < routing.classes(); ++c) {
    std::uint32_t mask = 0;
    for (unsigned k = plan.begin[c]; k < plan.end[c]; ++k) {
      mask |= 1u << k;
      channel_class_[k] = static_cast<std::uint8_t>(c);
    }
    class_channels_.push_back(mask);
  }
  while (class_channels_.size() < 2) class_channels_.push_back(class_channels_.front());

  for (EndpointId e = 0; e < graph.endpoints(); ++e) endpoint_router_.push_back(graph.endpoint_router(e));
  senders_.resize(graph.endpoints());
  sender_used_.assign(std::size_t{graph.endpoints()} * layout_.stride(), 0);
  WEFT_CHECK(layout_.ring() <= 128, "an input queue holds at most 128 packets");
  arena_.assign(layout_.total() / sizeof(CacheLine), {});
  // Threads own runs of routers, cut where the endpoints' numbers are cut too.
  unsigned threads = std::max(1u, std::min(settings_.threads, graph.routers()));
  settings_.threads = threads;
  std::uint32_t endpoint = 0;
  for (unsigned t = 0; t < threads; ++t) {
    auto begin = static_cast<RouterId>(std::uint64_t{graph.routers()} * t / threads);
    auto end = static_cast<RouterId>(std::uint64_t{graph.routers()} * (t + 1) / threads);
    std::uint32_t endpoints = 0;
    for (RouterId r = begin; r < end; ++r) endpoints += graph.endpoint_count(r);
    workers_.push_back(std::make_unique<Worker>(*this, t, begin, end, endpoint, endpoint + endpoints));
    endpoint += endpoints;
  }
  with_width([&]<int W>() { fill_blocks<W>(); });
}

template <int W>
void Engine::fill_blocks() {
  std::uint32_t all = settings_.all_channels() == 32 ? ~0u : (1u << settings_.all_channels()) - 1;
  unsigned owner = 0;
  for (RouterId r = 0; r < graph_.routers(); ++r) {
    while (r >= workers_[owner]->router_end) ++owner;
    const Worker& worker = *workers_[owner];
    auto* header = reinterpret_cast<Header*>(block(r));
    *header = {r, graph_.port_begin(r), static_cast<std::uint16_t>(graph_.port_count(r)), 0, 0, 0};
    View<W> v = view<W>(r);
    unsigned first = header->ports, last = 0;
    for (unsigned i = 0; i < header->ports; ++i) {
      PortId p = header->port_begin + i;
      PortId peer = graph_.peer(p);
      Port& port = v.port[i];
      port = {};
      port.peer = peer;
      port.peer_router = peer == kNone ? kNone : graph_.port_router(peer);
      port.endpoint = graph_.port_endpoint(p);
      port.free_channels = all;
      bool near =
          peer != kNone && port.peer_router >= worker.router_begin && port.peer_router < worker.router_end;
      std::uint32_t local = port.peer_router - worker.router_begin;
      port.wake_word = near ? local / 64 : kNone;
      port.wake_bit = std::uint64_t{1} << (local % 64);
      bool cable = graph_.port_cable(p) != kNone;
      port.interval = cable ? settings_.cable_interval[graph_.port_cable(p)] : 256;
      port.flight = static_cast<std::uint16_t>(
          settings_.traverse_cycles +
          (cable ? settings_.cable_cycles[graph_.port_cable(p)] : settings_.endpoint_cycles));
      if (port.endpoint != kNone) first = std::min(first, i), last = i;
    }
    header->first_endpoint_port = static_cast<std::uint16_t>(first);
    header->endpoint_ports = static_cast<std::uint16_t>(first < header->ports ? last - first + 1 : 0);
  }
}

void Engine::run(Traffic& traffic, const std::vector<Observer*>& observers, Cycle until, Cycle patience) {
  WEFT_CHECK(observers.size() == settings_.threads);
  if (!started_) {
    started_ = true;
    for (auto& worker : workers_)
      for (EndpointId e = worker->endpoint_begin; e < worker->endpoint_end; ++e)
        worker->timers.set(e, traffic.first(e));
  }
  with_width([&]<int W>() { run_kernel<W>(traffic, observers, until, patience); });
}

template <int W>
void Engine::run_kernel(Traffic& traffic, const std::vector<Observer*>& observers, Cycle until,
                        Cycle patience) {
  const auto* order = dynamic_cast<const routing::DimensionOrder*>(&routing_);
  if (order && GridRoute::fits(graph_) && !routing_.faults().any()) {
    GridRoute route(graph_, order->dateline());
    run_threads<W>(route, traffic, observers, until, patience);
  } else {
    run_threads<W>(RelationRoute{}, traffic, observers, until, patience);
  }
}

template <int W, class Route>
void Engine::run_threads(const Route& route, Traffic& traffic, const std::vector<Observer*>& observers,
                         Cycle until, Cycle patience) {
  // Between two cycles, with all threads at rest: the clock moves on, over cycles in which nothing can
  // happen.
  auto move_on = [&]() noexcept {
    ++now_;
    std::uint64_t moved = 0, in_network = 0;
    for (auto& worker : workers_) {
      const Counters& c = worker->counters;
      moved += c.flit_hops + c.flits_injected + c.flits_delivered;
      in_network += worker->in_network;
    }
    if (moved != moved_ || in_network == 0) {
      moved_ = moved;
      moved_at_ = now_;
    } else if (now_ - moved_at_ > patience) {
      stalled_ = true;
    }
    for (std::uint32_t i = 0; i < links_.slots; ++i)
      for (auto& worker : workers_)
        if (worker->any_awake(static_cast<std::uint32_t>(now_ + i) & links_.mask)) return;
    // No router has anything to do: only an endpoint can start something.
    Cycle next = kNever;
    for (auto& worker : workers_) next = std::min(next, worker->timers.next_due(now_));
    if (in_network > 0) {
      stalled_ = stalled_ || next == kNever;
      if (next == kNever) return;
    }
    now_ = std::max(now_, std::min(next, until));
  };
  if (workers_.size() == 1) {
    Kernel<W, Route> kernel(*this, *workers_[0], route, traffic, *observers[0]);
    while (now_ < until && !stalled_) {
      kernel.cycle(now_);
      move_on();
    }
    return;
  }
  std::barrier meet(static_cast<std::ptrdiff_t>(workers_.size()), move_on);
  auto work = [&](unsigned t) {
    Kernel<W, Route> kernel(*this, *workers_[t], route, traffic, *observers[t]);
    while (now_ < until && !stalled_) {
      kernel.cycle(now_);
      meet.arrive_and_wait();
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned t = 1; t < workers_.size(); ++t) threads.emplace_back(work, t);
  work(0);
}

Counters Engine::counters() const {
  Counters sum;
  for (const auto& worker : workers_) {
    sum.flit_hops += worker->counters.flit_hops;
    sum.flits_injected += worker->counters.flits_injected;
    sum.flits_delivered += worker->counters.flits_delivered;
    sum.packets_created += worker->counters.packets_created;
    sum.packets_delivered += worker->counters.packets_delivered;
    sum.visits += worker->counters.visits;
  }
  return sum;
}

std::uint64_t Engine::packets_in_network() const {
  Counters c = counters();
  return c.packets_created - c.packets_delivered;
}

std::uint64_t Engine::sent(PortId p) const {
  return with_width([&]<int W>() -> std::uint64_t {
    return view<W>(graph_.port_router(p)).port[graph_.port_index(p)].sent;
  });
}

std::uint32_t Engine::standing(PortId p) const {
  return with_width([&]<int W>() -> std::uint32_t {
    View<W> v = view<W>(graph_.port_router(p));
    std::uint32_t flits = 0;
    for (unsigned c = 0; c < settings_.all_channels(); ++c)
      flits += v.queue[graph_.port_index(p) * layout_.stride() + c].flits;
    return flits;
  });
}

std::uint64_t Engine::bytes() const {
  std::uint64_t awake = 0;
  for (const auto& worker : workers_)
    for (const auto& bits : worker->awake) awake += bits.size() * 8;
  return arena_.size() * sizeof(CacheLine) + links_.flit.size() + links_.credit.size() +
         links_.entry.size() * 8 + senders_.size() * sizeof(Sender) + sender_used_.size() * 2 +
         endpoint_router_.size() * 4 + packets_.bytes() + awake;
}

}  // namespace weft::network::flit
