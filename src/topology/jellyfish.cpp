// Jellyfish of Singla, Hong, Popa and Godfrey (2012): a random graph in which all routers have the same
// degree. F59.
//
// Every router has `degree` cable ends. All ends are shuffled and joined two by two; the few cables that
// start and end at one router, or that double another, are put right by exchanging ends with a random cable.
#include <numeric>

#include "base/random.hpp"
#include "topology/kind.hpp"

namespace weft::topology {

namespace {

struct JellyfishParameters {
  std::uint32_t routers = 128;
  std::uint32_t degree = 12;
  std::uint32_t endpoints_per_router = 4;
  std::uint64_t seed = 1;
  config::CableName cable;
};

Size jellyfish_size(const JellyfishParameters& p) {
  double ports = 1.0 * p.degree + p.endpoints_per_router;
  return {1.0 * p.routers, 1.0 * p.routers * p.endpoints_per_router, p.routers * ports};
}

struct RouterPair {
  RouterId a, b;
};

/// Cable ends joined two by two: end e belongs to router e / degree and is joined to end peer[e].
class Pairing {
 public:
  Pairing(std::uint32_t routers, std::uint32_t degree, std::uint64_t seed, std::uint32_t attempt)
      : degree_(degree),
        seed_(seed),
        shuffle_{2ull * attempt},
        repair_{2ull * attempt + 1},
        peer_(routers * degree) {
    std::vector<std::uint32_t> ends(peer_.size());
    std::iota(ends.begin(), ends.end(), 0);
    for (std::uint32_t i = static_cast<std::uint32_t>(ends.size()); i > 1; --i)
      std::swap(ends[i - 1], ends[random_below(seed_, shuffle_, i, i)]);
    for (std::size_t i = 0; i < ends.size(); i += 2) join(ends[i], ends[i + 1]);
  }

  /// Rids the graph of loops and doubled cables; false where no exchange helps.
  bool repair() {
    for (std::uint32_t end = 0; end < peer_.size(); ++end)
      if (!is_simple(end) && !exchange(end)) return false;
    return true;
  }

  std::vector<RouterPair> cables() const {
    std::vector<RouterPair> out;
    out.reserve(peer_.size() / 2);
    for (std::uint32_t end = 0; end < peer_.size(); ++end)
      if (end < peer_[end]) out.push_back({router(end), router(peer_[end])});
    return out;
  }

 private:
  RouterId router(std::uint32_t end) const { return end / degree_; }

  void join(std::uint32_t a, std::uint32_t b) {
    peer_[a] = b;
    peer_[b] = a;
  }

  // Is this cable the only one between two different routers?
  bool is_simple(std::uint32_t end) const {
    RouterId here = router(end), there = router(peer_[end]);
    unsigned joined = 0;
    for (std::uint32_t e = here * degree_; e < (here + 1) * degree_; ++e) joined += router(peer_[e]) == there;
    return here != there && joined == 1;
  }

  bool exchange(std::uint32_t end) {
    constexpr unsigned kTries = 2000;
    std::uint32_t far_end = peer_[end];
    for (unsigned i = 0; i < kTries; ++i) {
      std::uint32_t other = random_below(seed_, repair_, step_++, static_cast<std::uint32_t>(peer_.size()));
      if (other == end || other == far_end) continue;
      std::uint32_t far_other = peer_[other];
      join(end, other);
      join(far_end, far_other);
      if (is_simple(end) && is_simple(far_end)) return true;
      join(end, far_end);
      join(other, far_other);
    }
    return false;
  }

