// Everyone with everyone, or with many: transposes, spikes, random updates, shuffles, graphs.
#include <algorithm>
#include <cmath>

#include "base/virtual_time.hpp"
#include "workload/skeleton.hpp"

namespace weft::workload {

namespace {

using config::Range;
using config::Schema;

std::uint64_t count(DataSize bytes) { return static_cast<std::uint64_t>(bytes.value); }

struct FftParameters {
  std::vector<std::uint32_t> grid;
  unsigned transforms = 2;
  DataSize per_rank{1 << 20};
  Time compute{50'000'000};
};

/// Pencils: a transpose within each row of ranks, then within each column.
void write_fft(const FftParameters& p, const SkeletonContext& context, ProgramBuilder& b) {
  RankGrid grid(p.grid, context.ranks, 2);
  for (unsigned t = 0; t < p.transforms; ++t)
    for (unsigned d = 0; d < 2; ++d) {
      for (Rank r = 0; r < context.ranks; ++r) b.compute(r, p.compute);
      for (Rank first = 0; first < context.ranks; ++first) {
        if (grid.coordinate(first, d) != 0) continue;
        std::vector<Rank> group;
        for (std::uint32_t i = 0; i < grid.length(d); ++i) group.push_back(first + i * grid.stride(d));
        all_to_all(b, group, count(p.per_rank) / grid.length(d));
      }
    }
}

using F = FftParameters;
WEFT_REGISTER(SkeletonKind,
              skeleton_kind<F>(
                  "fft", "transposes of a three-dimensional FFT in pencils: all-to-all in rows and columns",
                  Schema<F>()
                      .field(&F::grid, "grid", "Rows and columns of ranks; empty: shared out evenly",
                             Range<std::uint32_t>{1, 1u << 24})
                      .field(&F::transforms, "transforms", "Transforms", kRounds)
                      .field(&F::per_rank, "per_rank", "Bytes each rank holds", kBytes)
                      .field(&F::compute, "compute", "Computing before each transpose", kTimes)
                      .section(),
                  write_fft));

struct SpikeParameters {
  unsigned steps = 10, partners = 16;
  DataSize spike{12}, fixed{120};
  double spikes = 10;
  Time compute{1'000'000};
};

/// In each step every rank sends its spikes to the ranks its neurons reach: a message of fixed length, and
/// the rest in a second one where there were more.
void write_spikes(const SpikeParameters& p, const SkeletonContext& context, ProgramBuilder& b) {
  Rank n = context.ranks;
  std::uint32_t tag = b.new_tag(), more = b.new_tag();
  std::vector<Rank> all = everyone(n);
  unsigned partners = std::min(p.partners, n - 1);
  auto partner = [&](Rank r, unsigned k) {  // near ones first, as synapses thin out with distance
    return static_cast<Rank>((r + (k % 2 == 0 ? k / 2 + 1 : n - (k + 1) / 2)) % n);
  };
  for (unsigned step = 0; step < p.steps; ++step) {
    for (Rank r = 0; r < n; ++r) {
      b.compute(r, p.compute);
      for (unsigned k = 0; k < partners; ++k) {
        Rank to = partner(r, k);
        double unit =
            (static_cast<double>(random_bits(context.seed, r, std::uint64_t{step} << 16 | k) >> 11) + 0.5) *
            0x1p-53;
        auto bytes = static_cast<std::uint64_t>(-std::log(unit) * p.spikes) * count(p.spike);
        b.send(r, to, count(p.fixed), tag);
        b.receive(to, r, count(p.fixed), tag);
        if (bytes <= count(p.fixed)) continue;
        b.send(r, to, bytes - count(p.fixed), more);
        b.receive(to, r, bytes - count(p.fixed), more);
      }
    }
    for (Rank r = 0; r < n; ++r) b.wait(r);
    barrier(b, all);
  }
}

using N = SpikeParameters;
WEFT_REGISTER(SkeletonKind,
              skeleton_kind<N>(
                  "spikes", "a spiking neural network: many small messages of varying length, step by step",
                  Schema<N>()
                      .field(&N::steps, "steps", "Steps of the simulated network", kRounds)
                      .field(&N::partners, "partners", "Ranks each rank sends to", Range<unsigned>{1, 4096})
                      .field(&N::spike, "spike", "Bytes of a spike", Range<DataSize>{{1}, {4096}})
                      .field(&N::spikes, "spikes", "Spikes to each partner in a step, on average",
                             Range<double>{0, 1e6})
                      .field(&N::fixed, "fixed", "Bytes of the first message, always sent", kBytes)
                      .field(&N::compute, "compute", "Computing in each step", kTimes)
                      .section(),
                  write_spikes));

struct UpdateParameters {
  unsigned updates = 64, at_once = 16;
  DataSize update{16};
};

void write_updates(const UpdateParameters& p, const SkeletonContext& context, ProgramBuilder& b) {
  if (context.ranks < 2) return;
  std::uint32_t tag = b.new_tag();
  for (unsigned i = 0; i < p.updates; ++i) {
    for (Rank r = 0; r < context.ranks; ++r) {
      Rank to = (r + 1 + random_below(context.seed, r, i, context.ranks - 1)) % context.ranks;
      b.send(r, to, count(p.update), tag);
      b.receive(to, r, count(p.update), tag);
    }
    if ((i + 1) % p.at_once == 0 || i + 1 == p.updates)
      for (Rank r = 0; r < context.ranks; ++r) b.wait(r);
  }
}

using U = UpdateParameters;
WEFT_REGISTER(SkeletonKind,
              skeleton_kind<U>("random-access", "small updates to random ranks",
                               Schema<U>()
                                   .field(&U::updates, "updates", "Updates by each rank", kRounds)
                                   .field(&U::at_once, "at_once", "Updates under way before a rank waits",
                                          kRounds)
                                   .field(&U::update, "update", "Bytes of an update", kBytes)
                                   .section(),
                               write_updates));

struct ShuffleParameters {
  unsigned rounds = 1;
  unsigned reducers = 0;
  DataSize per_pair{65'536};
  Time map{100'000'000}, reduce{50'000'000};
  double skew = 0.2;
};

/// Every mapper has a piece for every reducer; mappers do not all take as long.
void write_shuffle(const ShuffleParameters& p, const SkeletonContext& context, ProgramBuilder& b) {
  Rank n = context.ranks, reducers = p.reducers ? std::min(p.reducers, n) : n;
  std::uint32_t tag = b.new_tag();
  for (unsigned round = 0; round < p.rounds; ++round) {
    for (Rank r = 0; r < n; ++r) {
      double late = p.skew * static_cast<double>(random_bits(context.seed, r, round) >> 11) * 0x1p-53;
      b.compute(r, scaled(p.map, 1 + late));
      for (Rank k = 0; k < reducers; ++k) {
        Rank to = (r + k) % reducers;
        if (to != r) b.send(r, to, count(p.per_pair), tag);
      }
    }
    for (Rank r = 0; r < n; ++r) {
      if (r < reducers)
        for (Rank from = 0; from < n; ++from)
          if (from != r) b.receive(r, from, count(p.per_pair), tag);
      b.wait(r);
      if (r < reducers) b.compute(r, p.reduce);
    }
  }
}

using M = ShuffleParameters;
WEFT_REGISTER(
    SkeletonKind,
    skeleton_kind<M>("map-reduce", "every mapper sends a piece to every reducer when it is done",
                     Schema<M>()
                         .field(&M::rounds, "rounds", "Rounds", kRounds)
                         .field(&M::reducers, "reducers", "Ranks that reduce; 0: all",
                                Range<unsigned>{0, 1u << 24})
                         .field(&M::per_pair, "per_pair", "Bytes from a mapper to a reducer", kBytes)
                         .field(&M::map, "map", "Computing of a mapper", kTimes)
                         .field(&M::reduce, "reduce", "Computing of a reducer", kTimes)
                         .field(&M::skew, "skew", "How much longer the slowest mapper takes, as a share",
                                Range<double>{0, 100})
                         .section(),
                     write_shuffle));

struct BfsParameters {
  unsigned levels = 6;
  DataSize edge{8};
  double edges = 4096;
  Time compute{5'000'000};
};

/// Level by level: the frontier grows and shrinks; each rank tells the owners of the vertices it has found.
void write_bfs(const BfsParameters& p, const SkeletonContext& context, ProgramBuilder& b) {
  Rank n = context.ranks;
  std::vector<Rank> all = everyone(n);
  for (unsigned level = 0; level < p.levels; ++level) {
    double middle = (p.levels - 1) / 2.0, away = (level - middle) / std::max(1.0, middle / 2);
    double share = std::exp(-away * away);  // most edges lie in the middle levels
    std::uint32_t tag = b.new_tag();
    for (Rank r = 0; r < n; ++r) {
      b.compute(r, scaled(p.compute, share));
      for (Rank ahead = 1; ahead < n; ++ahead) {
        Rank to = (r + ahead) % n;
        double unit =
            static_cast<double>(random_bits(context.seed, std::uint64_t{r} << 32 | to, level) >> 11) *
            0x1p-53;
        auto found = static_cast<std::uint64_t>(p.edges * share / n * 2 * unit + unit);
        if (found == 0) continue;
        b.send(r, to, found * count(p.edge), tag);
        b.receive(to, r, found * count(p.edge), tag);
      }
    }
    for (Rank r = 0; r < n; ++r) b.wait(r);
    all_reduce(b, all, 8, AllReduce::Doubling);
  }
}

using B = BfsParameters;
WEFT_REGISTER(
    SkeletonKind,
    skeleton_kind<B>("graph-bfs", "a breadth-first search: irregular messages level by level, and a sum",
                     Schema<B>()
                         .field(&B::levels, "levels", "Levels of the search", Range<unsigned>{1, 1000})
                         .field(&B::edges, "edges", "Edges a rank follows in the largest level",
                                Range<double>{0, 1e12})
                         .field(&B::edge, "edge", "Bytes to tell of an edge", kBytes)
                         .field(&B::compute, "compute", "Computing in the largest level", kTimes)
                         .section(),
                     write_bfs));

}  // namespace

}  // namespace weft::workload
