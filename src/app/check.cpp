// `weft check`: the proof that a machine's routing connects every pair and cannot deadlock.
#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "app/check_faults.hpp"
#include "app/show_networks.hpp"
#include "app/verb.hpp"
#include "base/json.hpp"
#include "base/stopwatch.hpp"
#include "machine/collective_network.hpp"
#include "machine/joined.hpp"
#include "network/flit/buffers.hpp"
#include "routing/multicast.hpp"
#include "routing/verify.hpp"

namespace weft::app {

namespace {

using routing::BrokenPair;
using routing::Verdict;
using topology::Graph;

struct Options {
  MachineOptions machine;
  std::uint64_t sample = 0;
  unsigned threads = 0;
  bool json = false;
  FaultCheckOptions faults;
};

std::string pair_text(const Graph& graph, const BrokenPair& pair) {
  std::string why = pair.cut_off   ? "cut off: no route is left"
                    : pair.endless ? "may go round for ever"
                                   : "comes to a dead end";
  if (pair.via != topology::kNone) why += fmt::format(" via {}", pair.via);
  return fmt::format("{} -> e{} on {}: {}", graph.router_name(pair.source), pair.destination,
                     graph.router_name(graph.endpoint_router(pair.destination)), why);
}

std::string hop_text(const Graph& graph, const routing::CycleHop& hop) {
  topology::PortId to = graph.peer(hop.out_port);
  std::string packet = hop.target == topology::kNone ? "a packet that starts its second leg here"
                       : hop.via_leg                 ? fmt::format("a packet via {}", hop.target)
                                                     : fmt::format("a packet to e{}", hop.target);
  return fmt::format("{} -> {}, channel {}  ({} -> {}); {} holds it and waits for",
                     graph.port_name(hop.out_port), graph.port_name(to), hop.channel,
                     graph.router_name(graph.port_router(hop.out_port)),
                     graph.router_name(graph.port_router(to)), packet);
}

void print_line(std::string_view name, const std::string& text) {
  fmt::print("{:<11}{}\n", name, wrap(text, 110, 11));
}

void print_connection(const Graph& graph, const Verdict& v) {
  if (v.connected()) {
    print_line("connected", fmt::format("yes: {} (source router, destination), none without a route",
                                        count_of(v.pairs, "pair")));
    return;
  }
  print_line("connected", fmt::format("NO: {} of {} (source router, destination)",
                                      with_commas(v.broken_pairs), count_of(v.pairs, "pair")));
  for (const BrokenPair& pair : v.broken) fmt::print("             {}\n", pair_text(graph, pair));
  if (v.broken_pairs > v.broken.size())
    fmt::print("             and {} more\n", with_commas(v.broken_pairs - v.broken.size()));
}

void print_paths(const machine::Machine& m, const Verdict& v) {
  std::uint32_t bound = m.routing->max_hops();
  std::string claim = bound ? fmt::format("no route crosses more than {}", count_of(bound, "cable"))
                            : "every route is a shortest path";
  if (v.detours == 0) {
    print_line("paths", fmt::format("{}; the longest crosses {} ({})", claim, count_of(v.longest, "cable"),
                                    count_of(v.longest + 1, "router")));
  } else {
    print_line("paths",
               fmt::format("NOT as claimed ({}): {} can be longer, first {} -> e{}; the longest crosses {}",
                           claim, count_of(v.detours, "pair"), m.graph->router_name(v.first_detour.source),
                           v.first_detour.destination, count_of(v.longest, "cable")));
  }
}

void print_tables(const Verdict& v, const routing::Routing& routing) {
  if (v.tables.empty()) {
    print_line("tables", routing.bytes() ? "no limit stated" : "none: routes are computed");
    return;
  }
  std::vector<std::string> parts;
  for (const auto& t : v.tables)
    parts.push_back(t.limit == 0 ? fmt::format("{} {}", t.name, count_of(t.used, "item"))
                    : t.used > t.limit
                        ? fmt::format("{} {} DO NOT FIT in {}", t.name, count_of(t.used, "item"), t.limit)
                        : fmt::format("{} {} of {}", t.name, t.used, count_of(t.limit, "item")));
  print_line("tables", join(parts, ", "));
}

void print_deadlock(const Graph& graph, const Verdict& v) {
  std::string what = v.escape_proof ? "escape channels" : "channels";
  if (v.without_escape > 0)
    print_line("deadlock",
               fmt::format("POSSIBLE: {} without an escape channel", count_of(v.without_escape, "state")));
  if (v.cycle.empty()) {
    print_line("deadlock",
               fmt::format("none: {} {}, {}, no cycle{}", with_commas(v.channels), what,
                           count_of(v.dependencies, "dependency", "dependencies"),
                           v.escape_proof ? " (Duato's condition, packets that leave an escape channel and "
                                            "come back included)"
                                          : ""));
    return;
  }
  print_line("deadlock", fmt::format("POSSIBLE: {} wait for each other in a cycle",
                                     count_of(v.cycle.size(), what.substr(0, what.size() - 1))));
  for (std::size_t i = 0; i < v.cycle.size(); ++i)
    fmt::print("  {:>3}. {}\n", i + 1, hop_text(graph, v.cycle[i]));
  fmt::print("       the first again\n");
}

void print_multicast(const Graph& graph, const routing::MulticastVerdict& v) {
  if (v.holds()) {
    print_line(
        "multicast",
        fmt::format("none can deadlock: the trees of {}, each over every cable at most once and {} deep at "
                    "most; {} channels of their own, {} of what holds them on all branches, no cycle",
                    count_of(v.sources, "source router"), count_of(v.deepest, "cable"),
                    with_commas(v.channels), count_of(v.dependencies, "dependency", "dependencies")));
    if (v.meeting_points)
      print_line(
          "reduction",
          fmt::format("none can deadlock: the way up, the turn and the way down of the trees below {} are "
                      "among these dependencies; what does not go on lies in memory of its own",
                      count_of(v.meeting_points, "router")));
    return;
  }
  if (v.unreached)
    print_line("multicast",
               fmt::format("NOT connected: {} of source and destination router that no tree joins",
                           count_of(v.unreached, "pair")));
  if (v.crossed_twice)
    print_line("multicast", fmt::format("NOT trees: {} crossed twice", count_of(v.crossed_twice, "cable")));
  if (v.cycle.empty()) return;
  print_line("multicast", fmt::format("deadlock POSSIBLE: {} wait for each other in a cycle",
                                      count_of(v.cycle.size(), "channel")));
  for (std::size_t i = 0; i < v.cycle.size(); ++i)
    fmt::print("  {:>3}. {}\n", i + 1, hop_text(graph, v.cycle[i]));
}

void print_balance(const machine::Machine& m, const Verdict& v) {
  std::string whose =
      m.routing->via_count() && m.routing->may_go_direct() ? ", packets that go straight" : "";
  std::string head = "balance";
  for (const routing::TierBalance& tier : v.balance) {
    print_line(head, fmt::format("{}: {}, {} idle, the busiest carries {:.2f} times the mean", tier.name,
                                 count_of(tier.cables, "cable"), with_commas(tier.idle), tier.busiest));
    head.clear();
  }
  if (!v.balance.empty())
    print_line("", fmt::format("(under uniform traffic{}; each way of a cable counts)", whose));
}

void print_proof(const Verdict& v, double seconds) {
  std::string how = v.exact() ? fmt::format(
                                    "exact: all {} visited; endpoints of a router that are routed alike are "
                                    "visited once, which loses nothing",
                                    count_of(v.destinations, "target"))
                              : fmt::format("NO PROOF: {} of {} sampled", with_commas(v.visited),
                                            count_of(v.destinations, "target"));
  print_line("proof", fmt::format("{}; {} in {:.2f} s", how, count_of(v.states, "state"), seconds));
}

struct Proof {
  Verdict verdict;
  std::optional<routing::MulticastVerdict> multicast;  // where routers copy packets
  double seconds;

