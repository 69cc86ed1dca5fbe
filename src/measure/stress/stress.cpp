#include "measure/stress/stress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/random.hpp"
#include "base/text.hpp"
#include "measure/stress/draws.hpp"
#include "network/cycle_engine.hpp"

namespace weft::measure {

namespace {

using network::Cycle;
using network::Delivery;
using network::EndpointId;

std::string cable_text(Draws& draw) {
  std::string out = fmt::format(
      "[cable.default]\nlanes = {}\nlane_rate = \"14Gbps\"\ncoding = \"64b66b\"\nlength = \"{}m\"\n"
      "delay = \"{}ns\"\ntraining_time = \"{}ns\"\nheartbeat = \"{}ns\"\nmissed_beats = {}\n",
      draw.of<unsigned>({1, 2, 4, 8}), draw.between(0, 20), draw.between(1, 60), draw.between(0, 400),
      draw.between(60, 400), draw.between(2, 5));
  if (!draw.one_in(3)) out += "fallback_rates = [\"10Gbps\", \"5Gbps\"]\n";
  // From a cable that fails once in a blue moon to one that damages every other flit.
  const std::vector<std::string> rates{"0.0", "0.0", "1e-7", "1e-6", "1e-5", "1e-4", "3e-4"};
  out += "bit_error_rate = " + draw.of(rates) + "\n";
  if (draw.one_in(3)) out += fmt::format("error_burst = {}\n", draw.between(2, 300));
  if (draw.one_in(6)) out += "retry = \"header-footer\"\n";
  if (draw.one_in(4)) out += fmt::format("max_retries = {}\n", draw.between(1, 8));
  if (draw.one_in(4)) out += fmt::format("retry_window = {}\n", draw.between(2, 200));
  return out;
}

/// A script that makes sense: nothing is cut twice, and what is cut may come back.
std::string script_for(Draws& draw, const topology::Graph& graph) {
  std::string out;
  std::vector<bool> cut(graph.cables()), dead(graph.routers());
  std::uint64_t time = draw.between(0, 3000);
  for (unsigned events = draw.below(9); events > 0; --events) {
    time += draw.between(0, 4000);
    topology::CableId cable = draw.below(graph.cables());
    topology::PortId port = draw.one_in(2) ? graph.cable_ends(cable).a : graph.cable_ends(cable).b;
    topology::RouterId router = draw.below(graph.routers());
    bool alive = !dead[graph.port_router(port)] && !dead[graph.port_router(graph.peer(port))];
    std::string name = graph.port_name(port), what;
    const topology::CableType& type = graph.cable_type(cable);
    switch (draw.below(8)) {
      case 0:
      case 1:
      case 2:
        if (!alive && !cut[cable]) break;
        what = (cut[cable] ? "restore " : "cut ") + name;
        cut[cable] = !cut[cable];
        break;
      case 3:
        what = fmt::format("{} router {}", dead[router] ? "restore" : "kill", router);
        dead[router] = !dead[router];
        break;
      case 4:
        what = fmt::format("lane {} {} {}", name, draw.below(type.lanes), draw.one_in(3) ? "heal" : "stuck");
        break;
      case 5:
        if (type.fallback_rates.empty()) break;
        what = fmt::format("lane {} {} 10Gbps", name, draw.below(type.lanes));
        break;
      case 6:
        what = fmt::format("flip {} packet {} bit {}", name, draw.between(1, 9), draw.below(400));
        break;
      default:
        what = fmt::format("stall {} for {}ns", name, draw.between(1, 3000));
        break;
    }
    if (!what.empty()) out += fmt::format("at {}ns {}\n", time, what);
  }
  return out;
}

const std::string& router_kind(Draws& draw) { return draw.of(machine::router_kinds())->name; }

/// One of the words a parameter of every router may be: what is declared is drawn, whoever declared it.
const std::string& router_word(Draws& draw, const char* key) {
  return draw.of(machine::router_kinds().front()->section.find(key)->words);
}

/// A machine of what is registered, and what happens to it. Nothing where the parts drawn do not fit each
/// other, or make no promise that traffic could break: a relation that does not claim to be free of deadlock
/// may stand still.
std::optional<StressScenario> draw_scenario(Draws& draw) {
  StressScenario out;
  DrawnMachine drawn = draw_machine(draw);
  out.settings = drawn.settings;
  machine::Machine plain = machine::build(machine::describe_text(drawn.text(), "scenario", drawn.settings));
  if (!plain.routing->claims_deadlock_free() || plain.graph->endpoints() < 2) return std::nullopt;
  const unsigned classes = plain.routing->classes();
  // With one channel nothing can overtake.
  out.in_order = draw.one_in(3) && plain.routing->keeps_order() && classes == 1;
  const unsigned channels = out.in_order ? 1 : std::max(classes, draw.between(3, 4));
  out.longest_packet = draw.between(1, 12);
  out.packets_per_endpoint = draw.between(5, 120);
  out.spacing = draw.of<std::uint64_t>({10, 50, 200});
  out.machine = drawn.text() + cable_text(draw);
  std::string kind;
  out.machine += fmt::format(
      "[router]\nkind = \"{}\"\nchannels = {}\nflit = \"{}B\"\nbuffer_flits = {}\n"
      "shared_flits = {}\nlatency = \"{}ns\"\nswitching = \"{}\"\nallocator = \"{}\"\n",
      kind = router_kind(draw), channels, draw.of<unsigned>({4, 8, 16, 32, 64}),
      out.longest_packet + draw.below(20), draw.one_in(3) ? draw.between(1, 16) : 0, draw.between(1, 40),
      router_word(draw, "switching"), router_word(draw, "allocator"));
  const unsigned tile = channels * out.longest_packet +
                        draw.below(20);  // drawn for every kind: what comes after stays the same
  if (kind == "tiled")
    out.machine += fmt::format("row_buffer_flits = {}\ncolumn_buffer_flits = {}\n", tile, tile);
  out.machine += fmt::format(
      "[rerouting]\nreport = \"{}ns\"\ncompute = \"{}ns\"\nwrite_per_router = \"{}ns\"\nquiet = \"{}ns\"\n"
      "longest_drain = \"{}us\"\n",
      draw.between(0, 1000), draw.between(0, 2000), draw.between(0, 20), draw.between(50, 2000),
      draw.between(2, 50));
  try {
    machine::Machine m = machine::build(machine::describe_text(out.machine, "scenario", out.settings));
    network::cycle_engine().facts(m, out.longest_packet);
    if (!draw.one_in(5) && m.graph->cables() > 0) out.faults = script_for(draw, *m.graph);
  } catch (const UserError&) {
    return std::nullopt;  // a kind of router that does not fit, fewer channels than the routing asks for
  }
  return out;
}

/// Every endpoint sends its packets to others at random; a packet's tag is its source and number.
class StressTraffic final : public network::Traffic {
 public:
  StressTraffic(const StressScenario& scenario, std::uint32_t endpoints)
      : scenario_(scenario), endpoints_(endpoints), made_(endpoints) {}

