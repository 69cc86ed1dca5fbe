// Fat trees: the extended generalized fat tree XGFT(h; m1..mh; w1..wh) of Ohring, Ibel, Das and Kumar (1995),
// with parallel cables between two routers as a further degree of freedom (as in PGFTs). F57, F59.
//
// A router of level l is known by the subtree it stands over (the endpoints it covers) and by its copy: how
// many routers cover the same endpoints. Copy t of level l is a parent of copy t / w(l) of each subtree below
// it.
#include "topology/kind.hpp"
#include "topology/tree_shape.hpp"

namespace weft::topology {

namespace {

struct FatTreeParameters {
  std::vector<std::uint32_t> children{8, 8, 8};
  std::vector<std::uint32_t> parents{1, 8, 8};
  std::vector<std::uint32_t> parallel;
  std::vector<config::CableName> cables;
};

constexpr std::size_t kMaxLevels = 16;
constexpr double kMaxRouterPorts = 65'000;

unsigned levels(const FatTreeParameters& p) { return static_cast<unsigned>(p.children.size()); }

// Cables from a router of this level to each of its children; level 1 has endpoints below.
std::uint32_t parallel_below(const FatTreeParameters& p, unsigned level) {
  return p.parallel.empty() ? 1 : p.parallel[level - 1];
}

double down_ports(const FatTreeParameters& p, unsigned level) {
  return 1.0 * p.children[level - 1] * parallel_below(p, level);
}

double up_ports(const FatTreeParameters& p, unsigned level) {
  return level == levels(p) ? 0 : 1.0 * p.parents[level] * parallel_below(p, level + 1);
}

// Routers of a level: copies of each subtree, times subtrees.
double copies(const FatTreeParameters& p, unsigned level) {
  double product = 1;
  for (unsigned l = 1; l <= level; ++l) product *= p.parents[l - 1];
  return product;
}

double subtrees(const FatTreeParameters& p, unsigned level) {
  double product = 1;
  for (unsigned l = level + 1; l <= levels(p); ++l) product *= p.children[l - 1];
  return product;
}

Size fat_tree_size(const FatTreeParameters& p) {
  Size size;
  for (unsigned level = 1; level <= levels(p); ++level) {
    double routers = copies(p, level) * subtrees(p, level);
    size.routers += routers;
    size.ports += routers * (down_ports(p, level) + up_ports(p, level));
  }
  size.endpoints = subtrees(p, 0);
  return size;
}

void add_routers(const FatTreeParameters& p, GraphBuilder& builder, TreeShape& shape) {
  std::uint32_t span = 1;  // endpoints under each child
  for (unsigned level = 1; level <= levels(p); ++level) {
    TierId tier = builder.tier(fmt::format("level {}", level));
    std::uint32_t below = span * p.children[level - 1];
    auto routers = static_cast<std::uint64_t>(copies(p, level) * subtrees(p, level));
    auto same_subtree = static_cast<std::uint64_t>(copies(p, level));
    auto down = static_cast<PortIndex>(down_ports(p, level)), up = static_cast<PortIndex>(up_ports(p, level));
    for (std::uint64_t i = 0; i < routers; ++i) {
      RouterId r = builder.router(down + up, tier);
      auto begin = static_cast<EndpointId>(i / same_subtree * below);
      shape.nodes.push_back({begin, begin + below, span, 0, static_cast<PortIndex>(parallel_below(p, level)),
                             down, up, static_cast<std::uint8_t>(level)});
      for (PortIndex e = 0; level == 1 && e < down; ++e) builder.endpoint(r, e);
    }
    span = below;
  }
}

void connect_level(const FatTreeParameters& p, GraphBuilder& builder, unsigned level, RouterId first,
                   RouterId first_above) {
  std::uint32_t parents = p.parents[level], siblings = p.children[level],
                parallel = parallel_below(p, level + 1);
  auto same_subtree = static_cast<std::uint64_t>(copies(p, level));
  auto routers = static_cast<std::uint64_t>(copies(p, level) * subtrees(p, level));
  auto first_up = static_cast<std::uint32_t>(down_ports(p, level));
  std::uint8_t type = builder.cable_type(p.cables.empty() ? config::CableName{} : p.cables[level - 1]);
  for (std::uint64_t i = 0; i < routers; ++i) {
    std::uint64_t subtree = i / same_subtree, copy = i % same_subtree;
    for (std::uint32_t j = 0; j < parents; ++j) {
      std::uint64_t above = (subtree / siblings * same_subtree + copy) * parents + j;
      for (std::uint32_t k = 0; k < parallel; ++k)
        builder.connect(static_cast<RouterId>(first + i), static_cast<PortIndex>(first_up + j * parallel + k),
                        static_cast<RouterId>(first_above + above),
                        static_cast<PortIndex>(subtree % siblings * parallel + k), type);
    }
  }
}

Graph build_fat_tree(const FatTreeParameters& p, const BuildContext& context) {
  GraphBuilder builder(context.cable_types);
  Size size = fat_tree_size(p);
  builder.reserve(static_cast<std::uint64_t>(size.routers), static_cast<std::uint64_t>(size.ports),
                  static_cast<std::uint64_t>(size.ports - size.endpoints) / 2,
                  static_cast<std::uint64_t>(size.endpoints));
  auto shape = std::make_shared<TreeShape>();
  shape->levels = levels(p);
  shape->nodes.reserve(static_cast<std::size_t>(size.routers));
  shape->spread = {1, 1};
  for (unsigned level = 1; level < levels(p); ++level) {
    // Beyond every endpoint number the spread changes nothing more, and the product must not wrap round.
    double product = static_cast<double>(shape->spread.back()) * up_ports(p, level);
    shape->spread.push_back(static_cast<std::uint64_t>(std::min<double>(product, kNone)));
  }
  add_routers(p, builder, *shape);
  RouterId first = 0;
  for (unsigned level = 1; level < levels(p); ++level) {
    auto above = static_cast<RouterId>(first + copies(p, level) * subtrees(p, level));
    connect_level(p, builder, level, first, above);
    first = above;
  }
  builder.shape(std::move(shape));
  return std::move(builder).finish();
}

void check_fat_tree(const FatTreeParameters& p, const config::Complain& complain) {
  std::size_t count = p.children.size();
  if (count < 1 || count > kMaxLevels) {
    complain("children", fmt::format("expected 1 to {} levels, got {}", kMaxLevels, count));
    return;
  }
  auto expect_entries = [&](std::string_view key, std::size_t got, std::size_t expected,
                            std::string_view why) {
    if (got != expected)
      complain(key, fmt::format("has {}, expected {}: {}", count_of(got, "entry", "entries"), expected, why));
    return got == expected;
  };
  bool lengths_fit = expect_entries("parents", p.parents.size(), count, "one for each entry of children");
  if (!p.parallel.empty())
    lengths_fit &= expect_entries("parallel", p.parallel.size(), count, "one for each entry of children");
  if (!p.cables.empty())
    expect_entries("cables", p.cables.size(), count - 1, "one between every two levels of routers");
  if (!lengths_fit) return;
  if (p.parents[0] != 1)
    complain("parents", fmt::format("the first entry is {}; an endpoint attaches to 1 router", p.parents[0]));
  if (parallel_below(p, 1) != 1)
    complain("parallel", fmt::format("the first entry is {}; an endpoint has 1 cable", p.parallel[0]));
  for (unsigned level = 1; level <= count; ++level)
    if (double ports = down_ports(p, level) + up_ports(p, level); ports > kMaxRouterPorts)
      complain("children",
               fmt::format("a router of level {} would have {:.0f} ports; at most {:.0f} can be built", level,
                           ports, kMaxRouterPorts));
}

using config::Range;

WEFT_REGISTER(
    TopologyKind,
    topology_kind<FatTreeParameters>(
        "fat-tree", "extended generalized fat tree XGFT(h; m1..mh; w1..wh), with parallel cables if wanted",
        config::Schema<FatTreeParameters>()
            .field(&FatTreeParameters::children, "children",
                   "Children of a router of each level, from the endpoints up (m1..mh)",
                   Range<std::uint32_t>{1, 65'000})
            .field(&FatTreeParameters::parents, "parents",
                   "Parents of what is below each level, from the endpoints up (w1..wh); the first is 1",
                   Range<std::uint32_t>{1, 65'000})
            .field(&FatTreeParameters::parallel, "parallel",
                   "Cables from a router of each level to each of its children; empty: 1 everywhere",
                   Range<std::uint32_t>{1, 65'000})
            .field(&FatTreeParameters::cables, "cables",
                   "Cable types between router levels 1 and 2, 2 and 3, and so on; empty: default everywhere")
            .check(check_fat_tree)
            .section(),
        fat_tree_size, build_fat_tree,
        {{"children=[4,4]", "parents=[1,2]"},
         {"children=[2,3,2]", "parents=[1,2,3]"},
         {"children=[4,2]", "parents=[1,2]", "parallel=[1,2]"},
         {"children=[3,2,2]", "parents=[1,1,2]", "parallel=[1,3,1]"},
         {"children=[5]", "parents=[1]"}}));

}  // namespace

}  // namespace weft::topology
