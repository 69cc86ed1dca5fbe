// Routing tables as a manager writes them over the network, and what packets do by them.
#pragma once

#include "manage/discovery.hpp"

namespace weft::manage {

/// Whether another write may be made; a manager that dies makes no more.
class Budget {
 public:
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};
  explicit Budget(std::uint64_t writes = kUnlimited) : left_(writes) {}
  bool spend() {
    if (left_ == 0) return false;
    if (left_ != kUnlimited) --left_;
    return true;
  }
  bool spent() const { return left_ == 0; }

 private:
  std::uint64_t left_;
};

struct TableReport {
  std::uint64_t entries = 0;
  std::uint64_t failed = 0;       // rows that nobody acknowledged
  std::uint64_t pairs = 0;        // followed through the tables as they are in the chips
  std::uint64_t undelivered = 0;  // of those
};

/// Classes that a routing's tables tell apart, by input; 0: they do not look at inputs.
unsigned table_classes(const routing::Routing& routing);
/// Entries all routers need together.
std::uint64_t table_entries(const routing::Routing& routing);

/// Writes a router's table. Where `old` is given, only what differs from it.
class TableWriter {
 public:
  TableWriter(const routing::Routing& routing, unsigned table, Chips& chips, Budget& budget)
      : routing_(routing), graph_(routing.graph()), table_(table), chips_(chips), budget_(budget) {}
  /// False where the manager has died meanwhile.
  bool write(RouterId router, ChipNumber chip, const routing::Routing* old, TableReport& report);

 private:
  bool write_row(ChipNumber chip, std::uint64_t row, const routing::Hop& hop, const routing::Routing* old,
                 TableReport& report);
  RouteEntry entry(const routing::Routing& by, routing::Hop hop, EndpointId to);

  const routing::Routing& routing_;
  const Graph& graph_;
  unsigned table_;
  Chips& chips_;
  Budget& budget_;
  std::vector<RouteEntry> row_, before_;
  routing::Candidates candidates_;
};

/// Follows packets through the tables: every pair where there are few, else as many random ones;
/// those of nodes that were not found are left out. `classes`: of each table. `lost`: the first that come
/// nowhere.
void follow(const Graph& graph, const Discovery& found, const Chips& chips, std::array<unsigned, 2> classes,
            std::uint64_t pairs, TableReport& report,
            std::vector<std::pair<EndpointId, EndpointId>>* lost = nullptr);

/// Writes every reached router's first table, those farthest from the manager first; then follows packets.
TableReport write_tables(const machine::Machine& machine, const Discovery& found, Chips& chips,
                         std::uint64_t pairs);

}  // namespace weft::manage
