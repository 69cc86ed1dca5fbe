// Neighbours on a grid: stencils, molecular dynamics, lattice QCD, and sweeps from corner to corner.
#include "workload/skeleton.hpp"

namespace weft::workload {

namespace {

using config::Range;
using config::Schema;

struct StencilParameters {
  std::vector<std::uint32_t> grid;
  unsigned iterations = 10;
  DataSize halo{65'536};
  Time compute{100'000'000};
  bool periodic = true;
};

/// Halos to both neighbours in each dimension, all at once; then the inner points.
void write_stencil(const StencilParameters& p, Rank ranks, unsigned dimensions, ProgramBuilder& b) {
  RankGrid grid(p.grid, ranks, dimensions);
  std::uint32_t tag = b.new_tag();
  auto bytes = static_cast<std::uint64_t>(p.halo.value);
  for (Rank r = 0; r < ranks; ++r)
    for (unsigned i = 0; i < p.iterations; ++i) {
      for (unsigned d = 0; d < dimensions; ++d) {
        if (grid.length(d) == 1) continue;
        for (bool plus : {true, false}) {
          std::uint32_t at = grid.coordinate(r, d), edge = plus ? grid.length(d) - 1 : 0;
          if (!p.periodic && at == edge) continue;
          Rank other = grid.neighbour(r, d, plus);
          b.receive(r, other, bytes, tag + 2 * d + plus);  // what the other sends toward me
          b.send(r, other, bytes, tag + 2 * d + !plus);
        }
      }
      b.compute(r, p.compute);
      b.wait(r);
    }
  for (unsigned used = 1; used < 2 * dimensions; ++used) b.new_tag();
}

template <unsigned kDimensions>
void write_stencil_of(const StencilParameters& p, const SkeletonContext& context, ProgramBuilder& b) {
  write_stencil(p, context.ranks, kDimensions, b);
}

config::Section stencil_section() {
  using P = StencilParameters;
  return Schema<P>()
      .field(&P::grid, "grid", "Ranks in each dimension; empty: shared out evenly",
             Range<std::uint32_t>{1, 1u << 24})
      .field(&P::iterations, "iterations", "Iterations", kRounds)
      .field(&P::halo, "halo", "Bytes to each neighbour", kBytes)
      .field(&P::compute, "compute", "Computing in each iteration, while halos are under way", kTimes)
      .field(&P::periodic, "periodic", "Around the edges of the grid")
      .section();
}

WEFT_REGISTER(SkeletonKind,
              skeleton_kind<StencilParameters>("stencil-2d", "halos to four neighbours on a grid",
                                               stencil_section(), write_stencil_of<2>));
WEFT_REGISTER(SkeletonKind, skeleton_kind<StencilParameters>("stencil-3d", "halos to six neighbours in space",
                                                             stencil_section(), write_stencil_of<3>));

struct LammpsParameters {
  std::vector<std::uint32_t> grid;
  unsigned steps = 10;
  DataSize positions{32'768}, forces{32'768}, migration{4'096};
  Time compute{50'000'000};
  unsigned reneighbour = 10, thermo = 10;
};

/// One dimension after the other, so that corners travel with the faces: what came in x goes on in y and z.
void halo_phases(const RankGrid& grid, Rank r, std::uint64_t bytes, std::uint32_t tag, bool backwards,
                 ProgramBuilder& b) {
  for (unsigned i = 0; i < 3; ++i) {
    unsigned d = backwards ? 2 - i : i;
    if (grid.length(d) == 1) continue;
    for (bool plus : {true, false}) {
      b.receive(r, grid.neighbour(r, d, !plus), bytes, tag + 2 * d + plus);
      b.send(r, grid.neighbour(r, d, plus), bytes, tag + 2 * d + plus);
    }
    b.wait(r);
  }
}

void write_lammps(const LammpsParameters& p, const SkeletonContext& context, ProgramBuilder& b) {
  RankGrid grid(p.grid, context.ranks, 3);
  std::uint32_t tag = b.new_tag();
  for (unsigned used = 1; used < 6; ++used) b.new_tag();
  std::vector<Rank> all = everyone(context.ranks);
  for (unsigned step = 0; step < p.steps; ++step) {
    for (Rank r = 0; r < context.ranks; ++r) {
      if (step % p.reneighbour == 0)
        halo_phases(grid, r, static_cast<std::uint64_t>(p.migration.value), tag, false, b);
      halo_phases(grid, r, static_cast<std::uint64_t>(p.positions.value), tag, false, b);
      b.compute(r, p.compute);
      halo_phases(grid, r, static_cast<std::uint64_t>(p.forces.value), tag, true, b);
    }
    if ((step + 1) % p.thermo == 0) all_reduce(b, all, 48, AllReduce::Doubling);
  }
}

using L = LammpsParameters;
WEFT_REGISTER(
    SkeletonKind,
    skeleton_kind<L>(
        "lammps",
        "molecular dynamics in space: positions to the neighbours dimension by dimension, forces, and the "
        "forces back; now and then atoms move on and energies are added up",
        Schema<L>()
            .field(&L::grid, "grid", "Ranks in each of three dimensions; empty: shared out evenly",
                   Range<std::uint32_t>{1, 1u << 24})
            .field(&L::steps, "steps", "Time steps", kRounds)
            .field(&L::positions, "positions", "Bytes of positions to each neighbour", kBytes)
            .field(&L::forces, "forces", "Bytes of forces back to each neighbour", kBytes)
            .field(&L::migration, "migration", "Bytes of atoms that move on to each neighbour", kBytes)
            .field(&L::compute, "compute", "Computing of forces in each step", kTimes)
            .field(&L::reneighbour, "reneighbour", "Steps from one migration to the next", kRounds)
            .field(&L::thermo, "thermo", "Steps from one sum of energies to the next", kRounds)
            .section(),
        write_lammps));

struct QcdParameters {
  std::vector<std::uint32_t> grid;
  unsigned iterations = 10;
  DataSize halo{24'576};
  Time compute{20'000'000};
};

/// A conjugate gradient: the hopping term's halos in four dimensions, twice, and two scalar products.
void write_qcd(const QcdParameters& p, const SkeletonContext& context, ProgramBuilder& b) {
  std::vector<Rank> all = everyone(context.ranks);
  StencilParameters half{p.grid, 1, p.halo, p.compute, true};
  for (unsigned i = 0; i < p.iterations; ++i) {
    for (int twice = 0; twice < 2; ++twice) {
      write_stencil(half, context.ranks, 4, b);
      all_reduce(b, all, 8, AllReduce::Doubling);
    }
  }
}

using Q = QcdParameters;
WEFT_REGISTER(SkeletonKind,
              skeleton_kind<Q>(
                  "lattice-qcd",
                  "a solver on a four-dimensional lattice: halos to eight neighbours and scalar products",
                  Schema<Q>()
                      .field(&Q::grid, "grid", "Ranks in each of four dimensions; empty: shared out evenly",
                             Range<std::uint32_t>{1, 1u << 24})
                      .field(&Q::iterations, "iterations", "Iterations of the solver", kRounds)
                      .field(&Q::halo, "halo", "Bytes to each neighbour", kBytes)
                      .field(&Q::compute, "compute", "Computing for each exchange", kTimes)
                      .section(),
                  write_qcd));

struct SweepParameters {
  std::vector<std::uint32_t> grid;
  unsigned blocks = 8, octants = 8;
  DataSize face{8'192};
  Time compute{20'000'000};
};

/// Each rank waits for the two before it on the way of the wave, computes, and hands on to the two behind it.
void write_sweep(const SweepParameters& p, const SkeletonContext& context, ProgramBuilder& b) {
  RankGrid grid(p.grid, context.ranks, 2);
  std::uint32_t tag = b.new_tag();
  auto bytes = static_cast<std::uint64_t>(p.face.value);
  for (Rank r = 0; r < context.ranks; ++r)
    for (unsigned octant = 0; octant < p.octants; ++octant)
      for (unsigned block = 0; block < p.blocks; ++block) {
        auto each = [&](bool before) {
          for (unsigned d = 0; d < 2; ++d) {
            bool plus = octant >> d & 1;
            std::uint32_t edge = plus == before ? 0 : grid.length(d) - 1;
            if (grid.coordinate(r, d) == edge) continue;
            Rank other = grid.neighbour(r, d, plus != before);
            if (before)
              b.receive(r, other, bytes, tag);
            else
              b.send(r, other, bytes, tag);
          }
        };
        each(true);
        b.wait(r);
        b.compute(r, p.compute);
        each(false);
      }
  for (Rank r = 0; r < context.ranks; ++r) b.wait(r);
}

using S = SweepParameters;
WEFT_REGISTER(SkeletonKind,
              skeleton_kind<S>("sweep",
                               "waves over a grid of ranks, from corner to corner, block after block",
                               Schema<S>()
                                   .field(&S::grid, "grid",
                                          "Ranks in each of two dimensions; empty: shared out evenly",
                                          Range<std::uint32_t>{1, 1u << 24})
                                   .field(&S::blocks, "blocks", "Blocks in each wave", kRounds)
                                   .field(&S::octants, "octants", "Waves, from one corner after the other",
                                          Range<unsigned>{1, 8})
                                   .field(&S::face, "face", "Bytes handed on to each neighbour", kBytes)
                                   .field(&S::compute, "compute", "Computing for each block", kTimes)
                                   .section(),
                               write_sweep));

}  // namespace

}  // namespace weft::workload