  bool holds() const { return verdict.holds() && (!multicast || multicast->holds()); }
};

void print_report(const machine::Machine& m, const Proof& proof) {
  const Verdict& v = proof.verdict;
  const auto& d = m.description;
  fmt::print("{}: {} on {}, routing {} in {} over {}\n", d.identity.name,
             count_of(m.graph->endpoints(), "endpoint"), count_of(m.graph->routers(), "router"),
             d.routing->name, count_of(m.routing->classes(), "class", "classes"),
             count_of(d.router.channels, "channel"));
  if (m.faults->any())
    print_line("faults", fmt::format("{} and {} dead", count_of(d.faults.dead_cables.size(), "cable"),
                                     count_of(d.faults.dead_routers.size(), "router")));
  print_connection(*m.graph, v);
  print_paths(m, v);
  print_tables(v, *m.routing);
  if (d.router.channels < m.routing->classes())
    print_line(
        "channels",
        fmt::format("TOO FEW: the routing asks for {}, the router has {}; classes share channels below",
                    m.routing->classes(), d.router.channels));
  print_deadlock(*m.graph, v);
  if (d.router.traffic_classes() > 1)
    print_line("classes",
               fmt::format("{} of traffic and messages, each with channels of its own: the proof is "
                           "that of each of them",
                           count_of(d.router.all_classes(), "class", "classes")));
  if (proof.multicast) print_multicast(*m.graph, *proof.multicast);
  for (const std::string& warning : network::flit::buffer_warnings(network::flit::cable_buffers(m)))
    print_line("buffers", warning);
  print_balance(m, v);
  print_proof(v, proof.seconds);
  if (proof.holds() && v.exact())
    fmt::print("{} is connected and deadlock-free\n", d.identity.name);
  else if (proof.holds())
    fmt::print("{}: nothing wrong in the sample, nothing proved\n", d.identity.name);
  else
    fmt::print("{} FAILS the check{}\n", d.identity.name,
               !v.deadlock_free()   ? ": it can deadlock"
               : v.holds()          ? ": packets for many"
               : !v.enough_channels ? ": it has too few channels to run"
                                    : "");
}

Json report_json(const machine::Machine& m, const Proof& proof) {
  const Verdict& v = proof.verdict;
  Json out;
  out["machine"] = m.description.identity.name;
  out["routing"] = m.description.routing->name;
  out["holds"] = proof.holds();
  out["exact"] = v.exact();
  out["connected"] = v.connected();
  out["pairs"] = v.pairs;
  out["broken_pairs"] = v.broken_pairs;
  out["longest_path_cables"] = v.longest;
  out["paths_as_claimed"] = v.detours == 0;
  out["tables"] = Json::array();
  for (const auto& t : v.tables)
    out["tables"].push_back({{"name", t.name}, {"used", t.used}, {"limit", t.limit}});
  out["deadlock_free"] = v.deadlock_free();
  out["escape_proof"] = v.escape_proof;
  out["channels"] = v.channels;
  out["dependencies"] = v.dependencies;
  out["cycle"] = Json::array();
  for (const auto& hop : v.cycle)
    out["cycle"].push_back({{"from", m.graph->port_name(hop.out_port)},
                            {"to", m.graph->port_name(m.graph->peer(hop.out_port))},
                            {"channel", hop.channel}});
  out["buffer_warnings"] = network::flit::buffer_warnings(network::flit::cable_buffers(m));
  out["enough_channels"] = v.enough_channels;
  out["balance"] = Json::array();
  for (const auto& tier : v.balance)
    out["balance"].push_back({{"cables_of", tier.name},
                              {"cables", tier.cables},
                              {"idle", tier.idle},
                              {"busiest_over_mean", tier.busiest}});
  out["states"] = v.states;
  if (proof.multicast)
    out["multicast"] = {{"holds", proof.multicast->holds()},
                        {"sources", proof.multicast->sources},
                        {"unreached_pairs", proof.multicast->unreached},
                        {"deepest_cables", proof.multicast->deepest},
                        {"reduction_roots", proof.multicast->meeting_points},
                        {"channels", proof.multicast->channels},
                        {"dependencies", proof.multicast->dependencies},
                        {"deadlock_free", proof.multicast->cycle.empty()}};
  out["seconds"] = proof.seconds;
  return out;
}

/// Of all trees there can be, in what is left of the machine.
std::optional<routing::MulticastVerdict> prove_multicast(const machine::Machine& m) {
  const machine::RouterModel model = m.description.router_kind->model(m.description.router_parameters.get());
  if (!model.multicast) return std::nullopt;
  const routing::MulticastTrees trees(*m.graph, *m.faults);
  routing::GrowTree descend;
  if (model.reduction.groups)
    descend = [&](topology::RouterId root, std::vector<routing::TreeStep>& steps) {
      trees.descend(root, steps);
    };
  return routing::verify_multicast(
      *m.graph, *m.faults,
      [&](topology::RouterId source, std::vector<routing::TreeStep>& steps) { trees.grow(source, steps); },
      descend);
}

Proof prove(const Options& options, const machine::Machine& m) {
  routing::VerifyOptions how;
  how.channels = m.description.router.channels;
  how.sample = options.sample;
  how.threads = options.threads;
  how.balance = true;
  const Stopwatch start;
  auto elapsed = [&] { return start.seconds(); };
  bool on_terminal = isatty(STDERR_FILENO);
  double shown = 0;
  if (on_terminal)
    how.progress = [&](std::uint64_t done, std::uint64_t of) {
      double now = elapsed();
      if (now < 1 || now - shown < 0.2) return;
      shown = now;
      fmt::print(stderr, "\rproving {:3.0f}%, about {:.0f} s left  ",
                 100.0 * static_cast<double>(done) / static_cast<double>(of),
                 now * static_cast<double>(of - done) / static_cast<double>(done));
    };
  Verdict v = routing::verify(*m.routing, how);
  if (shown > 0) fmt::print(stderr, "\r{:40}\r", "");
  auto multicast = prove_multicast(m);
  return {std::move(v), std::move(multicast), elapsed()};
}

/// Each network by itself, and that none waits for another.
int check_networks(const Options& options, const machine::Machine& whole) {
  const machine::Networks& networks = *machine::networks_of(whole.description);
  bool holds = true;
  Json out{{"machine", whole.description.identity.name}, {"networks", Json::array()}};
  for (const machine::JoinedPart& part : machine::joined(whole)->parts()) {
    const Proof proof = prove(options, part.machine);
    holds &= proof.holds();
    if (options.json) {
      out["networks"].push_back(report_json(part.machine, proof));
    } else {
      print_report(part.machine, proof);
      fmt::print("\n");
    }
  }
  out["holds"] = holds;
  out["gateways"] = gateways_json(networks);
  if (options.json) {
    fmt::print("{}\n", out.dump(2));
  } else {
    print_line("gateways", gateways_in_words(networks));
    fmt::print("{} {}\n", whole.description.identity.name,
               holds ? "is connected and deadlock-free" : "FAILS the check");
  }
  return holds ? 0 : 1;
}

int check(const Options& options) {
  machine::Machine m = machine::build(options.machine.describe());
  if (machine::joined(m)) {
    if (options.faults.faults) machine::refuse_networks(m.description, "weft check --faults");
    return check_networks(options, m);
  }
  if (options.faults.faults) return check_faults(m, options.faults, options.threads, options.json);
  const Proof first = prove(options, m);
  bool holds = first.holds();
  Json out;
  if (options.json)
    out = report_json(m, first);
  else
    print_report(m, first);
  // Nothing of one network ever waits for the other: they are proved apart.
  if (auto described = machine::collective_network(m.description)) {
    machine::Machine beside = machine::build(std::move(*described));
    const Proof second = prove(options, beside);
    holds &= second.holds();
    if (options.json) {
      out["collective_network"] = report_json(beside, second);
    } else {
      fmt::print("\n");
      print_report(beside, second);
    }
  }
  if (options.json) fmt::print("{}\n", out.dump(2));
  return holds ? 0 : 1;
}

std::function<int()> declare_check(CommandLine& app) {
  auto options = std::make_shared<Options>();
  options->machine.declare(app);
  app.add_option("--sample", options->sample, "Look at this many destinations only; faster, and no proof");
  options->faults.declare(app);
  app.add_option("--threads", options->threads, "Threads; 0: the cores there are")
      .option_text("N [0]")
      .range(0, 1024);
  app.add_flag("--json", options->json, "Machine-readable");
  return [options] { return check(*options); };
}

WEFT_REGISTER(Verb,
              {"check", "prove a machine's routing: every pair connected, paths as claimed, no deadlock", 4,
               declare_check});

}  // namespace

}  // namespace weft::app
