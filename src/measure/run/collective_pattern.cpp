#include "measure/run/collective_pattern.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <unordered_map>

#include "abi/mpi_calls.hpp"

namespace weft::measure {

namespace {

void make_unique(Pairs& pairs) {
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
}

/// Members that can reach each other over edges are one part.
std::uint32_t parts_of(const Pairs& edges, std::uint32_t members) {
  std::vector<std::uint32_t> above(members);
  for (std::uint32_t i = 0; i < members; ++i) above[i] = i;
  auto top = [&](std::uint32_t i) {
    while (above[i] != i) i = above[i] = above[above[i]];
    return i;
  };
  std::uint32_t parts = members;
  for (auto [a, b] : edges) {
    const std::uint32_t x = top(a), y = top(b);
    if (x == y) continue;
    above[x] = y;
    --parts;
  }
  return parts;
}

std::string tree_name(const Pairs& edges, std::uint32_t members) {
  std::vector<std::uint32_t> degrees(members);
  for (auto [a, b] : edges) ++degrees[a], ++degrees[b];
  std::sort(degrees.begin(), degrees.end());
  if (degrees.back() == members - 1) return "flat tree";
  if (degrees.back() <= 2) return "chain";
  // In a binomial tree of 2^k members the root has k neighbours, half of all members one.
  const bool whole = std::has_single_bit(members);
  const auto steps = static_cast<std::uint32_t>(std::bit_width(members - 1));
  const auto leaves = static_cast<std::uint32_t>(std::count(degrees.begin(), degrees.end(), 1u));
  if (whole && degrees.back() == steps && leaves == members / 2) return "binomial tree";
  return degrees.back() == 3 ? "binary tree" : "tree";
}

bool starts_only(std::uint16_t call) {
  return std::string_view(abi::call_facts(call).name).starts_with("MPI_I");
}

}  // namespace

std::string pattern_of(Pairs pairs, std::uint32_t members) {
  std::erase_if(pairs, [&](const auto& p) { return p.first >= members || p.second >= members; });
  make_unique(pairs);
  if (pairs.empty()) return "";
  if (members == 2) return "exchange";
  Pairs edges;
  for (auto [a, b] : pairs) edges.emplace_back(std::min(a, b), std::max(a, b));
  make_unique(edges);
  const auto all = [&](auto holds) {
    return std::all_of(pairs.begin(), pairs.end(), [&](const auto& p) { return holds(p.first, p.second); });
  };
  const auto steps = static_cast<std::size_t>(std::bit_width(members - 1));
  if (pairs.size() == members && all([&](auto a, auto b) { return b == (a + 1) % members; })) return "ring";
  if (std::has_single_bit(members) && pairs.size() == members * steps &&
      all([](auto a, auto b) { return std::has_single_bit(a ^ b); }))
    return "recursive doubling";
  if (pairs.size() == members * steps &&
      all([&](auto a, auto b) { return std::has_single_bit((b + members - a) % members); }))
    return "dissemination";
  if (edges.size() == members - 1 && parts_of(edges, members) == 1) return tree_name(edges, members);
  if (edges.size() == std::size_t{members} * (members - 1) / 2) return "all pairs";
  return "other";
}

std::string algorithm_of(const Collective& c, const std::vector<Transfer>& transfers,
                         const std::vector<host::RankResult>& ranks) {
  // Messages of a call that comes back at once are sent after it.
  if (c.members != ranks.size() || starts_only(c.call)) return "";
  std::unordered_map<std::uint32_t, std::uint32_t> rank_on;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank)
    if (!rank_on.emplace(ranks[rank].node, rank).second) return "";
  Pairs pairs;
  bool control = false;
  for (const Transfer& t : transfers) {
    if (t.begin < c.first_came || t.begin > c.ended) continue;
    control |= t.control;
    if (t.control) continue;
    const auto from = rank_on.find(t.from), to = rank_on.find(t.to);
    if (from != rank_on.end() && to != rank_on.end()) pairs.emplace_back(from->second, to->second);
  }
  if (pairs.empty() && control) return "in the interfaces";
  return pattern_of(std::move(pairs), c.members);
}

}  // namespace weft::measure
