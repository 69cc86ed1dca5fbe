// The routing tables of TH Express-2: three levels, each of a few items, each item of up to four outputs
// (F43, F46, F47, F48). A destination is looked up by its node in the own cabinet, by its cabinet in the own
// group, and by its group elsewhere. Items are filled as a fabric manager does: every router turns the choice
// by its own number, so that sources differ and the few destinations a router tells apart spread over all
// cables.
#include <algorithm>
#include <numeric>

#include "routing/fat_tree.hpp"
#include "routing/kind.hpp"

namespace weft::routing {

namespace {

using topology::TreeShape;

struct Parameters {
  unsigned candidates = 4;
  unsigned cabinet_level = 2, group_level = 3;
  unsigned cabinet_items = 64, group_items = 64, system_items = 64;
};

struct Item {
  static constexpr unsigned kMaxOutputs = 4;
  std::array<PortIndex, kMaxOutputs> ports;
  std::uint8_t count = 0;
};

class LevelTables final : public Routing {
 public:
  LevelTables(const Parameters& p, const Graph& graph, const topology::Faults& faults)
      : Routing(graph, faults), parameters_(p), tree_(*graph.shape_as<TreeShape>()) {
    cabinet_nodes_ = span_of_level(p.cabinet_level);
    group_nodes_ = span_of_level(p.group_level);
    cabinets_ = (group_nodes_ + cabinet_nodes_ - 1) / cabinet_nodes_;
    groups_ = (graph.endpoints() + group_nodes_ - 1) / group_nodes_;
    items_per_router_ = cabinet_nodes_ + cabinets_ + groups_;
    items_.resize(std::uint64_t{graph.routers()} * items_per_router_);
    FatTree tree(graph, faults, p.candidates, false);
    for (RouterId r = 0; r < graph.routers(); ++r) fill(r, tree);
    find_key_period();
  }

  void candidates(const Hop& hop, Candidates& out) const override {
    out.clear();
    const Item& item = items_[hop.router * items_per_router_ + index(hop.router, hop.target)];
    for (unsigned i = 0; i < item.count; ++i)
      if (faults_.usable(graph_, graph_.port(hop.router, item.ports[i]))) out.add(item.ports[i], 0);
  }

  unsigned classes() const override { return 1; }
  bool uses_input() const override { return false; }
  // Within a cabinet, nodes are told apart; how many starts there are tells which of them leave by the same
  // port.
  std::uint32_t destination_key(EndpointId e) const override { return e % key_period_; }
  bool keeps_order() const override { return parameters_.candidates == 1; }
  std::uint64_t bytes() const override { return items_.size() * sizeof(Item); }

  std::vector<TableUse> tables() const override {
    return {{"cabinet", cabinet_nodes_, parameters_.cabinet_items},
            {"group", cabinets_, parameters_.group_items},
            {"system", groups_, parameters_.system_items}};
  }

 private:
  std::uint32_t span_of_level(unsigned level) const {
    std::uint32_t span = 0;
    for (const TreeShape::Node& node : tree_.nodes)
      if (node.level <= level) span = std::max(span, node.below_end - node.below_begin);
    return span;
  }

  // The item for `to` at router `r`: the finest level at which both are in the same place.
  std::uint32_t index(RouterId r, EndpointId to) const {
    const TreeShape::Node& node = tree_.nodes[r];
    bool in_cabinet = node.below_end - node.below_begin <= cabinet_nodes_;
    if (in_cabinet && node.below_begin / cabinet_nodes_ == to / cabinet_nodes_) return to % cabinet_nodes_;
    bool in_group = node.below_end - node.below_begin <= group_nodes_;
    if (in_group && node.below_begin / group_nodes_ == to / group_nodes_)
      return cabinet_nodes_ + to % group_nodes_ / cabinet_nodes_;
    return cabinet_nodes_ + cabinets_ + to / group_nodes_;
  }