  std::uint32_t degree_;
  std::uint64_t seed_, shuffle_, repair_, step_ = 0;
  std::vector<std::uint32_t> peer_;
};

std::vector<RouterPair> complement(std::uint32_t routers, const std::vector<RouterPair>& cables) {
  std::vector<bool> joined(std::size_t{routers} * routers);
  for (auto [a, b] : cables)
    joined[std::size_t{a} * routers + b] = joined[std::size_t{b} * routers + a] = true;
  std::vector<RouterPair> out;
  for (RouterId a = 0; a < routers; ++a)
    for (RouterId b = a + 1; b < routers; ++b)
      if (!joined[std::size_t{a} * routers + b]) out.push_back({a, b});
  return out;
}

bool is_connected(std::uint32_t routers, const std::vector<RouterPair>& cables) {
  std::vector<RouterId> leader(routers);
  std::iota(leader.begin(), leader.end(), 0);
  auto find = [&](RouterId r) {
    while (leader[r] != r) r = leader[r] = leader[leader[r]];
    return r;
  };
  std::uint32_t parts = routers;
  for (auto [a, b] : cables)
    if (RouterId x = find(a), y = find(b); x != y) {
      leader[x] = y;
      --parts;
    }
  return parts == 1;
}

// In a dense graph hardly any exchange helps; there we choose the pairs that are not joined.
std::vector<RouterPair> random_regular_graph(std::uint32_t routers, std::uint32_t degree,
                                             std::uint64_t seed) {
  bool dense = degree > (routers - 1) / 2;
  std::uint32_t chosen = dense ? routers - 1 - degree : degree;
  constexpr std::uint32_t kAttempts = 1000;
  for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    Pairing pairing(routers, chosen, seed, attempt);
    if (!pairing.repair()) continue;
    auto cables = dense ? complement(routers, pairing.cables()) : pairing.cables();
    if (is_connected(routers, cables)) return cables;
  }
  WEFT_CHECK(false, fmt::format("no connected graph of {} routers of degree {} in {} attempts", routers,
                                degree, kAttempts));
  return {};
}

Graph build_jellyfish(const JellyfishParameters& p, const BuildContext& context) {
  auto cables = random_regular_graph(p.routers, p.degree, p.seed);
  GraphBuilder builder(context.cable_types);
  builder.reserve(p.routers, static_cast<std::uint64_t>(jellyfish_size(p).ports), cables.size(),
                  std::uint64_t{p.routers} * p.endpoints_per_router);
  TierId tier = builder.tier("router");
  std::uint8_t type = builder.cable_type(p.cable);
  for (RouterId r = 0; r < p.routers; ++r) {
    builder.router(p.degree + p.endpoints_per_router, tier);
    for (std::uint32_t e = 0; e < p.endpoints_per_router; ++e)
      builder.endpoint(r, static_cast<PortIndex>(p.degree + e));
  }
  std::vector<PortIndex> next_port(p.routers);
  for (auto [a, b] : cables) builder.connect(a, next_port[a]++, b, next_port[b]++, type);
  return std::move(builder).finish();
}

void check_jellyfish(const JellyfishParameters& p, const config::Complain& complain) {
  if (p.degree >= p.routers)
    complain("degree", fmt::format("each of {} routers has only {} others to be joined to, not {}", p.routers,
                                   p.routers - 1, p.degree));
  if (std::uint64_t{p.degree} * p.routers % 2 != 0)
    complain("degree", fmt::format("{} routers with {} cable ends each: one end would be left over",
                                   p.routers, p.degree));
}

using config::Range;
using P = JellyfishParameters;

WEFT_REGISTER(
    TopologyKind,
    topology_kind<P>("jellyfish", "a random graph: every router joined to `degree` others, chosen by `seed`",
                     config::Schema<P>()
                         .field(&P::routers, "routers", "Routers", Range<std::uint32_t>{4, 1u << 24})
                         .field(&P::degree, "degree",
                                "Other routers each is joined to (2 would make a ring: see torus)",
                                Range<std::uint32_t>{3, 16'384})
                         .field(&P::endpoints_per_router, "endpoints_per_router", "Endpoints on each router",
                                Range<std::uint32_t>{1, 4096})
                         .field(&P::seed, "seed", "Another seed makes another graph")
                         .field(&P::cable, "cable", "Cable type between routers")
                         .check(check_jellyfish)
                         .section(),
                     jellyfish_size, build_jellyfish,
                     {{"routers=10", "degree=3", "endpoints_per_router=1"},
                      {"routers=24", "degree=5", "endpoints_per_router=2", "seed=7"},
                      {"routers=9", "degree=6", "endpoints_per_router=1", "seed=3"}}));

}  // namespace

}  // namespace weft::topology
