// Collectives one after the other, and the collectives of training a large model.
#include <fmt/format.h>

#include "workload/skeleton.hpp"

namespace weft::workload {

namespace {

using config::Range;
using config::Schema;

struct Repeated {
  unsigned repeats = 1;
  DataSize bytes{1 << 20};
  AllReduce all_reduce = AllReduce::Ring;
  AllToAll all_to_all = AllToAll::Pairwise;
};

template <auto kOne>
void write(const Repeated& p, const SkeletonContext& context, ProgramBuilder& b) {
  std::vector<Rank> all = everyone(context.ranks);
  for (unsigned i = 0; i < p.repeats; ++i) kOne(b, all, p);
}

std::uint64_t bytes(const Repeated& p) { return static_cast<std::uint64_t>(p.bytes.value); }
void one_barrier(ProgramBuilder& b, Group g, const Repeated&) { barrier(b, g); }
void one_broadcast(ProgramBuilder& b, Group g, const Repeated& p) { broadcast(b, g, bytes(p)); }
void one_reduce(ProgramBuilder& b, Group g, const Repeated& p) { reduce(b, g, bytes(p)); }
void one_all_reduce(ProgramBuilder& b, Group g, const Repeated& p) {
  all_reduce(b, g, bytes(p), p.all_reduce);
}
void one_all_gather(ProgramBuilder& b, Group g, const Repeated& p) { all_gather(b, g, bytes(p)); }
void one_reduce_scatter(ProgramBuilder& b, Group g, const Repeated& p) { reduce_scatter(b, g, bytes(p)); }
void one_all_to_all(ProgramBuilder& b, Group g, const Repeated& p) {
  all_to_all(b, g, bytes(p), p.all_to_all);
}

Schema<Repeated> schema(const char* what) {
  return Schema<Repeated>()
      .field(&Repeated::repeats, "repeats", "How often, one after the other", kRounds)
      .field(&Repeated::bytes, "bytes", what, kBytes);
}

config::Section only_repeats() {
  return Schema<Repeated>()
      .field(&Repeated::repeats, "repeats", "How often, one after the other", kRounds)
      .section();
}

#define WEFT_COLLECTIVE(name, about, section, one) \
  WEFT_REGISTER(SkeletonKind, skeleton_kind<Repeated>(name, about, section, write<one>))

WEFT_COLLECTIVE("barrier", "everyone waits for everyone, by dissemination", only_repeats(), one_barrier);
WEFT_COLLECTIVE("broadcast", "from the first rank to all, along a binomial tree", schema("Bytes").section(),
                one_broadcast);
WEFT_COLLECTIVE("reduce", "from all to the first rank, along a binomial tree", schema("Bytes").section(),
                one_reduce);
WEFT_COLLECTIVE("all-reduce", "sums of all, for all",
                schema("Bytes each rank contributes")
                    .choice(&Repeated::all_reduce, "algorithm",
                            "'ring' in pieces twice round, recursive 'doubling', or up and down a 'tree'",
                            {"ring", "doubling", "tree"})
                    .section(),
                one_all_reduce);
WEFT_COLLECTIVE("all-gather", "the parts of all, for all, round a ring",
                schema("Bytes each rank contributes").section(), one_all_gather);
WEFT_COLLECTIVE("reduce-scatter", "a part of the sums for each, round a ring",
                schema("Bytes each rank gets").section(), one_reduce_scatter);
WEFT_COLLECTIVE("all-to-all", "a part from everyone to everyone else",
                schema("Bytes from each rank to each other")
                    .choice(&Repeated::all_to_all, "algorithm",
                            "'pairwise': one partner after the other; 'at-once': all at the same time",
                            {"pairwise", "at-once"})
                    .section(),
                one_all_to_all);

struct TrainingParameters {
  unsigned iterations = 1, layers = 4, expert_group = 8;
  DataSize gradients{16 << 20}, tokens{1 << 18};
  Time forward{200'000'000}, backward{400'000'000};
};

/// Data parallel with experts: in each layer tokens go to the experts of their group and come back; on the
/// way back the gradients of each layer are summed over all ranks.
void write_training(const TrainingParameters& p, const SkeletonContext& context, ProgramBuilder& b) {
  Rank n = context.ranks;
  if (n % p.expert_group != 0)
    throw UserError(
        fmt::format("workload.expert_group: {} ranks are not a multiple of {}", n, p.expert_group));
  std::vector<Rank> all = everyone(n);
  auto experts = [&] {
    for (Rank first = 0; first < n; first += p.expert_group)
      all_to_all(b, Group(all).subspan(first, p.expert_group),
                 static_cast<std::uint64_t>(p.tokens.value) / p.expert_group, AllToAll::AtOnce);
  };
  for (unsigned i = 0; i < p.iterations; ++i) {
    for (unsigned layer = 0; layer < p.layers; ++layer) {
      for (Rank r = 0; r < n; ++r) b.compute(r, p.forward);
      experts();
      experts();
    }
    for (unsigned layer = 0; layer < p.layers; ++layer) {
      for (Rank r = 0; r < n; ++r) b.compute(r, p.backward);
      experts();
      experts();
      all_reduce(b, all, static_cast<std::uint64_t>(p.gradients.value), AllReduce::Ring);
    }
  }
}

using T = TrainingParameters;
WEFT_REGISTER(
    SkeletonKind,
    skeleton_kind<T>("training",
                     "training of a large model: tokens to experts and back in each layer (all-to-all), and "
                     "gradients summed over all ranks (all-reduce)",
                     Schema<T>()
                         .field(&T::iterations, "iterations", "Iterations", kRounds)
                         .field(&T::layers, "layers", "Layers of the model", Range<unsigned>{1, 1000})
                         .field(&T::expert_group, "expert_group", "Ranks that share the experts of a layer",
                                Range<unsigned>{1, 65'536})
                         .field(&T::gradients, "gradients", "Bytes of gradients of a layer", kBytes)
                         .field(&T::tokens, "tokens", "Bytes of tokens a rank sends to experts", kBytes)
                         .field(&T::forward, "forward", "Computing of a layer, forward", kTimes)
                         .field(&T::backward, "backward", "Computing of a layer, backward", kTimes)
                         .section(),
                     write_training));

}  // namespace

}  // namespace weft::workload
