// `weft manage`: what a management program does before a network can be used. From one node it finds all
// others by reading registers over the network, compares what it found with the description, and writes the
// routing tables.
#include <fmt/format.h>

#include <charconv>
#include <chrono>

#include "app/verb.hpp"
#include "base/json.hpp"
#include "base/memory_left.hpp"
#include "base/text.hpp"
#include "machine/networks.hpp"
#include "manage/recovery.hpp"
#include "routing/verify.hpp"

namespace weft::app {

namespace {

using manage::Comparison;
using manage::Difference;
using topology::Graph;
using topology::RouterId;

constexpr std::uint64_t kPairs = 1'000'000;
constexpr std::size_t kShown = 50;

struct ManageOptions {
  MachineOptions machine;
  std::vector<std::string> swaps, unplugged, replaced;
  std::string mistakes;
  std::vector<std::string> failures;
  std::uint64_t dies_after = manage::Budget::kUnlimited;
  std::string second;
  unsigned manager = 0;
  bool discover = false, json = false;
};

double seconds_of(const std::function<void()>& what) {
  auto start = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

manage::Mistakes read_mistakes(const ManageOptions& o, const Graph& graph) {
  manage::Mistakes mistakes(graph);
  for (const std::string& ports : o.swaps) mistakes.add("swap " + ports, "--swap");
  for (const std::string& port : o.unplugged) mistakes.add("unplug " + port, "--unplug");
  for (const std::string& port : o.replaced) mistakes.add("replace " + port, "--replace");
  if (!o.mistakes.empty()) mistakes.add_file(o.mistakes);
  mistakes.finish();
  return mistakes;
}

/// A node's number, or 0 where none is given.
unsigned node_named(const std::string& text, const Graph& graph) {
  if (text.empty()) return 0;
  unsigned node = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), node);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || node >= graph.endpoints())
    throw UserError(fmt::format("--second {}: there are nodes 0 to {}", text, graph.endpoints() - 1));
  return node;
}

std::string difference_text(const Graph& graph, const Difference& d) {
  auto end = [&](manage::Plug plug) {
    const std::string name = manage::plug_name(graph, plug);
    return plug.kind == manage::Plug::Kind::Nothing ? fmt::format("nothing at {}", graph.port_name(d.port))
                                                    : fmt::format("{} to {}", graph.port_name(d.port), name);
  };
  return fmt::format("expected {}, found {}", end(d.expected), end(d.found));
}

void print_differences(const Graph& graph, const Comparison& comparison) {
  for (std::size_t i = 0; i < comparison.differences.size() && i < kShown; ++i)
    fmt::print("  {}\n", difference_text(graph, comparison.differences[i]));
  if (comparison.differences.size() > kShown)
    fmt::print("  and {} more\n", with_commas(comparison.differences.size() - kShown));
  for (std::size_t i = 0; i < comparison.missing.size() && i < kShown; ++i)
    fmt::print("  {} was not reached\n", graph.router_name(comparison.missing[i]));
  if (comparison.missing.size() > kShown)
    fmt::print("  and {} more routers\n", with_commas(comparison.missing.size() - kShown));
  // Of two exchanged cables the plugs at either ends explain what was found.
  for (auto [a, b] : comparison.exchanged)
    fmt::print("  the plugs at {} and {} look exchanged\n", graph.port_name(a), graph.port_name(b));
}

Json comparison_json(const Graph& graph, const Comparison& comparison) {
  Json differences = Json::array(), missing = Json::array();
  for (const Difference& d : comparison.differences)
    differences.push_back({{"port", graph.port_name(d.port)},
                           {"expected", manage::plug_name(graph, d.expected)},
                           {"found", manage::plug_name(graph, d.found)}});
  for (RouterId r : comparison.missing) missing.push_back(fmt::format("r{}", r));
  return {{"same", comparison.same()}, {"differences", differences}, {"not_reached", missing}};
}

