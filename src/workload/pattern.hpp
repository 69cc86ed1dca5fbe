// Traffic patterns: who sends to whom. Each kind registers itself from its own file, as topologies do.
//
// A pattern numbers the endpoints that take part 0, 1, ... without gaps: `Members` are the endpoints on live
// routers. A destination depends on (seed, source, number of the packet) and on nothing else, so that neither
// the order of events nor the number of threads can change it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "config/registry.hpp"
#include "topology/faults.hpp"
#include "topology/graph.hpp"

namespace weft::workload {

using Member = std::uint32_t;

/// The endpoints that take part.
struct Members {
  const topology::Graph* graph = nullptr;
  std::vector<topology::EndpointId> endpoint;  // by member

  Members(const topology::Graph& graph, const topology::Faults& faults);
  std::uint32_t count() const { return static_cast<std::uint32_t>(endpoint.size()); }
  bool all() const { return count() == graph->endpoints(); }
};

class Pattern {
 public:
  virtual ~Pattern() = default;
  /// Where a source's packet goes; `packet` counts the source's packets from 0. Never asked of a source
  /// without rate.
  virtual Member destination(Member source, std::uint64_t packet) const = 0;
  /// What a source sends compared with the busiest one, 0 to 1.
  virtual double rate(Member) const { return 1; }
};

struct PatternContext {
  const Members& members;
  std::uint64_t seed = 1;
};

struct PatternKind {
  ~PatternKind();
  std::string name, about;
  config::Section section;
  /// Throws UserError where the pattern does not fit the endpoints there are.
  std::function<std::unique_ptr<Pattern>(const void* parameters, const PatternContext&)> make;
};

using Patterns = config::Registry<PatternKind>;

/// Gives a kind's function the type of its parameters.
template <class P>
PatternKind pattern_kind(std::string name, std::string about, config::Section section,
                         std::unique_ptr<Pattern> (*make)(const P&, const PatternContext&)) {
  return {std::move(name), std::move(about), std::move(section),
          [make](const void* p, const PatternContext& context) {
            return make(*static_cast<const P*>(p), context);
          }};
}

struct NoParameters {};
inline config::Section no_parameters() { return config::Schema<NoParameters>().section(); }

/// Every source always sends to the same place.
class FixedPattern : public Pattern {
 public:
  static constexpr Member kNobody = topology::kNone;
  explicit FixedPattern(std::vector<Member> target) : target_(std::move(target)) {}
  Member destination(Member source, std::uint64_t) const override { return target_[source]; }
  double rate(Member source) const override { return target_[source] == kNobody ? 0 : 1; }

 private:
  std::vector<Member> target_;  // by source; kNobody: it does not send
};

/// Independent streams of draws from one seed.
enum class Stream : std::uint64_t { Destination = 1, Arrangement, Time, Size };
inline std::uint64_t stream_seed(std::uint64_t seed, Stream stream) {
  return random_bits(seed, static_cast<std::uint64_t>(stream), 0x77656674);
}

/// A number in [0, 1) from 53 random bits.
inline double unit_interval(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace weft::workload

WEFT_DECLARE_REGISTRY(weft::workload::PatternKind);
