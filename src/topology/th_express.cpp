// The tree of TH Express-2, the network of Tianhe-2, cable by cable (F54, F55, F56, F71, F72, F73).
//
// A frame's switch board holds three lower and three upper routers. Each optical uplink of a frame belongs to
// a plane: a group of frames has one leaf router for every plane, and a plane has its own root switches, each
// a small fat tree of up to four lower and two upper routers. Parts that a smaller machine does not need are
// left out: a single frame has no leafs, a single group no roots, up to twelve groups no upper routers in the
// roots.
#include "topology/kind.hpp"
#include "topology/tree_shape.hpp"

namespace weft::topology {

namespace {

struct ThExpressParameters {
  unsigned frame_nodes = 32;
  unsigned group_frames = 12;
  unsigned groups = 48;
  unsigned planes = 32;
  unsigned leaf_ports = 24;
  unsigned leaf_up = 12;
  config::CableName frame_cable, leaf_cable, root_cable, root_inner_cable;
};

constexpr unsigned kFrameLowers = 3, kFrameUppers = 3, kFrameParallel = 4;
constexpr unsigned kFrameDown = kFrameLowers * kFrameParallel;  // ports of an upper router to the lower ones
constexpr unsigned kFrameUp = kFrameUppers * kFrameParallel;    // ports of a lower router to the upper ones
constexpr unsigned kRootDown = 12, kRootLowers = 4, kRootUppers = 2, kRootParallel = 6;
constexpr unsigned kMaxFrameNodes = 36, kMaxPlanes = 36, kMaxLeafPorts = 48,
                   kMaxGroups = kRootLowers * kRootDown;
static_assert(kMaxFrameNodes * (kMaxLeafPorts / 2) * kMaxGroups <= 1u << 20, "node numbers have 20 bits");

/// Routers are numbered rank by rank: frame lowers, frame uppers, leafs, root lowers, root uppers.
class ThExpressShape : public TreeShape {
 public:
  explicit ThExpressShape(const ThExpressParameters& p)
      : planes(p.planes),
        frames(p.groups * p.group_frames),
        leafs(frames > 1 ? p.groups * planes : 0),
        roots_per_plane(p.groups > 1 ? p.leaf_up : 0),
        root_lowers((p.groups + kRootDown - 1) / kRootDown),
        root_uppers(root_lowers > 1 ? kRootUppers : 0) {
    first_upper = frames * kFrameLowers;
    first_leaf = first_upper + frames * kFrameUppers;
    first_root_lower = first_leaf + leafs;
    first_root_upper = first_root_lower + planes * roots_per_plane * root_lowers;
    routers = first_root_upper + planes * roots_per_plane * root_uppers;
    levels = root_uppers ? 5 : roots_per_plane ? 4 : leafs ? 3 : 2;
  }

  RouterId frame_lower(unsigned frame, unsigned i) const { return frame * kFrameLowers + i; }
  RouterId frame_upper(unsigned frame, unsigned i) const { return first_upper + frame * kFrameUppers + i; }
  RouterId leaf(unsigned group, unsigned plane) const { return first_leaf + group * planes + plane; }
  RouterId root_lower(unsigned plane, unsigned root, unsigned i) const {
    return first_root_lower + (plane * roots_per_plane + root) * root_lowers + i;
  }
  RouterId root_upper(unsigned plane, unsigned root, unsigned i) const {
    return first_root_upper + (plane * roots_per_plane + root) * root_uppers + i;
  }

  std::string router_label(RouterId r) const override {
    if (r < first_upper) return fmt::format("(frame {} lower {})", r / kFrameLowers, r % kFrameLowers);
    if (r < first_leaf) {
      RouterId i = r - first_upper;
      return fmt::format("(frame {} upper {})", i / kFrameUppers, i % kFrameUppers);
    }
    if (r < first_root_lower)
      return fmt::format("(group {} leaf of plane {})", (r - first_leaf) / planes, (r - first_leaf) % planes);
    bool lower = r < first_root_upper;
    unsigned i = r - (lower ? first_root_lower : first_root_upper),
             inside = lower ? root_lowers : root_uppers;
    unsigned root = i / inside;
    return fmt::format("(plane {} root {} {} {})", root / roots_per_plane, root % roots_per_plane,
                       lower ? "lower" : "upper", i % inside);
  }

