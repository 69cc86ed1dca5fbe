#include "manage/tables.hpp"

#include <algorithm>

#include "base/random.hpp"

namespace weft::manage {

namespace {

constexpr std::uint64_t kSeed = 0x6d616e616765;

/// A routing that looks at inputs has a row for each of them and each class, beside that for injected
/// packets.
unsigned classes_of(const machine::Machine& m) { return m.routing->uses_input() ? m.routing->classes() : 0; }

std::uint64_t rows_of(const machine::Machine& m, RouterId r) {
  return 1 + std::uint64_t{m.graph->port_count(r)} * classes_of(m);
}

class Writer {
 public:
  Writer(const machine::Machine& machine, Chips& chips, TableReport& report)
      : machine_(machine), graph_(*machine.graph), chips_(chips), report_(report), row_(graph_.endpoints()) {}

  void write(RouterId router, ChipNumber chip) {
    write_row(router, chip, 0, {.router = router});
    const unsigned classes = classes_of(machine_);
    for (std::uint32_t port = 0; classes && port < graph_.port_count(router); ++port) {
      if (graph_.peer(graph_.port(router, static_cast<topology::PortIndex>(port))) == kNone) continue;
      const auto in = static_cast<std::uint16_t>(port);
      for (unsigned c = 0; c < classes; ++c)
        write_row(router, chip, Chips::row(in, c, classes),
                  {.router = router, .in_port = in, .in_class = static_cast<routing::ChannelClass>(c)});
    }
  }

 private:
  void write_row(RouterId router, ChipNumber chip, std::uint64_t row, routing::Hop hop) {
    for (EndpointId to = 0; to < graph_.endpoints(); ++to) row_[to] = entry(router, hop, to);
    const std::uint64_t first = row * graph_.endpoints();
    for (std::size_t at = 0; at < row_.size(); at += Chips::kMostAtOnce) {
      const std::size_t count = std::min(Chips::kMostAtOnce, row_.size() - at);
      report_.failed += !chips_.write_routes(chip, first + at, {row_.data() + at, count});
    }
    report_.entries += row_.size();
  }

  RouteEntry entry(RouterId router, routing::Hop hop, EndpointId to) {
    if (graph_.endpoint_router(to) == router) return {graph_.port_index(graph_.endpoint_port(to)), 0, 1};
    hop.target = to;
    candidates_.clear();
    machine_.routing->candidates(hop, candidates_);
    if (candidates_.empty()) return {};
    return {candidates_[0].port, candidates_[0].channel_class,
            static_cast<std::uint8_t>(std::min<std::size_t>(candidates_.size(), 255))};
  }

  const machine::Machine& machine_;
  const Graph& graph_;
  Chips& chips_;
  TableReport& report_;
  std::vector<RouteEntry> row_;
  routing::Candidates candidates_;
};

}  // namespace

std::uint64_t table_entries(const machine::Machine& m) {
  std::uint64_t rows = 0;
  for (RouterId r = 0; r < m.graph->routers(); ++r) rows += rows_of(m, r);
  return rows * m.graph->endpoints();
}

TableReport write_tables(const machine::Machine& machine, const Discovery& found, Chips& chips,
                         std::uint64_t pairs) {
  TableReport report;
  Writer writer(machine, chips, report);
  // Found last is farthest away.
  for (auto router = found.order.rbegin(); router != found.order.rend(); ++router)
    writer.write(*router, found.number[*router]);
  const Graph& graph = *machine.graph;
  const std::uint64_t all = std::uint64_t{graph.endpoints()} * graph.endpoints();
  const unsigned classes = classes_of(machine);
  report.pairs = std::min(all, pairs);
  for (std::uint64_t i = 0; i < report.pairs; ++i) {
    const std::uint64_t pair = all <= pairs ? i : random_bits(kSeed, 0, i) % all;
    const auto from = static_cast<EndpointId>(pair / graph.endpoints());
    const auto to = static_cast<EndpointId>(pair % graph.endpoints());
    if (!found.reached(graph.endpoint_router(from)) || !found.reached(graph.endpoint_router(to))) continue;
    report.undelivered += chips.deliver(graph.endpoint_router(from), to, classes) != to;
  }
  return report;
}

}  // namespace weft::manage