/// Routes are proved and written; true where all of that went well.
bool configure(const machine::Machine& m, const manage::Discovery& found, manage::Chips& chips, bool print,
               Json& out) {
  routing::VerifyOptions how;
  how.channels = m.description.router.channels;
  routing::Verdict verdict;
  const double proving = seconds_of([&] { verdict = routing::verify(*m.routing, how); });
  const bool proved = verdict.serves_what_is_left();
  if (print)
    fmt::print("routes: {} over {} pairs {} in {:.1f} s\n", m.description.routing->name,
               with_commas(verdict.pairs), proved ? "proved" : "FAIL the proof", proving);
  out["routes"] = {{"proved", proved}, {"pairs", verdict.pairs}, {"seconds", proving}};
  if (!proved) return false;
  const std::uint64_t entries = 2 * manage::table_entries(*m.routing);  // routers have two
  require_memory(static_cast<double>(entries) * sizeof(manage::RouteEntry),
                 fmt::format("routing tables of {} entries", with_commas(entries)), "--discover writes none");
  const Time before = chips.time();
  const std::uint64_t writes = chips.writes();
  manage::TableReport report;
  const double writing = seconds_of([&] { report = manage::write_tables(m, found, chips, kPairs); });
  const bool good = report.failed == 0 && report.undelivered == 0;
  if (print)
    fmt::print(
        "tables: {} entries by {} register writes in {} of virtual time, {:.1f} s; {} pairs followed through "
        "them, {} not delivered\n",
        with_commas(report.entries), with_commas(chips.writes() - writes), to_text(chips.time() - before),
        writing, with_commas(report.pairs), with_commas(report.undelivered));
  out["tables"] = {{"entries", report.entries},
                   {"written", true},
                   {"requests", chips.writes() - writes},
                   {"virtual_ps", (chips.time() - before).value},
                   {"seconds", writing},
                   {"pairs_followed", report.pairs},
                   {"undelivered", report.undelivered}};
  return good;
}

Json recovery_json(const manage::Recovery& r) {
  Json lost = Json::array();
  for (auto [from, to] : r.lost) lost.push_back({{"from", from}, {"to", to}});
  return {{"complete", r.complete},
          {"routing", r.routing},
          {"proved", r.proved},
          {"detect_ps", r.detect.value},
          {"compute_seconds", r.compute},
          {"prove_seconds", r.prove},
          {"write_ps", r.write.value},
          {"register_reads", r.reads},
          {"register_writes", r.writes},
          {"entries", r.tables.entries},
          {"cut_off_pairs", r.cut_off},
          {"pairs_followed", r.tables.pairs},
          {"undelivered", r.tables.undelivered},
          {"lost", lost}};
}

void print_recovery(const manage::Recovery& r) {
  if (r.refused) {
    fmt::print("  it is refused: chips have another manager\n");
    return;
  }
  fmt::print("  detected and found out in {}, {} computed in {:.2f} s, {} in {:.2f} s\n", to_text(r.detect),
             r.routing, r.compute, r.proved ? "proved" : "FAILS the proof", r.prove);
  fmt::print("  {} entries written in {}: {} reads and {} writes in all{}\n", with_commas(r.tables.entries),
             to_text(r.write), with_commas(r.reads), with_commas(r.writes),
             r.complete ? "" : "; then the manager died");
  fmt::print("  {} pairs followed, {} not delivered\n", with_commas(r.tables.pairs),
             with_commas(r.tables.undelivered));
  std::vector<std::string> lost;
  for (auto [from, to] : r.lost) lost.push_back(fmt::format("{} to {}", from, to));
  if (!lost.empty())
    fmt::print("    node {}{}\n", join(lost, ", "), r.tables.undelivered > lost.size() ? ", ..." : "");
}

/// Cables fail at once; true where every pair that has a way left is served in the end.
bool recover(const ManageOptions& o, const machine::Machine& m, manage::Wiring& wiring, manage::Chips& chips,
             const manage::Discovery& booted, const manage::Mistakes& failures, unsigned second, Json& out) {
  manage::RecoveringManager manager(m, chips, booted);
  failures.make(wiring);
  manage::Recovery r = manager.recover(kPairs, o.dies_after);
  out["recovery"] = Json::array();
  out["recovery"].push_back(recovery_json(r));
  if (!o.json) {
    fmt::print("{} fails\n", join(o.failures, ", "));
    print_recovery(r);
  }
  if (!r.complete && r.proved && !o.second.empty()) {
    manager.take_over(second);
    r = manager.recover(kPairs);
    out["recovery"].push_back(recovery_json(r));
    if (!o.json) {
      fmt::print("node {} is the manager now\n", second);
      print_recovery(r);
    }
  }
  return r.complete && r.tables.undelivered == 0;
}

