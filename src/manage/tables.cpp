#include "manage/tables.hpp"

#include <algorithm>

#include "base/random.hpp"

namespace weft::manage {

namespace {

constexpr std::uint64_t kSeed = 0x6d616e616765;
constexpr std::size_t kNamed = 10;

}  // namespace

// A routing that looks at inputs has a row for each of them and each class, beside that for injected packets.
unsigned table_classes(const routing::Routing& routing) {
  return routing.uses_input() ? routing.classes() : 0;
}

std::uint64_t table_entries(const routing::Routing& routing) {
  const Graph& graph = routing.graph();
  const std::uint64_t rows = graph.routers() + std::uint64_t{graph.ports()} * table_classes(routing);
  return rows * graph.endpoints();
}

bool TableWriter::write(RouterId router, ChipNumber chip, const routing::Routing* old, TableReport& report) {
  if (!write_row(chip, 0, {.router = router}, old, report)) return false;
  const unsigned classes = table_classes(routing_);
  for (std::uint32_t port = 0; classes && port < graph_.port_count(router); ++port) {
    const auto in = static_cast<std::uint16_t>(port);
    if (graph_.peer(graph_.port(router, in)) == kNone) continue;
    for (unsigned c = 0; c < classes; ++c)
      if (!write_row(chip, Chips::row(in, c, classes),
                     {.router = router, .in_port = in, .in_class = static_cast<routing::ChannelClass>(c)},
                     old, report))
        return false;
  }
  return true;
}

bool TableWriter::write_row(ChipNumber chip, std::uint64_t row, const routing::Hop& hop,
                            const routing::Routing* old, TableReport& report) {
  row_.resize(graph_.endpoints());
  before_.resize(graph_.endpoints());
  for (EndpointId to = 0; to < graph_.endpoints(); ++to) {
    row_[to] = entry(routing_, hop, to);
    if (old) before_[to] = entry(*old, hop, to);
  }
  const std::uint64_t first = row * graph_.endpoints();
  for (std::size_t at = 0; at < row_.size(); at += Chips::kMostAtOnce) {
    const std::size_t count = std::min(Chips::kMostAtOnce, row_.size() - at);
    const auto begin = static_cast<std::ptrdiff_t>(at), end = begin + static_cast<std::ptrdiff_t>(count);
    if (old && std::equal(row_.begin() + begin, row_.begin() + end, before_.begin() + begin)) continue;
    if (!budget_.spend()) return false;
    report.failed += !chips_.write_routes(chip, table_, first + at, {row_.data() + at, count});
    report.entries += count;
  }
  return true;
}

RouteEntry TableWriter::entry(const routing::Routing& by, routing::Hop hop, EndpointId to) {
  if (graph_.endpoint_router(to) == hop.router) return {graph_.port_index(graph_.endpoint_port(to)), 0, 1};
  hop.target = to;
  candidates_.clear();
  by.candidates(hop, candidates_);
  if (candidates_.empty()) return {};
  return {candidates_[0].port, candidates_[0].channel_class,
          static_cast<std::uint8_t>(std::min<std::size_t>(candidates_.size(), 255))};
}

void follow(const Graph& graph, const Discovery& found, const Chips& chips, std::array<unsigned, 2> classes,
            std::uint64_t pairs, TableReport& report, std::vector<std::pair<EndpointId, EndpointId>>* lost) {
  const std::uint64_t all = std::uint64_t{graph.endpoints()} * graph.endpoints();
  report.pairs = std::min(all, pairs);
  for (std::uint64_t i = 0; i < report.pairs; ++i) {
    const std::uint64_t pair = all <= pairs ? i : random_bits(kSeed, 0, i) % all;
    const auto from = static_cast<EndpointId>(pair / graph.endpoints());
    const auto to = static_cast<EndpointId>(pair % graph.endpoints());
    if (!found.has_node(graph, from) || !found.has_node(graph, to)) continue;
    if (chips.deliver(from, to, classes) == to) continue;
    ++report.undelivered;
    if (lost && lost->size() < kNamed) lost->emplace_back(from, to);
  }
}

TableReport write_tables(const machine::Machine& machine, const Discovery& found, Chips& chips,
                         std::uint64_t pairs) {
  TableReport report;
  Budget budget;
  TableWriter writer(*machine.routing, 0, chips, budget);
  // Found last is farthest away.
  for (auto router = found.order.rbegin(); router != found.order.rend(); ++router)
    writer.write(*router, found.number[*router], nullptr, report);
  follow(*machine.graph, found, chips, {table_classes(*machine.routing), 0}, pairs, report);
  return report;
}

}  // namespace weft::manage
