// Random destinations: uniform, and uniform with a few places that many want.
#include <algorithm>

#include "workload/pattern.hpp"

namespace weft::workload {

namespace {

struct UniformParameters {
  bool self = true;
};

class Uniform : public Pattern {
 public:
  Uniform(std::uint32_t members, bool self, std::uint64_t seed)
      : members_(members), self_(self), seed_(stream_seed(seed, Stream::Destination)) {}

  Member destination(Member source, std::uint64_t packet) const override {
    const std::uint64_t bits = quick_random_bits(seed_, source, packet);
    if (self_) return below(members_, bits);
    Member other = below(members_ - 1, bits);
    return other + (other >= source);
  }

 private:
  std::uint32_t members_;
  bool self_;
  std::uint64_t seed_;
};

std::unique_ptr<Pattern> make_uniform(const UniformParameters& p, const PatternContext& context) {
  return std::make_unique<Uniform>(context.members.count(), p.self, context.seed);
}

struct HotSpotParameters {
  double fraction = 0.1;
  std::vector<Member> targets{0};
};

class HotSpot : public Pattern {
 public:
  HotSpot(const HotSpotParameters& p, std::uint32_t members, std::uint64_t seed)
      : p_(p), members_(members), seed_(stream_seed(seed, Stream::Destination)) {}

  Member destination(Member source, std::uint64_t packet) const override {
    // Two draws per packet: whether it goes to a hot place, and where it goes.
    bool hot = unit_interval(random_bits(seed_, source, 2 * packet)) < p_.fraction;
    if (!hot) return random_below(seed_, source, 2 * packet + 1, members_);
    return p_
        .targets[random_below(seed_, source, 2 * packet + 1, static_cast<std::uint32_t>(p_.targets.size()))];
  }

 private:
  HotSpotParameters p_;
  std::uint32_t members_;
  std::uint64_t seed_;
};

std::unique_ptr<Pattern> make_hot_spot(const HotSpotParameters& p, const PatternContext& context) {
  for (Member target : p.targets)
    if (target >= context.members.count())
      throw UserError(fmt::format("pattern.targets: there is no endpoint {}; they are numbered 0 to {}",
                                  target, context.members.count() - 1));
  return std::make_unique<HotSpot>(p, context.members.count(), context.seed);
}

WEFT_REGISTER(PatternKind, pattern_kind<UniformParameters>(
                               "uniform", "each packet to a random endpoint",
                               config::Schema<UniformParameters>()
                                   .field(&UniformParameters::self, "self",
                                          "Whether a source may draw itself, as in most publications")
                                   .section(),
                               make_uniform));

WEFT_REGISTER(PatternKind,
              pattern_kind<HotSpotParameters>(
                  "hot-spot", "uniform, but for a share of the packets that goes to a few hot endpoints",
                  config::Schema<HotSpotParameters>()
                      .field(&HotSpotParameters::fraction, "fraction",
                             "Share of the packets for the hot endpoints", config::Range<double>{0, 1})
                      .field(&HotSpotParameters::targets, "targets",
                             "The hot endpoints, each as likely as the others")
                      .check([](const HotSpotParameters& p, const config::Complain& complain) {
                        if (p.targets.empty()) complain("targets", "expected at least one endpoint");
                      })
                      .section(),
                  make_hot_spot));

}  // namespace

}  // namespace weft::workload