  unsigned planes, frames, leafs, roots_per_plane, root_lowers, root_uppers;
  RouterId first_upper, first_leaf, first_root_lower, first_root_upper, routers;
};

// The optical uplinks of a frame, one to each plane, dealt out to its upper routers: plane i is port i / 3 of
// upper router i % 3.
unsigned planes_on_upper(const ThExpressParameters& p, const ThExpressShape& shape, unsigned upper) {
  return shape.leafs ? (p.planes + kFrameUppers - 1 - upper) / kFrameUppers : 0;
}

unsigned nodes_per_lower(const ThExpressParameters& p) {
  return (p.frame_nodes + kFrameLowers - 1) / kFrameLowers;
}

Size th_express_size(const ThExpressParameters& p) {
  ThExpressShape shape(p);
  double endpoints = 1.0 * shape.frames * p.frame_nodes;
  double roots = 1.0 * p.planes * shape.roots_per_plane;
  double cables = 1.0 * shape.frames * kFrameLowers * kFrameUp + 1.0 * shape.leafs * p.group_frames +
                  roots * p.groups + roots * shape.root_lowers * shape.root_uppers * kRootParallel;
  return {static_cast<double>(shape.routers), endpoints, endpoints + 2 * cables};
}

class ThExpressBuilder {
 public:
  ThExpressBuilder(const ThExpressParameters& p, const BuildContext& context)
      : p_(p), shape_(std::make_shared<ThExpressShape>(p)), builder_(context.cable_types) {
    Size size = th_express_size(p);
    builder_.reserve(static_cast<std::uint64_t>(size.routers), static_cast<std::uint64_t>(size.ports),
                     static_cast<std::uint64_t>(size.ports - size.endpoints) / 2,
                     static_cast<std::uint64_t>(size.endpoints));
    unsigned upper_ports = planes_on_upper(p, *shape_, 0);
    // What counts is how many routers the ports below lead to: cables side by side lead to the same one.
    shape_->spread = {1, 1, kFrameUppers, kFrameUppers * upper_ports, kFrameUppers * upper_ports * p.leaf_up};
    shape_->spread.push_back(shape_->spread.back() * kRootUppers * kRootParallel);
    shape_->spread.resize(shape_->levels + 1);
  }

  Graph build() {
    add_frames();
    if (shape_->leafs) add_leafs();
    if (shape_->roots_per_plane) add_roots();
    WEFT_CHECK(shape_->nodes.size() == shape_->routers);
    connect_frames();
    if (shape_->leafs) connect_leafs();
    if (shape_->roots_per_plane) connect_roots();
    builder_.shape(shape_);
    return std::move(builder_).finish();
  }

 private:
  // Adds a router over the endpoints [begin, end): ports down to each child, then ports up.
  RouterId add(unsigned level, const char* rank, unsigned begin, unsigned end, unsigned child_span,
               unsigned children, unsigned parallel, unsigned up) {
    unsigned down = children * parallel;
    shape_->nodes.push_back({begin, end, child_span, 0, static_cast<PortIndex>(parallel),
                             static_cast<PortIndex>(down), static_cast<PortIndex>(up),
                             static_cast<std::uint8_t>(level)});
    return builder_.router(down + up, builder_.tier(rank));
  }

  void add_frames() {
    for (unsigned frame = 0; frame < shape_->frames; ++frame)
      for (unsigned i = 0; i < kFrameLowers; ++i) {
        unsigned begin = std::min(i * nodes_per_lower(p_), p_.frame_nodes);
        unsigned nodes = std::min(nodes_per_lower(p_), p_.frame_nodes - begin);
        begin += frame * p_.frame_nodes;
        RouterId r = add(1, "frame lower", begin, begin + nodes, 1, nodes, 1, kFrameUp);
        for (unsigned node = 0; node < nodes; ++node) builder_.endpoint(r, static_cast<PortIndex>(node));
      }
    for (unsigned frame = 0; frame < shape_->frames; ++frame)
      for (unsigned i = 0; i < kFrameUppers; ++i)
        add(2, "frame upper", frame * p_.frame_nodes, (frame + 1) * p_.frame_nodes, nodes_per_lower(p_),
            kFrameLowers, kFrameParallel, planes_on_upper(p_, *shape_, i));
  }

  void add_leafs() {
    unsigned up = shape_->roots_per_plane;
    for (unsigned group = 0; group < p_.groups; ++group)
      for (unsigned plane = 0; plane < p_.planes; ++plane)
        add(3, "leaf", group * group_nodes(), (group + 1) * group_nodes(), p_.frame_nodes, p_.group_frames, 1,
            up);
  }

  void add_roots() {
    unsigned all = p_.groups * group_nodes(), switches = p_.planes * shape_->roots_per_plane;
    for (unsigned root = 0; root < switches; ++root)
      for (unsigned i = 0; i < shape_->root_lowers; ++i) {
        unsigned first = i * kRootDown, groups = std::min(kRootDown, p_.groups - first);
        add(4, "root lower", first * group_nodes(), (first + groups) * group_nodes(), group_nodes(), groups,
            1, shape_->root_uppers * kRootParallel);
      }
    for (unsigned root = 0; root < switches; ++root)
      for (unsigned i = 0; i < shape_->root_uppers; ++i)
        add(5, "root upper", 0, all, kRootDown * group_nodes(), shape_->root_lowers, kRootParallel, 0);
  }

  // The cable from port `up` of a router to place `down` among the children of the one above it.
  void connect(RouterId below, unsigned up, RouterId above, unsigned down, std::uint8_t type) {
    builder_.connect(below, static_cast<PortIndex>(shape_->nodes[below].first_up + up), above,
                     static_cast<PortIndex>(down), type);
  }

