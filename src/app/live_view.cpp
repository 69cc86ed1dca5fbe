#include "app/live_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/diagnostics.hpp"
#include "base/input_file.hpp"
#include "base/random.hpp"
#include "report/figures.hpp"

namespace weft::app {

namespace {

void tell(const live::Server& server) {
  fmt::print(
      stderr,
      "weft: it can be watched at http://127.0.0.1:{}/ on this computer; to pause or stop it there takes "
      "the token {}\n",
      server.port(), server.token());
}

/// The time of a flit by cable, a cycle being so long.
std::vector<double> flit_times(const network::CycleFacts& facts, double cycle) {
  std::vector<double> out;
  for (std::uint16_t interval : facts.cable_interval) out.push_back(interval / 256.0 * cycle);
  return out;
}

}  // namespace

void WatchPage::declare(CommandLine& app) {
  app.add_flag("--watch", on,
               "Serve a page on this computer that shows the machine, its links by load and how far it has "
               "come, while it runs; its address goes to standard error. Results are the same");
  app.add_option("--watch-port", port, "Port of that page; 0: any that is free")
      .option_text("N [0]")
      .range(0, 65'535);
}

Time time_of_earlier_run(const std::string& folder, const std::string& command) {
  constexpr std::uint64_t kMostBytes = 64 << 20;
  if (folder.empty()) return Time{0};
  std::string text;
  try {
    text = read_file(folder + "/result.json", kMostBytes);
  } catch (const UserError&) {
    return Time{0};  // there is none
  }
  const std::optional<Json> read = Json::parse(text);
  if (!read || !read->is_object() || !read->contains("run") || !read->contains("virtual_time_ns"))
    return Time{0};
  const Json& run = (*read)["run"];
  if (!run.is_object() || !run.contains("command") || !run["command"].is_string() || !run.contains("fine") ||
      run["command"].get<std::string>() != command || !run["fine"].get<bool>())
    return Time{0};
  return Time{static_cast<std::int64_t>((*read)["virtual_time_ns"].get<double>() * 1000)};
}

LiveRun::LiveRun(const WatchPage& watch, const machine::Machine& machine, const network::EngineKind& engine,
                 const network::Network& network, const live::PageText& text, Time expected)
    : machine_(machine),
      network_(network),
      expected_(expected),
      server_(board_, live::page(machine, text), watch.port),
      meter_(machine) {
  const bool counts = machine.graph->ports() > 0 && network.port_state(0).counts;
  if (counts) {
    const network::CycleFacts facts = network::cycle_engine(engine.name).facts(machine, 1);
    flit_time_ = flit_times(facts, facts.cycle.nanoseconds(1) * 1000);
    sent_.resize(machine.graph->ports());
  } else {
    loads_.emplace(machine);
  }
  tell(server_);
}

void LiveRun::attach(host::Simulation& simulation) {
  if (!loads_) return;
  nic::Fabric& fabric = simulation.fabric();
  fabric.on_record = [this, &fabric, others = std::move(fabric.on_record)](const nic::Record& record) {
    if (others) others(record);
    const bool comes_back = record.operation == nic::Operation::Get;
    const auto from = fabric.node(record.from), to = fabric.node(record.to);
    if (record.status == nic::Status::Ok && from != to)  // since the last look, whenever it began
      keep({Time{0}, Time{0}, comes_back ? to : from, comes_back ? from : to,
            record.length & measure::Transfer::kMostBytes, record.operation == nic::Operation::Trigger});
  };
}

bool LiveRun::look(const host::Simulation& simulation, bool (*interrupted)()) {
  if (!started_) {  // the ranks are there now, and inherit nothing
    started_ = true;
    server_.start();
  }
  board_.look(
      0, [&] { return describe(simulation); }, interrupted);
  return board_.stop_asked();
}

/// Routes are looked up when somebody looks: of many transfers some stand for all, drawn so that no rhythm of
/// the program prefers any.
void LiveRun::keep(measure::Transfer transfer) {
  constexpr std::size_t kMost = 4096;
  const std::uint64_t draw = random_bits(0x7761746368, 0, ++seen_);
  if (draw & (one_of_ - 1)) return;
  transfer.end = Time{static_cast<std::int64_t>(draw)};
  transfers_.push_back(transfer);
  if (transfers_.size() < kMost) return;
  one_of_ *= 2;
  std::erase_if(transfers_, [this](const measure::Transfer& t) {
    return static_cast<std::uint64_t>(t.end.value) & (one_of_ - 1);
  });
}

void LiveRun::measure_links(Time now) {
  if (loads_) {
    if (now <= then_) return;
    for (measure::Transfer& t : transfers_) {
      t.end = Time{0};
      t.bytes = t.bytes * one_of_ & measure::Transfer::kMostBytes;
    }
    meter_.laid(loads_->between(transfers_, Time{0}, now - then_));
    transfers_.clear();
    one_of_ = 1;
    return;
  }
  for (topology::PortId p = 0; p < sent_.size(); ++p)
    if (machine_.graph->peer(p) != topology::kNone) sent_[p] = network_.port_state(p).sent;
  meter_.counted(sent_, flit_time_, static_cast<double>(now.value));
}

std::string LiveRun::describe(const host::Simulation& simulation) {
  const Time now = std::max(simulation.progress().now, then_);
  if (expected_.value > 0)
    board_.set_share(static_cast<double>(now.value) / static_cast<double>(expected_.value));
  measure_links(now);
  Json out{{"time_ps", now.value}};
  const double passed = since_then_.seconds();
  if (passed > 0)
    out["rate"] = report::rounded<Time>(static_cast<double>((now - then_).value) / passed) + " / s";
  then_ = now;
  since_then_ = {};
  std::string states;
  std::map<std::string, std::size_t> calls{{"", 0}};
  std::vector<std::string> names{""};
  out["call_of"] = Json::array();
  for (const host::RankNow& rank : simulation.ranks_now()) {
    states += static_cast<char>(rank.state);
    auto [at, is_new] = calls.try_emplace(rank.call ? rank.call : "", names.size());
    if (is_new) names.push_back(at->first);
    out["call_of"].push_back(at->second);
  }
  out["ranks"] = states;
  out["calls"] = names;
  out["links"] = meter_.json();
  constexpr std::size_t kShown = 20;
  const std::vector<network::Network::Incident> incidents = network_.incidents();
  out["incidents"] = incidents.size();
  out["alarms"] = Json::array();
  for (std::size_t i = incidents.size(); i-- > 0 && incidents.size() - i <= kShown;)
    out["alarms"].push_back({{"at_ps", incidents[i].at.value}, {"what", incidents[i].what}});
  std::uint64_t down = 0;
  for (topology::PortId p = 0; p < machine_.graph->ports(); ++p)
    if (machine_.graph->peer(p) != topology::kNone) down += !network_.port_state(p).up;
  out["links_down"] = down;
  return out.dump();
}

void LiveRun::end(const host::Simulation& simulation) {
  if (board_.stop_asked()) fmt::print(stderr, "weft: the page has stopped the run\n");
  board_.finish(0, describe(simulation));
  board_.end();
}

LiveTraffic::LiveTraffic(const WatchPage& watch, const machine::Machine& machine,
                         const network::CycleFacts& facts, const live::PageText& text,
                         std::atomic<bool>& interrupted)
    : cycle_(facts.cycle),
      loads_(text.loads),
      flit_time_(flit_times(facts, 1)),
      interrupted_(interrupted),
      board_(text.loads.size()),
      server_(board_, live::page(machine, text), watch.port) {
  for (std::size_t i = 0; i < loads_.size(); ++i) points_.push_back(std::make_unique<Point>(machine));
  tell(server_);
  server_.start();
}

bool LiveTraffic::wants(std::size_t point) {
  if (board_.stop_asked()) interrupted_ = true;
  return board_.wants(point) && !interrupted_;
}

void LiveTraffic::see(std::size_t index, const measure::PointView& view) {
  Point& point = *points_[index];
  const network::CycleEngine& engine = view.engine;
  auto describe = [&] {
    const network::Cycle now = engine.now();
    engine.copy_sent(point.sent);
    point.meter.counted(point.sent, flit_time_, static_cast<double>(now));
    const double passed = point.since_then.seconds();
    Json out{{"phase", view.phase},
             {"load", loads_[index]},
             {"cycle", now},
             {"time_ps", cycle_.time(now).value},
             {"accepted", view.accepted},
             {"latency", view.latency}};
    if (passed > 0 && now >= point.then)
      out["rate"] = fmt::format("{:.3g} cycles / s", static_cast<double>(now - point.then) / passed);
    out["links"] = point.meter.json();
    point.then = now;
    point.since_then = {};
    return out.dump();
  };
  board_.look(index, describe, [this] { return interrupted_.load(); });
  if (board_.stop_asked()) interrupted_ = true;
}

void LiveTraffic::done(const measure::TrafficPoint& result, std::size_t count) {
  const auto index =
      static_cast<std::size_t>(std::find(loads_.begin(), loads_.end(), result.offered) - loads_.begin());
  std::vector<measure::LinkLoad> loads;
  for (const measure::LinkUse& link : result.links) loads.push_back({link.port, 0, link.utilisation});
  points_[index]->meter.laid(loads);
  const network::Cycle cycles = result.warmup_cycles + result.measured_cycles;
  Json out{{"phase", "done"},
           {"load", result.offered},
           {"cycle", cycles},
           {"time_ps", cycle_.time(cycles).value},
           {"accepted", result.accepted},
           {"latency", result.packet.mean}};
  out["rate"] = fmt::format("{:.3g} cycles / s", static_cast<double>(cycles) / result.seconds);
  out["links"] = points_[index]->meter.json();
  board_.finish(index, out.dump());
  board_.set_share(static_cast<double>(count) / static_cast<double>(loads_.size()));
}

}  // namespace weft::app