  void fill(RouterId r, const FatTree& tree) {
    // One endpoint of every node, cabinet and group stands for all that share its item, under their number.
    auto set = [&](EndpointId representative, std::uint64_t number) {
      Item& item = items_[r * items_per_router_ + index(r, representative)];
      if (item.count > 0 || graph_.endpoint_router(representative) == r) return;
      FatTree::PortChoice choice = tree.choice(r, representative, number);
      for (std::uint32_t i = 0; i < choice.offered && item.count < Item::kMaxOutputs; ++i)
        if (faults_.usable(graph_, graph_.port(r, choice.port(i)))) item.ports[item.count++] = choice.port(i);
    };
    const TreeShape::Node& node = tree_.nodes[r];
    EndpointId all = graph_.endpoints();
    EndpointId cabinet = node.below_begin / cabinet_nodes_ * cabinet_nodes_;
    for (EndpointId e = cabinet; e < std::min(all, cabinet + cabinet_nodes_); ++e) set(e, e);
    EndpointId group = node.below_begin / group_nodes_ * group_nodes_;
    for (EndpointId e = group; e < std::min(all, group + group_nodes_); e += cabinet_nodes_)
      set(e, e / cabinet_nodes_);
    for (EndpointId e = 0; e < all; e += group_nodes_) set(e, e / group_nodes_);
  }

  // Nodes of a cabinet whose numbers differ by this much start from the same output everywhere.
  void find_key_period() {
    std::uint64_t period = 1;
    auto starts = [&](std::uint32_t count) {
      if (count > 0)
        period = std::lcm(period, count / std::gcd(count, std::min(count, parameters_.candidates)));
      period = std::min<std::uint64_t>(period, kNone);
    };
    for (const TreeShape::Node& node : tree_.nodes) {
      std::uint32_t below = node.below_end - node.below_begin;
      if (below < cabinet_nodes_) starts(node.up_count);
      if (below <= cabinet_nodes_ && node.level > 1) starts(node.down_parallel);
    }
    key_period_ = static_cast<std::uint32_t>(period);
  }

  Parameters parameters_;
  const TreeShape& tree_;
  std::uint32_t cabinet_nodes_ = 0, group_nodes_ = 0, cabinets_ = 0, groups_ = 0;
  std::uint32_t key_period_ = 1;
  std::uint64_t items_per_router_ = 0;
  std::vector<Item> items_;
};

std::string refusal(const Parameters&, const Graph& graph) {
  return graph.shape_as<TreeShape>() ? "" : "level-tables routing needs a tree: th-express or fat-tree";
}

std::unique_ptr<Routing> make(const Parameters& p, const Graph& graph, const topology::Faults& faults) {
  return std::make_unique<LevelTables>(p, graph, faults);
}

WEFT_REGISTER(
    RoutingKind,
    routing_kind<Parameters>(
        "level-tables",
        "tables in three levels (cabinet, group, system), each item with up to four outputs to choose among",
        config::Schema<Parameters>()
            .field(&Parameters::candidates, "candidates",
                   "Active outputs of an item: 1 is oblivious, up to 4 adaptive",
                   config::Range<unsigned>{1, Item::kMaxOutputs})
            .field(&Parameters::cabinet_level, "cabinet_level", "Tree level whose routers cover one cabinet",
                   config::Range<unsigned>{1, 16})
            .field(&Parameters::group_level, "group_level", "Tree level whose routers cover one group",
                   config::Range<unsigned>{1, 16})
            .field(&Parameters::cabinet_items, "cabinet_items",
                   "Items the router holds for nodes of its own cabinet",
                   config::Range<unsigned>{1, 1u << 20})
            .field(&Parameters::group_items, "group_items",
                   "Items the router holds for cabinets of its own group",
                   config::Range<unsigned>{1, 1u << 20})
            .field(&Parameters::system_items, "system_items", "Items the router holds for other groups",
                   config::Range<unsigned>{1, 1u << 20})
            .check([](const Parameters& p, const config::Complain& complain) {
              if (p.group_level < p.cabinet_level)
                complain("group_level",
                         fmt::format("a group is made of cabinets: expected at least {}", p.cabinet_level));
            })
            .section(),
        refusal, make, {{"candidates=1"}, {"cabinet_level=1", "group_level=2"}}));

}  // namespace

}  // namespace weft::routing
