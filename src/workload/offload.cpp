#include "workload/offload.hpp"

#include <utility>

#include "workload/collective_spans.hpp"
#include "workload/collectives.hpp"

namespace weft::workload {

namespace {

struct Reason {
  const char *name, *text;
};
constexpr std::array<Reason, static_cast<std::size_t>(Left::Count)> kReasons{
    {{"too_long", "longer than mpi.collective_limit or a packet (nic.payload)"},
     {"no_units", "reductions, for which interfaces have no units (nic.operation_units)"},
     {"not_combined", "reductions of types or operations that no interface has"},
     {"not_whole", "with messages that the recording cannot tell from others"}}};

const Reason& reason(Left why) { return kReasons[static_cast<std::size_t>(why)]; }

/// Left::Count: nothing is in the way.
Left why_left(const Collective& c, const InterfaceTimes& t) {
  const bool reduces = c.kind == Collective::Kind::Reduce || c.kind == Collective::Kind::AllReduce;
  if (!c.whole) return Left::NotWhole;
  if (c.bytes > t.limit) return Left::TooLong;
  if (reduces && !c.combines) return Left::NotCombined;
  if (reduces && !t.units) return Left::NoUnits;
  return Left::Count;
}

}  // namespace

const char* left_because(Left why) { return reason(why).text; }
const char* left_name(Left why) { return reason(why).name; }

OffloadCounts offload_collectives(Program& p, const InterfaceTimes& interfaces) {
  OffloadCounts out;
  out.named = p.collectives.size();
  if (p.collectives.empty()) return out;
  const CollectiveSpans spans(p);
  std::vector<Left> why(p.collectives.size());
  for (std::size_t i = 0; i < why.size(); ++i) {
    why[i] = why_left(p.collectives[i], interfaces);
    ++(why[i] == Left::Count ? out.replaced : out.left[static_cast<std::size_t>(why[i])]);
  }
  // What is taken out stays as a wait that takes no time, so that what waited for it need not be changed.
  for (std::uint64_t i = 0; i < p.operations.size(); ++i)
    if (p.collective_of[i] && why[p.collective_of[i] - 1] == Left::Count) p.operations[i] = {};
  ProgramBuilder builder(p);
  builder.interfaces = &interfaces;
  for (std::uint32_t number = 0; number < p.collectives.size(); ++number) {
    if (why[number] != Left::Count) continue;
    const Collective& c = p.collectives[number];
    const std::vector<Rank>& group = p.groups[c.group];
    for (std::uint32_t i = 0; i < group.size(); ++i) builder.resume(group[i], spans.of(number, i).begin);
    by_interfaces(builder, group, c.kind, c.bytes, group[c.root]);
    for (std::uint32_t i = 0; i < group.size(); ++i) builder.precede(group[i], spans.of(number, i).end);
  }
  const std::string source = p.source;
  p = std::move(builder).finish(p.name);
  p.source = source;
  return out;
}

}  // namespace weft::workload
