// The adversary of dragonflies: everybody in a group sends to the next group, so that all of them want the
// few cables between the two. On other machines a group is a run of consecutive endpoints.
#include "topology/dragonfly_shape.hpp"
#include "workload/pattern.hpp"

namespace weft::workload {

namespace {

struct Parameters {
  std::uint32_t group = 0;
};

class GroupShift final : public Pattern {
 public:
  GroupShift(const Members& members, std::uint32_t size, std::uint64_t seed)
      : seed_(stream_seed(seed, Stream::Destination)) {
    // Groups that lost all their endpoints are left out; members are in the order of their endpoints.
    std::uint32_t last = topology::kNone;
    for (Member m = 0; m < members.count(); ++m) {
      std::uint32_t group = members.endpoint[m] / size;
      if (group != last) begin_.push_back(m);
      last = group;
      group_.push_back(static_cast<std::uint32_t>(begin_.size() - 1));
    }
    begin_.push_back(members.count());
  }

  std::uint32_t groups() const { return static_cast<std::uint32_t>(begin_.size() - 1); }

  Member destination(Member source, std::uint64_t packet) const override {
    std::uint32_t next = group_[source] + 1 == groups() ? 0 : group_[source] + 1;
    return begin_[next] + random_below(seed_, source, packet, begin_[next + 1] - begin_[next]);
  }

 private:
  std::uint64_t seed_;
  std::vector<Member> begin_;         // first member of each group
  std::vector<std::uint32_t> group_;  // by member
};

std::unique_ptr<Pattern> make(const Parameters& p, const PatternContext& context) {
  const topology::Graph& graph = *context.members.graph;
  std::uint32_t size = p.group;
  if (size == 0) {
    const auto* dragonfly = graph.shape_as<topology::DragonflyShape>();
    if (!dragonfly)
      throw UserError(
          "pattern.group: only a dragonfly has groups of its own; expected how many endpoints a "
          "group has (--pattern-set group=16)");
    size = dragonfly->group_routers * dragonfly->endpoints_per_router;
  }
  auto out = std::make_unique<GroupShift>(context.members, size, context.seed);
  if (out->groups() < 2)
    throw UserError(fmt::format("pattern.group: groups of {} leave one group; expected fewer than the {}",
                                count_of(size, "endpoint"), count_of(graph.endpoints(), "endpoint")));
  return out;
}

WEFT_REGISTER(
    PatternKind,
    pattern_kind<Parameters>(
        "group-shift",
        "each packet to a random endpoint of the next group, which takes the few cables between "
        "two groups of a dragonfly",
        config::Schema<Parameters>()
            .field(&Parameters::group, "group",
                   "Endpoints of a group, numbered one after the other; 0: the dragonfly's own groups",
                   config::Range<std::uint32_t>{0, 1u << 24})
            .section(),
        make));

}  // namespace

}  // namespace weft::workload
