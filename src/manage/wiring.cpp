#include "manage/wiring.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "base/input_file.hpp"
#include "base/text.hpp"

namespace weft::manage {

Plug described(const Graph& graph, const topology::Faults& faults, PortId port) {
  if (faults.router_dead(graph.port_router(port))) return {};
  if (EndpointId e = graph.port_endpoint(port); e != kNone) return {Plug::Kind::Interface, e};
  if (!faults.usable(graph, port)) return {};
  return {Plug::Kind::Router, graph.peer(port)};
}

Wiring::Wiring(const Graph& graph, const topology::Faults& faults) : graph_(graph), plugs_(graph.ports()) {
  follow(faults);
}

void Wiring::follow(const topology::Faults& faults) {
  for (PortId p = 0; p < graph_.ports(); ++p) plugs_[p] = described(graph_, faults, p);
}

/// Plugs a port's end in, and tells a router at the other end of it.
void Wiring::put(PortId port, Plug plug) {
  plugs_[port] = plug;
  if (plug.kind == Plug::Kind::Router) plugs_[plug.number] = {Plug::Kind::Router, port};
}

void Wiring::swap(PortId a, PortId b) {
  const Plug at_a = plugs_[a], at_b = plugs_[b];
  if (at_a == Plug{Plug::Kind::Router, b}) return;  // the two ends of one cable
  put(a, at_b);
  put(b, at_a);
}

void Wiring::unplug(PortId a) {
  if (plugs_[a].kind == Plug::Kind::Router) plugs_[plugs_[a].number] = {};
  plugs_[a] = {};
}

void Wiring::replace(PortId a) {
  unplug(a);
  plugs_[a] = {Plug::Kind::Unknown, 0};
}

std::string plug_name(const Graph& graph, Plug plug) {
  switch (plug.kind) {
    case Plug::Kind::Router:
      return graph.port_name(plug.number);
    case Plug::Kind::Interface:
      return fmt::format("node {}", plug.number);
    case Plug::Kind::Unknown:
      return "an unknown device";
    case Plug::Kind::Nothing:
      break;
  }
  return "nothing";
}

PortId Mistakes::port_named(const std::string& name, const std::string& where) {
  unsigned router = 0, port = 0;
  int used = 0;
  if (std::sscanf(name.c_str(), "r%u.p%u%n", &router, &port, &used) != 2 ||
      static_cast<std::size_t>(used) != name.size()) {
    wrong_.push_back(fmt::format("{}: expected a port such as r12.p3, got '{}'", where, name));
  } else if (router >= graph_.routers()) {
    wrong_.push_back(fmt::format("{}: '{}': there are routers r0 to r{}", where, name, graph_.routers() - 1));
  } else if (port >= graph_.port_count(router)) {
    wrong_.push_back(fmt::format("{}: '{}': router r{} has ports p0 to p{}", where, name, router,
                                 graph_.port_count(router) - 1));
  } else {
    return graph_.port(router, static_cast<topology::PortIndex>(port));
  }
  return kNone;
}

void Mistakes::add(const std::string& line, const std::string& where) {
  const std::size_t blank = line.find(' ');
  const std::string verb = line.substr(0, blank);
  const std::string rest = blank == std::string::npos ? "" : std::string(trim(line.substr(blank + 1)));
  const bool swap = verb == "swap";
  if (!swap && verb != "unplug" && verb != "replace") {
    const std::vector<std::string> known{"swap", "unplug", "replace"};
    wrong_.push_back(fmt::format("{}: there is no mistake '{}'{}; there are {}", where, verb,
                                 did_you_mean(verb, known), join(known, ", ")));
    return;
  }
  const std::size_t comma = rest.find(',');
  if (swap != (comma != std::string::npos)) {
    wrong_.push_back(fmt::format("{}: {} takes {}, got '{}'", where, verb,
                                 swap ? "two ports, as in r3.p0,r9.p0" : "one port, as in r3.p0", rest));
    return;
  }
  const PortId a = port_named(std::string(trim(rest.substr(0, comma))), where);
  const PortId b = swap ? port_named(std::string(trim(rest.substr(comma + 1))), where) : a;
  if (a == kNone || b == kNone) return;
  if (swap && a == b) {
    wrong_.push_back(fmt::format("{}: '{}' is one port twice", where, rest));
    return;
  }
  mistakes_.push_back({swap               ? Mistake::Kind::Swap
                       : verb == "unplug" ? Mistake::Kind::Unplug
                                          : Mistake::Kind::Replace,
                       a, b});
}

void Mistakes::add_file(const std::string& path) {
  const std::string text = read_file(path, kMostListBytes);
  std::size_t number = 0;
  for (const std::string& whole : split(text, '\n')) {
    ++number;
    const std::string line(trim(whole.substr(0, whole.find('#'))));
    if (!line.empty()) add(line, fmt::format("{}:{}", path, number));
  }
}

void Mistakes::finish() {
  if (!wrong_.empty()) throw UserError(join(wrong_, "\n"));
}

void Mistakes::make(Wiring& wiring) const {
  for (const Mistake& mistake : mistakes_) switch (mistake.kind) {
      case Mistake::Kind::Swap:
        wiring.swap(mistake.a, mistake.b);
        break;
      case Mistake::Kind::Unplug:
        wiring.unplug(mistake.a);
        break;
      case Mistake::Kind::Replace:
        wiring.replace(mistake.a);
    }
}

}  // namespace weft::manage
