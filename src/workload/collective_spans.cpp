#include "workload/collective_spans.hpp"

#include <fmt/format.h>

#include <unordered_map>
#include <utility>

namespace weft::workload {

namespace {

using Kind = Operation::Kind;

[[noreturn]] void refuse(const Program& p, std::string what) {
  throw UserError({{{p.source.empty() ? p.name : p.source, 0, 0}, "", std::move(what)}});
}

}  // namespace

CollectiveSpans::CollectiveSpans(const Program& p) {
  if (p.collectives.empty()) return;
  std::uint64_t members = 0, waits = 0;
  for (const Collective& c : p.collectives) {
    first_.push_back(members);
    members += p.groups[c.group].size();
  }
  for (std::uint64_t i = 0; i < p.operations.size(); ++i)
    waits += p.collective_of[i] && p.operations[i].kind == Kind::Join;
  if (2 * members > waits) refuse(p, "some of its collectives have no beginning or no end in a member");
  spans_.assign(members, {1, 0});
  std::unordered_map<std::uint64_t, std::uint32_t> places;  // by group and rank
  for (std::uint64_t g = 0; g < p.groups.size(); ++g)
    for (std::uint32_t place = 0; place < p.groups[g].size(); ++place)
      places.emplace(g << 32 | p.groups[g][place], place);
  for (Rank r = 0; r < p.ranks(); ++r)
    for (Step s = 0; s < p.steps(r); ++s) {
      const std::uint64_t i = p.begin[r] + s;
      if (!p.collective_of[i]) continue;
      const std::uint32_t number = p.collective_of[i] - 1;
      const auto place = places.find(std::uint64_t{p.collectives[number].group} << 32 | r);
      if (place == places.end())
        refuse(p,
               fmt::format("{} is of collective {}, of which the rank is no member", p.describe(i), number));
      if (p.operations[i].kind != Kind::Join) continue;
      Span& span = spans_[first_[number] + place->second];
      if (span.begin > span.end) span.begin = s;
      span.end = s;
    }
  for (std::uint32_t number = 0; number < p.collectives.size(); ++number)
    for (std::uint32_t place = 0; place < p.groups[p.collectives[number].group].size(); ++place)
      if (of(number, place).begin >= of(number, place).end)
        refuse(p, fmt::format("collective {} has no beginning or no end in rank {}", number,
                              p.groups[p.collectives[number].group][place]));
}

}  // namespace weft::workload