  Cycle first(EndpointId source) override { return random_below(scenario_.seed, source, 0, 200); }

  bool create(EndpointId source, Cycle now, network::NewPacket& packet, Cycle& next) override {
    std::uint32_t number = made_[source]++;
    packet.destination = destination(source, number);
    packet.flits = flits(source, number);
    packet.tag = std::uint64_t{source} << 32 | number;
    auto pause = random_below(scenario_.seed, source, 4 * number + 3,
                              static_cast<std::uint32_t>(2 * scenario_.spacing));
    next = number + 1 < scenario_.packets_per_endpoint ? now + 1 + pause : network::kNever;
    return true;
  }

  EndpointId destination(EndpointId source, std::uint32_t number) const {
    // Few partners, so that pairs have many packets whose order can be looked at.
    std::uint32_t partner = random_below(scenario_.seed, source, 4 * number + 1, 3);
    EndpointId to = random_below(scenario_.seed, source + 7'000'000, partner, endpoints_ - 1);
    return to + (to >= source);
  }
  std::uint16_t flits(EndpointId source, std::uint32_t number) const {
    return static_cast<std::uint16_t>(
        1 + random_below(scenario_.seed, source, 4 * number + 2, scenario_.longest_packet));
  }

 private:
  const StressScenario& scenario_;
  std::uint32_t endpoints_;
  std::vector<std::uint32_t> made_;
};

/// What one thread hears.
class StressObserver final : public network::Observer {
 public:
  void delivered(const Delivery& d) override { arrivals.push_back(d); }
  void lost(const Delivery& d) override { reports.push_back(d); }
  std::vector<Delivery> arrivals, reports;
};

std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15u;
  return h ^ h >> 29;
}

class Verdict {
 public:
  Verdict(const StressScenario& scenario, const StressTraffic& traffic, std::uint32_t endpoints)
      : scenario_(scenario), traffic_(traffic), endpoints_(endpoints) {}

