#include "routing/reroute.hpp"

#include "config/node.hpp"

namespace weft::routing {

namespace {

bool proved(Rerouted& candidate, const VerifyOptions& how) {
  if (candidate.routing->classes() > how.channels) return false;  // no channels for its classes
  candidate.verdict = verify(*candidate.routing, how);
  return candidate.verdict.serves_what_is_left();
}

/// Fault-avoiding over another routing, or nothing where that routing cannot be its base.
std::unique_ptr<Routing> avoiding(const RoutingKind& base, const Graph& graph,
                                  const topology::Faults& faults) {
  const RoutingKind* kind = Routings::find("fault-avoiding");
  WEFT_CHECK(kind != nullptr);
  auto parameters = kind->section.make();
  Diagnostics problems;
  std::vector<config::Setting> settings;
  config::Reader reader{problems, settings};
  config::Node node = config::parse_toml("base = " + config::quote(base.name), "", problems);
  kind->section.read(parameters.get(), &node, "routing", reader);
  WEFT_CHECK(problems.empty());
  if (!kind->refusal(parameters.get(), graph).empty()) return nullptr;
  return kind->make(parameters.get(), graph, faults);
}

}  // namespace

Rerouted reroute(const RoutingKind& kind, const void* parameters, const Graph& graph,
                 const topology::Faults& faults, const VerifyOptions& how) {
  Rerouted own{kind.make(parameters, graph, faults), kind.name, {}, false, 0};
  if (proved(own, how)) {
    own.own_serves = true;
    return own;
  }
  std::uint64_t broken = own.verdict.broken_pairs - own.verdict.cut_off_pairs;
  Rerouted around{avoiding(kind, graph, faults), "fault-avoiding over " + kind.name, {}, false, broken};
  if (around.routing && proved(around, how)) return around;
  const RoutingKind* tree = Routings::find("up-down");
  WEFT_CHECK(tree != nullptr);
  Rerouted last{tree->make(tree->section.make().get(), graph, faults), tree->name, {}, false, broken};
  last.verdict = verify(*last.routing, how);
  return last;
}

}  // namespace weft::routing
