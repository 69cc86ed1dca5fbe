// Patterns of whole programs: all-to-all, many to one, and the halo exchange of stencils.
#include <algorithm>
#include <numeric>

#include "workload/pattern.hpp"

namespace weft::workload {

namespace {

/// Each source cycles through all others, starting with its successor, so that at no step two want the same
/// one.
class AllToAll : public Pattern {
 public:
  explicit AllToAll(std::uint32_t members) : members_(members) {}
  Member destination(Member source, std::uint64_t packet) const override {
    return static_cast<Member>((source + 1 + packet % (members_ - 1)) % members_);
  }

 private:
  std::uint64_t members_;
};

std::unique_ptr<Pattern> make_all_to_all(const NoParameters&, const PatternContext& context) {
  return std::make_unique<AllToAll>(context.members.count());
}

struct IncastParameters {
  Member target = 0;
  std::uint32_t sources = 0;
};

std::unique_ptr<Pattern> make_incast(const IncastParameters& p, const PatternContext& context) {
  std::uint32_t members = context.members.count();
  if (p.target >= members)
    throw UserError(fmt::format("pattern.target: there is no endpoint {}; they are numbered 0 to {}",
                                p.target, members - 1));
  if (p.sources >= members)
    throw UserError(
        fmt::format("pattern.sources: {} sources and a target do not fit on {} endpoints; at most {} would",
                    p.sources, members, members - 1));
  std::vector<Member> target(members, FixedPattern::kNobody);
  for (std::uint32_t i = 0; i < (p.sources ? p.sources : members - 1); ++i)
    target[(std::uint64_t{p.target} + 1 + i) % members] = p.target;
  return std::make_unique<FixedPattern>(std::move(target));
}

struct StencilParameters {
  std::vector<std::uint32_t> dims;
};

/// Each source cycles through its neighbours in a periodic grid of processes; the first dimension counts
/// fastest.
class Stencil : public Pattern {
 public:
  explicit Stencil(std::vector<std::uint32_t> dims) {
    std::uint32_t stride = 1;
    for (std::uint32_t length : dims) {
      if (length > 1)
        steps_.push_back({length, stride});  // along a dimension of one, the neighbour is the source
      stride *= length;
    }
  }

  Member destination(Member source, std::uint64_t packet) const override {
    const auto [length, stride] = steps_[packet / 2 % steps_.size()];
    std::uint32_t at = source / stride % length;
    std::uint32_t goal = (packet % 2 == 0 ? at + 1 : at + length - 1) % length;
    return source - at * stride + goal * stride;
  }

 private:
  struct Step {
    std::uint32_t length, stride;
  };
  std::vector<Step> steps_;
};

/// The factors of `count`, as near to each other as they get, largest first.
std::vector<std::uint32_t> nearest_to_cube(std::uint32_t count, unsigned dimensions) {
  std::vector<std::uint32_t> out;
  for (unsigned left = dimensions; left > 1; --left) {
    std::uint32_t best = 1;
    for (std::uint64_t f = 1; f <= count; ++f) {
      std::uint64_t power = 1;
      for (unsigned i = 0; i < left; ++i) power *= f;
      if (power > count) break;
      if (count % f == 0) best = static_cast<std::uint32_t>(f);
    }
    out.push_back(best);
    count /= best;
  }
  out.push_back(count);
  std::sort(out.rbegin(), out.rend());
  return out;
}

template <unsigned Dimensions>
std::unique_ptr<Pattern> make_stencil(const StencilParameters& p, const PatternContext& context) {
  std::uint32_t members = context.members.count();
  if (p.dims.empty()) return std::make_unique<Stencil>(nearest_to_cube(members, Dimensions));
  std::uint64_t processes = 1;
  for (std::uint32_t length : p.dims) processes *= length;
  if (processes != members)
    throw UserError(fmt::format("pattern.dims: a grid of {} processes does not fit {} endpoints; [{}] would",
                                processes, members, fmt::join(nearest_to_cube(members, Dimensions), ", ")));
  return std::make_unique<Stencil>(p.dims);
}

template <unsigned Dimensions>
PatternKind stencil_kind(std::string about) {
  return pattern_kind<StencilParameters>(
      fmt::format("stencil-{}d", Dimensions), std::move(about),
      config::Schema<StencilParameters>()
          .field(&StencilParameters::dims, "dims",
                 "Processes in each dimension; empty: as near to each other as they get",
                 config::Range<std::uint32_t>{1, 1u << 20})
          .check([](const StencilParameters& p, const config::Complain& complain) {
            if (!p.dims.empty() && p.dims.size() != Dimensions)
              complain("dims", fmt::format("expected {} dimensions, got {}", Dimensions, p.dims.size()));
          })
          .section(),
      make_stencil<Dimensions>);
}

WEFT_REGISTER(PatternKind,
              pattern_kind<NoParameters>("all-to-all", "each source cycles through all other endpoints",
                                         no_parameters(), make_all_to_all));
WEFT_REGISTER(PatternKind,
              pattern_kind<IncastParameters>(
                  "incast", "many to one",
                  config::Schema<IncastParameters>()
                      .field(&IncastParameters::target, "target", "The endpoint that receives")
                      .field(&IncastParameters::sources, "sources",
                             "How many send: those that follow the target in number; 0: all others")
                      .section(),
                  make_incast));
WEFT_REGISTER(
    PatternKind,
    stencil_kind<2>("halo exchange: each source cycles through its 4 neighbours in a periodic grid"));
WEFT_REGISTER(
    PatternKind,
    stencil_kind<3>("halo exchange: each source cycles through its 6 neighbours in a periodic grid"));

}  // namespace

}  // namespace weft::workload