  void judge(std::vector<StressObserver>& observers, StressResult& out) {
    std::vector<Delivery> arrivals, reports;
    for (StressObserver& o : observers) {
      arrivals.insert(arrivals.end(), o.arrivals.begin(), o.arrivals.end());
      reports.insert(reports.end(), o.reports.begin(), o.reports.end());
    }
    auto by_time = [](const Delivery& a, const Delivery& b) {
      return std::pair(a.delivered, a.tag) < std::pair(b.delivered, b.tag);
    };
    std::sort(arrivals.begin(), arrivals.end(), by_time);
    std::sort(reports.begin(), reports.end(), by_time);
    std::uint64_t each = scenario_.packets_per_endpoint;
    out.packets = each * endpoints_;
    std::vector<std::uint8_t> times(out.packets);
    std::vector<std::uint32_t> last(std::size_t{endpoints_} * endpoints_, 0);  // number + 1
    auto place = [&](network::Tag tag) { return (tag >> 32) * each + (tag & 0xffff'ffff); };
    for (const Delivery& d : arrivals) {
      if (place(d.tag) >= times.size()) {
        ++out.corrupted;
        continue;
      }
      auto number = static_cast<std::uint32_t>(d.tag);
      if (times[place(d.tag)]++) ++out.duplicated;
      bool right = d.source == d.tag >> 32 && d.destination == traffic_.destination(d.source, number) &&
                   d.flits == traffic_.flits(d.source, number);
      out.corrupted += !right;
      out.flagged += d.damaged;
      std::uint32_t& before = last[std::size_t{d.source} * endpoints_ + d.destination];
      out.out_of_order += scenario_.in_order && number + 1 <= before;
      before = number + 1;
      out.digest = mix(mix(out.digest, d.tag), d.delivered);
    }
    for (const Delivery& d : reports) {
      if (times[place(d.tag)]++) ++out.duplicated;
      out.digest = mix(mix(out.digest, ~d.tag), d.delivered);
    }
    out.delivered = arrivals.size();
    out.undeliverable = reports.size();
    out.lost = static_cast<std::uint64_t>(std::count(times.begin(), times.end(), std::uint8_t{0}));
  }

 private:
  const StressScenario& scenario_;
  const StressTraffic& traffic_;
  std::uint32_t endpoints_;
};

void say_problem(StressResult& out) {
  std::vector<std::string> words;
  auto add = [&](std::uint64_t n, const char* what) {
    if (n) words.push_back(fmt::format("{} {}", with_commas(n), what));
  };
  add(out.lost, "lost");
  add(out.duplicated, "duplicated");
  add(out.corrupted, "corrupted");
  add(out.out_of_order, "out of order");
  std::string sum = join(words, ", ");
  out.problem += (out.problem.empty() || sum.empty() ? "" : "; ") + sum;
}

}  // namespace

StressScenario make_scenario(std::uint64_t seed, std::uint64_t number) {
  Draws draw(seed, number);
  for (;;)
    if (std::optional<StressScenario> scenario = draw_scenario(draw)) {
      scenario->seed = random_bits(seed, number, 1u << 20);
      return *scenario;
    }
}

StressResult run_scenario(const StressScenario& scenario, unsigned threads) {
  machine::Machine m =
      machine::build(machine::describe_text(scenario.machine, "scenario", scenario.settings));
  StressResult out;
  std::vector<network::link::FaultEvent> events;
  if (!scenario.faults.empty()) events = network::link::read_faults(scenario.faults, *m.graph);
  network::CycleOptions options;
  options.largest_packet_flits = scenario.longest_packet;
  options.threads = threads;
  options.seed = scenario.seed;
  options.faults = std::move(events);
  options.link_layer = true;
  const auto made = network::cycle_engine().make(m, options);
  network::CycleEngine& engine = *made;
  StressTraffic traffic(scenario, m.graph->endpoints());
  std::vector<StressObserver> observers(engine.threads());
  std::vector<network::Observer*> pointers;
  for (StressObserver& o : observers) pointers.push_back(&o);

  const std::uint64_t packets = std::uint64_t{scenario.packets_per_endpoint} * m.graph->endpoints();
  const Cycle most = 40'000'000;
  auto settled = [&] {
    network::CycleCounters c = engine.counters();
    return c.packets_created == packets && c.packets_delivered + c.packets_lost >= packets;
  };
  while (!settled() && !engine.stalled() && engine.now() < most)
    engine.run(traffic, pointers, engine.now() + 2000);
  out.cycles = engine.now();
  if (engine.stalled()) {
    out.problem = "nothing moves any more";
    for (const auto& hop : engine.explain_stall())
      out.timeline.push_back(fmt::format("{}, channel {}: e{} -> e{}, {}", hop.place, hop.channel, hop.source,
                                         hop.destination, hop.reason));
  } else if (!settled()) {
    out.problem = "not over after 40 million cycles";
  }
  Verdict(scenario, traffic, m.graph->endpoints()).judge(observers, out);
  const network::LinkReport links = engine.link_report();
  out.corrupted += links.corrupted;
  for (const auto& record : links.cables) out.retries += record.counters.sent_again;
  out.taken_back = links.taken_back;
  out.reroutings = links.routes_changed;
  for (const auto& entry : links.timeline)
    out.timeline.push_back(fmt::format("cycle {}: {}", entry.at, entry.what));
  say_problem(out);
  return out;
}

}  // namespace weft::measure