  void connect_frames() {
    std::uint8_t type = builder_.cable_type(p_.frame_cable);
    for (unsigned frame = 0; frame < shape_->frames; ++frame)
      for (unsigned lower = 0; lower < kFrameLowers; ++lower)
        for (unsigned up = 0; up < kFrameUp; ++up)
          // Dealt out in turn, so that neighbouring destinations leave by different upper routers.
          connect(shape_->frame_lower(frame, lower), up, shape_->frame_upper(frame, up % kFrameUppers),
                  lower * kFrameParallel + up / kFrameUppers, type);
  }

  void connect_leafs() {
    std::uint8_t type = builder_.cable_type(p_.leaf_cable);
    for (unsigned frame = 0; frame < shape_->frames; ++frame)
      for (unsigned plane = 0; plane < p_.planes; ++plane)
        connect(shape_->frame_upper(frame, plane % kFrameUppers), plane / kFrameUppers,
                shape_->leaf(frame / p_.group_frames, plane), frame % p_.group_frames, type);
  }

  void connect_roots() {
    std::uint8_t type = builder_.cable_type(p_.root_cable),
                 inner_type = builder_.cable_type(p_.root_inner_cable);
    for (unsigned plane = 0; plane < p_.planes; ++plane)
      for (unsigned root = 0; root < shape_->roots_per_plane; ++root) {
        for (unsigned group = 0; group < p_.groups; ++group)
          connect(shape_->leaf(group, plane), root, shape_->root_lower(plane, root, group / kRootDown),
                  group % kRootDown, type);
        for (unsigned lower = 0; lower < shape_->root_lowers; ++lower)
          for (unsigned up = 0; up < shape_->root_uppers * kRootParallel; ++up)
            connect(shape_->root_lower(plane, root, lower), up,
                    shape_->root_upper(plane, root, up % kRootUppers),
                    lower * kRootParallel + up / kRootUppers, inner_type);
      }
  }

  unsigned group_nodes() const { return p_.group_frames * p_.frame_nodes; }

  const ThExpressParameters& p_;
  std::shared_ptr<ThExpressShape> shape_;
  GraphBuilder builder_;
};

Graph build_th_express(const ThExpressParameters& p, const BuildContext& context) {
  return ThExpressBuilder(p, context).build();
}

void check_th_express(const ThExpressParameters& p, const config::Complain& complain) {
  if (p.leaf_ports != 24 && p.leaf_ports != 48)
    complain("leaf_ports", fmt::format("expected 24 or 48, got {}", p.leaf_ports));
  auto fits_half = [&](std::string_view key, unsigned value) {
    if (value > p.leaf_ports / 2)
      complain(key, fmt::format("{} is more than the {} ports a leaf router of {} has on each side", value,
                                p.leaf_ports / 2, p.leaf_ports));
  };
  fits_half("group_frames", p.group_frames);
  fits_half("leaf_up", p.leaf_up);
}

using config::Range;
using P = ThExpressParameters;

WEFT_REGISTER(
    TopologyKind,
    topology_kind<P>(
        "th-express",
        "the tree of TH Express-2 (Tianhe-2): frames, leaf switches and root switches of 24-port routers",
        config::Schema<P>()
            .field(&P::frame_nodes, "frame_nodes", "Nodes in a frame, spread over its three lower routers",
                   Range<unsigned>{1, kMaxFrameNodes})
            .field(&P::group_frames, "group_frames", "Frames that share their leaf switches",
                   Range<unsigned>{1, kMaxLeafPorts / 2})
            .field(&P::groups, "groups", "Groups of frames", Range<unsigned>{1, kMaxGroups})
            .field(&P::planes, "planes",
                   "Optical uplinks of a frame, each to a plane of leaf and root switches of its own; fewer "
                   "than "
                   "frame_nodes make the tree thinner toward its top",
                   Range<unsigned>{kFrameUppers, kMaxPlanes})
            .field(&P::leaf_ports, "leaf_ports", "Ports of a leaf router, half of them down: 24 or 48")
            .field(&P::leaf_up, "leaf_up",
                   "Uplinks of a leaf router, each to another root switch of its plane",
                   Range<unsigned>{1, kMaxLeafPorts / 2})
            .field(&P::frame_cable, "frame_cable", "Cable type between the routers of a frame")
            .field(&P::leaf_cable, "leaf_cable", "Cable type from frames to leaf switches")
            .field(&P::root_cable, "root_cable", "Cable type from leaf to root switches")
            .field(&P::root_inner_cable, "root_inner_cable",
                   "Cable type between the routers of a root switch")
            .check(check_th_express)
            .section(),
        th_express_size, build_th_express,
        {{"frame_nodes=7", "group_frames=1", "groups=1"},
         {"frame_nodes=6", "group_frames=3", "groups=1", "planes=4"},
         {"frame_nodes=4", "group_frames=2", "groups=3", "planes=3", "leaf_up=2"},
         {"frame_nodes=3", "group_frames=1", "groups=13", "planes=3", "leaf_up=1"}}));

}  // namespace

}  // namespace weft::topology
