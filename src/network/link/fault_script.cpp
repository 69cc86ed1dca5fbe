#include "network/link/fault_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/statement_reader.hpp"
#include "base/text.hpp"
#include "network/link/lanes.hpp"

namespace weft::network::link {

using topology::Graph;
using topology::kNone;
using topology::PortId;
using topology::RouterId;

namespace {

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

const std::vector<std::string>& verbs() {
  static const std::vector<std::string> all{"cut", "restore", "kill", "lane", "flip", "stall"};
  return all;
}

/// Reads statements one by one and follows what is up and what is down.
class Parser : StatementReader {
 public:
  Parser(std::string source, const Graph& graph, Diagnostics& problems)
      : StatementReader(std::move(source), problems),
        graph_(graph),
        cut_(graph.cables()),
        dead_(graph.routers()) {}

  void read(const Statement& words) {
    begin(words);
    FaultEvent event;
    event.at = time("at 3us cut r12.p3");
    if (failed()) return;
    event.text = join(rest(), " ");
    read_action(event);
    if (complete()) events.push_back(std::move(event));
  }

  std::vector<FaultEvent> events;

 private:
  std::uint32_t count(std::string_view what) {
    const Word* w = take(what);
    if (!w) return 0;
    auto value = number(w->text);
    if (!value) fail(*w, fmt::format("expected {}, got '{}'", what, w->text));
    return value.value_or(0);
  }

  PortId read_port() {
    const Word* w = take("a port such as r12.p3");
    if (!w) return kNone;
    std::string_view text = w->text;
    std::size_t dot = text.find(".p");
    std::optional<std::uint32_t> router, port;
    if (text.starts_with("r") && dot != std::string_view::npos) {
      router = number(text.substr(1, dot - 1));
      port = number(text.substr(dot + 2));
    }
    if (!router || !port) {
      fail(*w, fmt::format("expected a port such as r12.p3, got '{}'", text));
      return kNone;
    }
    if (*router >= graph_.routers()) {
      fail(*w, fmt::format("there is no router r{}: there are r0 to r{}", *router, graph_.routers() - 1));
      return kNone;
    }
    if (*port >= graph_.port_count(*router)) {
      fail(*w, fmt::format("there is no port {}: router r{} has p0 to p{}", text, *router,
                           graph_.port_count(*router) - 1));
      return kNone;
    }
    PortId id = graph_.port(*router, static_cast<topology::PortIndex>(*port));
    if (graph_.peer(id) != kNone) return id;
    bool endpoint = graph_.port_endpoint(id) != kNone;
    fail(*w, endpoint
                 ? fmt::format("{} leads to endpoint e{}, not to a cable", text, graph_.port_endpoint(id))
                 : fmt::format("no cable is plugged into {}", text));
    return kNone;
  }

  RouterId read_router() {
    const Word* w = take("a router's number");
    if (!w) return kNone;
    std::string_view text = w->text;
    if (text.starts_with("r")) text.remove_prefix(1);
    auto id = number(text);
    if (!id) {
      fail(*w, fmt::format("expected a router's number, got '{}'", w->text));
      return kNone;
    }
    if (*id >= graph_.routers()) {
      fail(*w, fmt::format("there is no router r{}: there are r0 to r{}", *id, graph_.routers() - 1));
      return kNone;
    }
    return *id;
  }

  void read_action(FaultEvent& event) {
    const Word* w = take(join(verbs(), ", "));
    if (!w) return;
    if (w->text == "cut") return read_cut(event);
    if (w->text == "restore") return read_restore(event);
    if (w->text == "kill") return read_kill(event);
    if (w->text == "lane") return read_lane(event);
    if (w->text == "flip") return read_flip(event);
    if (w->text == "stall") return read_stall(event);
    fail(*w, fmt::format("expected one of {}, got '{}'{}", join(verbs(), ", "), w->text,
                         did_you_mean(w->text, verbs())));
  }

  /// Neither end of a cable is on a router that is dead by then.
  bool routers_live(PortId port) {
    for (PortId p : {port, graph_.peer(port)})
      if (dead_[graph_.port_router(p)]) {
        fail(last(), fmt::format("router r{} at that cable was killed before", graph_.port_router(p)));
        return false;
      }
    return true;
  }

  void read_cut(FaultEvent& event) {
    event.kind = FaultEvent::Kind::Cut;
    event.port = read_port();
    if (failed() || !routers_live(event.port)) return;
    if (cut_[graph_.port_cable(event.port)]) return fail(last(), "that cable is cut already");
    cut_[graph_.port_cable(event.port)] = true;
  }

