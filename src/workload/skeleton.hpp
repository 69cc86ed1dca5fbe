// Skeletons: the communication of applications, as programs of any number of ranks. Each kind registers
// itself from its own file, with its sizes and counts as parameters.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "config/registry.hpp"
#include "workload/collectives.hpp"
#include "workload/program.hpp"

namespace weft::workload {

// What the parameters of skeletons may be.
inline constexpr config::Range<unsigned> kRounds{1, 1'000'000};
inline constexpr config::Range<DataSize> kBytes{{0}, {std::int64_t{1} << 40}};
inline constexpr config::Range<Time> kTimes{{0}, {3'600'000'000'000'000}};

struct SkeletonContext {
  Rank ranks = 1;
  std::uint64_t seed = 1;
  const InterfaceTimes* interfaces = nullptr;  // that run its small collectives; null: none does
};

struct SkeletonKind {
  ~SkeletonKind();
  std::string name, about;
  config::Section section;
  /// Throws UserError where the number of ranks does not fit.
  std::function<Program(const void* parameters, const SkeletonContext&)> make;
};

using Skeletons = config::Registry<SkeletonKind>;

/// Gives a kind's function the type of its parameters.
template <class P>
SkeletonKind skeleton_kind(std::string name, std::string about, config::Section section,
                           void (*write)(const P&, const SkeletonContext&, ProgramBuilder&)) {
  return {name, std::move(about), std::move(section),
          [write, name](const void* p, const SkeletonContext& context) {
            ProgramBuilder builder(context.ranks);
            builder.interfaces = context.interfaces;
            write(*static_cast<const P*>(p), context, builder);
            return std::move(builder).finish(name);
          }};
}

/// All ranks, in order.
std::vector<Rank> everyone(Rank ranks);

/// Ranks shared out over so many dimensions, as evenly as their number can be split; the first is the
/// longest.
std::vector<std::uint32_t> even_grid(Rank ranks, unsigned dimensions);

/// A grid of ranks, the first dimension counted fastest.
class RankGrid {
 public:
  /// Without `lengths` the ranks are shared out evenly. Throws UserError where the product is not their
  /// number.
  RankGrid(std::vector<std::uint32_t> lengths, Rank ranks, unsigned dimensions);
  unsigned dimensions() const { return static_cast<unsigned>(length_.size()); }
  std::uint32_t length(unsigned d) const { return length_[d]; }
  std::uint32_t coordinate(Rank r, unsigned d) const { return r / stride_[d] % length_[d]; }
  Rank stride(unsigned d) const { return stride_[d]; }
  /// The neighbour one step on or back, around the edge; the rank itself in a dimension of one.
  Rank neighbour(Rank r, unsigned d, bool plus) const;

 private:
  std::vector<std::uint32_t> length_;
  std::vector<Rank> stride_;
};

/// A program from a skeleton's name and `key=value` settings. Throws UserError with every mistake found.
Program make_skeleton(const std::string& name, const std::vector<std::string>& settings,
                      const SkeletonContext& context);

}  // namespace weft::workload

WEFT_DECLARE_REGISTRY(weft::workload::SkeletonKind);
