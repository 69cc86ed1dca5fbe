// A routing made for a whole machine, kept on a broken one: pairs whose routes are intact use it unchanged,
// the others go around by up*/down* on a channel class of their own (F65). A packet stays on the class it
// starts on, so neither part can wait for the other.
#include <algorithm>

#include "base/diagnostics.hpp"
#include "routing/kind.hpp"
#include "routing/states.hpp"
#include "routing/up_down.hpp"

namespace weft::routing {

namespace {

struct Parameters {
  std::string base = "dimension-order";
};

class FaultAvoiding final : public Routing {
 public:
  FaultAvoiding(std::unique_ptr<Routing> base, const Graph& graph, const topology::Faults& faults)
      : Routing(graph, faults),
        base_(std::move(base)),
        detour_(graph, faults, kNone, false),
        detour_class_(static_cast<ChannelClass>(base_->classes())),
        destinations_(graph) {
    find_intact_pairs();
  }

  void candidates(const Hop& hop, Candidates& out) const override {
    bool injected = hop.in_port == kInjected;
    bool on_detour = injected ? !intact(hop.router, hop.target) : hop.in_class == detour_class_;
    if (!on_detour) return base_->candidates(hop, out);
    out.clear();
    bool descending = !injected && detour_.came_down(hop.router, hop.in_port);
    detour_.offer(hop.router, descending, hop.target, detour_class_, out);
  }

  unsigned classes() const override { return detour_class_ + 1u; }
  bool uses_input() const override { return true; }
  std::uint32_t destination_key(EndpointId e) const override { return base_->destination_key(e); }
  std::uint32_t max_hops() const override { return std::max(longest_base_, detour_.max_hops()); }
  bool keeps_order() const override { return base_->keeps_order(); }
  bool claims_deadlock_free() const override { return base_->claims_deadlock_free(); }
  std::vector<TableUse> tables() const override { return base_->tables(); }
  std::uint64_t bytes() const override { return base_->bytes() + detour_.bytes() + intact_.size() / 8; }

 private:
  std::size_t cell(RouterId from, EndpointId to) const {
    return std::size_t{destinations_.index[graph_.endpoint_router(to)]} * graph_.routers() + from;
  }
  bool intact(RouterId from, EndpointId to) const { return intact_[cell(from, to)]; }

  // A pair is intact when no route the base routing may take, for any endpoint of the destination, meets a
  // fault.
  void find_intact_pairs() {
    intact_.assign(destinations_.routers.size() * graph_.routers(), true);
    StateExplorer explorer(*base_);
    std::vector<RouterId> sources;
    for (RouterId r = 0; r < graph_.routers(); ++r)
      if (graph_.endpoint_count(r) > 0) sources.push_back(r);
    std::vector<bool> broken;
    for (RouterId to : destinations_.routers)
      for (EndpointId e = graph_.first_endpoint(to);
           e < graph_.first_endpoint(to) + graph_.endpoint_count(to); ++e) {
        explorer.explore(e, false, sources);
        explorer.measure();
        broken.assign(explorer.state_count(), false);
        for (std::uint32_t state : explorer.settled()) {
          bool bad = false;
          for (auto* edge = explorer.edges_begin(state); edge != explorer.edges_end(state); ++edge)
            bad |= !faults_.usable(graph_, edge->out_port) ||
                   (edge->next != StateExplorer::kArrived && broken[edge->next]);
          broken[state] = bad;
        }
        for (RouterId r : sources) {
          if (r == to) continue;
          if (broken[explorer.injected(r)]) intact_[cell(r, e)] = false;
          if (explorer.longest(r) < StateExplorer::kStuck)
            longest_base_ = std::max(longest_base_, explorer.longest(r));
        }
      }
  }

  std::unique_ptr<Routing> base_;
  UpDown detour_;
  ChannelClass detour_class_;
  DestinationRouters destinations_;
  std::uint32_t longest_base_ = 0;
  std::vector<bool> intact_;  // [destination][router]
};

// The base routing sees a whole machine: it must offer the ports it would take, dead or not.
const topology::Faults& no_faults() {
  static const topology::Faults none;
  return none;
}

const RoutingKind* base_kind(const Parameters& p) {
  return p.base == "fault-avoiding" ? nullptr : Routings::find(p.base);
}

std::unique_ptr<Routing> make_base(const Parameters& p, const Graph& graph) {
  const RoutingKind* kind = base_kind(p);
  return kind->make(kind->section.make().get(), graph, no_faults());
}

std::string refusal(const Parameters& p, const Graph& graph) {
  const RoutingKind* kind = base_kind(p);
  if (!kind)
    return fmt::format("routing.base: there is no routing '{}'{}", p.base,
                       did_you_mean(p.base, Routings::names()));
  if (std::string why = kind->refusal(kind->section.make().get(), graph); !why.empty()) return why;
  auto base = make_base(p, graph);
  if (base->via_count() || base->has_escape())
    return fmt::format(
        "routing.base: '{}' has intermediate places or escape channels; expected a direct routing", p.base);
  return "";
}

std::unique_ptr<Routing> make(const Parameters& p, const Graph& graph, const topology::Faults& faults) {
  return std::make_unique<FaultAvoiding>(make_base(p, graph), graph, faults);
}

WEFT_REGISTER(
    RoutingKind,
    routing_kind<Parameters>(
        "fault-avoiding",
        "another routing wherever it is intact, and around dead cables and routers by up*/down* elsewhere",
        config::Schema<Parameters>()
            .field(&Parameters::base, "base", "The routing of the whole machine, with its default parameters")
            .section(),
        refusal, make, {{"base=up-down"}, {"base=fat-tree"}, {"base=dragonfly"}}));

}  // namespace

}  // namespace weft::routing