int manage_machine(const ManageOptions& o) {
  const machine::Machine m = machine::build(o.machine.describe());
  machine::refuse_networks(m.description, "weft manage");
  const Graph& graph = *m.graph;
  if (o.manager >= graph.endpoints())
    throw UserError(fmt::format("--from {}: there are nodes 0 to {}", o.manager, graph.endpoints() - 1));
  manage::Wiring wiring(graph, *m.faults);
  read_mistakes(o, graph).make(wiring);
  manage::Mistakes failures(graph);
  for (const std::string& port : o.failures) failures.add("unplug " + port, "--fail");
  failures.finish();
  const unsigned second = node_named(o.second, graph);
  manage::Chips chips(m, wiring, o.manager);
  if (!o.second.empty()) chips.name_successor(second);
  manage::Discovery found;
  const double seconds = seconds_of([&] { found = manage::discover(graph, chips); });
  const Comparison comparison = manage::compare(graph, *m.faults, found);
  Json out = comparison_json(graph, comparison);
  out["machine"] = m.description.identity.name;
  out["routers"] = found.order.size();
  out["nodes"] = found.nodes;
  out["register_reads"] = chips.reads();
  out["register_writes"] = chips.writes();
  out["virtual_ps"] = chips.time().value;
  out["seconds"] = seconds;
  if (!o.json) {
    fmt::print(
        "{}: from node {}, {} and {} found by {} register reads and {} writes in {} of virtual time, "
        "{:.1f} s\n",
        m.description.identity.name, o.manager, count_of(found.order.size(), "router"),
        count_of(found.nodes, "node"), with_commas(chips.reads()), with_commas(chips.writes()),
        to_text(chips.time()), seconds);
    if (comparison.same()) {
      fmt::print("as described\n");
    } else {
      fmt::print("not as described:\n");
      print_differences(graph, comparison);
    }
  }
  bool good = comparison.same();
  if (good && !o.discover) good = configure(m, found, chips, !o.json, out);
  if (good && !o.failures.empty()) good = recover(o, m, wiring, chips, found, failures, second, out);
  if (o.json) fmt::print("{}\n", out.dump(2));
  return good ? 0 : 1;
}

std::function<int()> declare_manage(CommandLine& app) {
  auto o = std::make_shared<ManageOptions>();
  o->machine.declare(app);
  app.add_option("--from", o->manager, "Node the management program runs on").option_text("NODE [0]");
  app.add_option("--swap", o->swaps, "Two plugs are in each other's socket; may be repeated")
      .option_text("PORT,PORT")
      .repeatable();
  app.add_option("--unplug", o->unplugged, "Nothing is plugged in there; may be repeated")
      .option_text("PORT")
      .repeatable();
  app.add_option("--replace", o->replaced, "An unknown device is plugged in there; may be repeated")
      .option_text("PORT")
      .repeatable();
  app.add_option("--mistakes", o->mistakes,
                 "A file of such: lines as 'swap r3.p0,r9.p0', 'unplug r3.p0', 'replace r3.p0'")
      .option_text("FILE");
  app.add_option("--fail", o->failures, "A cable fails when all is written; may be repeated")
      .option_text("PORT")
      .repeatable();
  app.add_option("--die-after", o->dies_after, "The manager dies after so many writes of new routes")
      .option_text("WRITES");
  app.add_option("--second", o->second, "Node whose manager takes over then").option_text("NODE");
  app.add_flag("--discover", o->discover, "Find and compare; compute and write no routes");
  app.add_flag("--json", o->json, "Machine-readable");
  app.footer(
      "Exit code 1: what was found is not what the description says, its routes do not hold, or pairs are "
      "left "
      "without.");
  return [o] { return manage_machine(*o); };
}

WEFT_REGISTER(Verb, {"manage", "find a machine's parts over its network, compare, write its routes", 13,
                     declare_manage});

}  // namespace

}  // namespace weft::app