  void read_restore(FaultEvent& event) {
    if (take_if("router")) {
      event.kind = FaultEvent::Kind::RestoreRouter;
      event.router = read_router();
      if (failed()) return;
      if (!dead_[event.router]) return fail(last(), fmt::format("router r{} is up already", event.router));
      dead_[event.router] = false;
      return;
    }
    event.kind = FaultEvent::Kind::Restore;
    event.port = read_port();
    if (failed()) return;
    if (!cut_[graph_.port_cable(event.port)])
      return fail(last(), "that cable is up already: nothing to restore");
    cut_[graph_.port_cable(event.port)] = false;
  }

  void read_kill(FaultEvent& event) {
    event.kind = FaultEvent::Kind::KillRouter;
    keyword("router");
    event.router = read_router();
    if (failed()) return;
    if (dead_[event.router]) return fail(last(), fmt::format("router r{} is dead already", event.router));
    dead_[event.router] = true;
  }

  void read_lane(FaultEvent& event) {
    event.kind = FaultEvent::Kind::Lane;
    event.port = read_port();
    event.lane = count("a lane's number");
    if (failed()) return;
    const topology::CableType& type = graph_.cable_type(graph_.port_cable(event.port));
    if (event.lane >= type.lanes)
      return fail(last(), fmt::format("there is no lane {}: cables of type '{}' have lanes 0 to {}",
                                      event.lane, type.name, type.lanes - 1));
    const Word* w = take("stuck, heal or a rate");
    if (!w) return;
    const std::vector<std::string> names{"stuck", "heal"};
    const FaultEvent::Lane faults[] = {FaultEvent::Lane::Stuck, FaultEvent::Lane::Heal};
    for (std::size_t i = 0; i < names.size(); ++i)
      if (w->text == names[i]) {
        event.lane_fault = faults[i];
        return;
      }
    std::string error;
    auto rate = parse_quantity(quantity_kind<DataRate>(), w->text, error);
    if (!rate)
      return fail(*w, fmt::format("expected {} or a rate, got '{}'{}", join(names, ", "), w->text,
                                  did_you_mean(w->text, names)));
    std::vector<DataRate> rates = lane_rates(type);
    auto at = std::find(rates.begin(), rates.end(), DataRate{*rate});
    if (at == rates.end() || at == rates.begin()) {
      std::vector<std::string> known;
      for (std::size_t i = 1; i < rates.size(); ++i) known.push_back(to_text(rates[i]));
      return fail(*w, known.empty() ? fmt::format("cables of type '{}' have no fallback_rates", type.name)
                                    : fmt::format("expected one of the fallback_rates {}, got {}",
                                                  join(known, ", "), w->text));
    }
    event.lane_fault = FaultEvent::Lane::Limited;
    event.rate = static_cast<unsigned>(at - rates.begin());
  }

  void read_flip(FaultEvent& event) {
    event.kind = FaultEvent::Kind::Flip;
    event.port = read_port();
    keyword("packet");
    event.packet = count("a packet's number");
    if (!failed() && event.packet == 0)
      return fail(last(), "packets are counted from 1: the first that is sent from then on");
    keyword("bit");
    event.bit = count("a bit's number");
  }

  void read_stall(FaultEvent& event) {
    event.kind = FaultEvent::Kind::Stall;
    event.port = read_port();
    keyword("for");
    event.duration = quantity<Time>("how long");
    if (!failed() && event.duration.value <= 0) fail(last(), "expected a time above 0");
  }

  const Graph& graph_;
  std::vector<bool> cut_, dead_;
};

}  // namespace

std::vector<FaultEvent> parse_fault_script(std::string_view text, const std::string& source,
                                           const Graph& graph, Diagnostics& problems) {
  Parser parser(source, graph, problems);
  constexpr std::size_t kEnough = 50;  // mistakes to report
  for (const Statement& statement : split_statements(text)) {
    if (problems.size() >= kEnough) break;
    parser.read(statement);
  }
  return std::move(parser.events);
}

std::vector<FaultEvent> read_faults(const std::string& given, const Graph& graph) {
  Diagnostics problems;
  const auto [text, source] = script_of(given, "--fault", "at 3us cut r12.p3");
  std::vector<FaultEvent> events = parse_fault_script(text, source, graph, problems);
  if (problems.empty() && events.empty()) problems.add({source}, "", "says nothing: it has no statement");
  problems.throw_if_any();
  return events;
}

std::vector<topology::CableId> cables_of(const std::vector<FaultEvent>& events, const Graph& graph) {
  std::vector<topology::CableId> out;
  for (const FaultEvent& event : events) {
    if (event.port != kNone) out.push_back(graph.port_cable(event.port));
    if (event.router == kNone) continue;
    for (PortId p = graph.port_begin(event.router); p < graph.port_begin(event.router + 1); ++p)
      if (graph.peer(p) != kNone) out.push_back(graph.port_cable(p));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace weft::network::link
