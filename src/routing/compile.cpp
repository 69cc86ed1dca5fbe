#include "routing/compile.hpp"

#include <fmt/format.h>

#include <map>

#include "base/text.hpp"
#include "routing/dimension_order.hpp"

namespace weft::routing {

std::uint64_t RouteTable::bytes() const {
  return (first_row_.size() + endpoint_column_.size() + lists_.size() + begin_.size()) *
             sizeof(std::uint32_t) +
         candidates_.size() * sizeof(Candidate);
}

class TableCompiler {
 public:
  explicit TableCompiler(const Routing& routing) : routing_(routing), graph_(routing.graph()) {
    table_.uses_input_ = routing.uses_input();
    table_.classes_ = routing.classes();
    number_rows();
    number_columns();
  }

  std::uint64_t bytes() const { return table_.rows_ * table_.columns_ * sizeof(std::uint32_t); }
  std::uint64_t rows() const { return table_.rows_; }
  std::uint32_t columns() const { return table_.columns_; }

  RouteTable fill() {
    number_of({});  // the first answer is the one of states that no packet is in
    table_.lists_.assign(table_.rows_ * table_.columns_, 0);
    seen_.assign(table_.rows_, 0);
    for (EndpointId target : targets_)
      for (bool second_leg : {false, true})
        if (!second_leg || table_.second_leg_ > 0)
          fill_column({.router = 0, .target = target, .second_leg = second_leg});
    for (std::uint32_t via = 0; via < routing_.via_count(); ++via)
      fill_column({.router = 0, .via_leg = true, .target = via});
    table_.begin_.push_back(static_cast<std::uint32_t>(table_.candidates_.size()));
    return std::move(table_);
  }

 private:
  void number_rows() {
    std::uint64_t row = 0;
    for (RouterId r = 0; r < graph_.routers(); ++r) {
      table_.first_row_.push_back(static_cast<std::uint32_t>(row));
      row += 1 + (table_.uses_input_ ? graph_.port_count(r) * table_.classes_ : 0);
    }
    table_.rows_ = row;
  }

  void number_columns() {
    std::map<std::pair<RouterId, std::uint32_t>, std::uint32_t> columns;  // by router and destination key
    for (EndpointId e = 0; e < graph_.endpoints(); ++e) {
      auto [at, fresh] = columns.try_emplace({graph_.endpoint_router(e), routing_.destination_key(e)},
                                             static_cast<std::uint32_t>(columns.size()));
      if (fresh) targets_.push_back(e);
      table_.endpoint_column_.push_back(at->second);
    }
    auto count = static_cast<std::uint32_t>(columns.size());
    if (routing_.via_count() > 0 && routing_.tells_legs()) table_.second_leg_ = count;
    table_.first_via_ = count + table_.second_leg_;
    table_.columns_ = table_.first_via_ + routing_.via_count();
  }

  bool arrived(const Hop& hop) const {
    return hop.via_leg ? routing_.via_reached(hop.router, hop.target)
                       : graph_.endpoint_router(hop.target) == hop.router;
  }

  /// Follows packets to one target from every router. A relation need not have an answer for states that no
  /// packet comes to, so it is not asked.
  void fill_column(Hop hop) {
    ++column_;
    open_.clear();
    for (hop.router = 0; hop.router < graph_.routers(); ++hop.router) open(hop);
    while (!open_.empty()) {
      hop = open_.back();
      open_.pop_back();
      set(hop);
      if (!table_.uses_input_) continue;  // all rows are open from the start
      for (const Candidate& c : answer_) {
        const PortId in = graph_.peer(graph_.port(hop.router, c.port));
        Hop next = hop;
        next.router = graph_.port_router(in);
        next.in_port = graph_.port_index(in);
        next.in_class = c.channel_class;
        open(next);
      }
    }
  }

  void open(const Hop& hop) {
    std::uint32_t& seen = seen_[table_.row(hop)];
    if (arrived(hop) || seen == column_) return;
    seen = column_;
    open_.push_back(hop);
  }

  void set(const Hop& hop) {
    routing_.candidates(hop, answer_);
    table_.lists_[std::size_t{table_.row(hop)} * table_.columns_ + table_.column(hop)] =
        number_of({answer_.begin(), answer_.end()});
  }

  std::uint32_t number_of(const std::vector<Candidate>& list) {
    std::vector<std::uint32_t> key;
    for (const Candidate& c : list) key.push_back(std::uint32_t{c.port} << 8 | c.channel_class);
    auto [at, fresh] = numbers_.try_emplace(std::move(key), static_cast<std::uint32_t>(numbers_.size()));
    if (fresh) {
      table_.begin_.push_back(static_cast<std::uint32_t>(table_.candidates_.size()));
      table_.candidates_.insert(table_.candidates_.end(), list.begin(), list.end());
    }
    return at->second;
  }

  const Routing& routing_;
  const Graph& graph_;
  RouteTable table_;
  std::vector<EndpointId> targets_;  // by column: one of its endpoints
  std::map<std::vector<std::uint32_t>, std::uint32_t> numbers_;
  Candidates answer_;
  std::vector<Hop> open_;            // states to be asked for
  std::vector<std::uint32_t> seen_;  // by row: the column it was last opened for
  std::uint32_t column_ = 0;
};

std::optional<GridRoute> compile_grid(const Routing& routing) {
  const auto* order = dynamic_cast<const DimensionOrder*>(&routing);
  if (!order || !GridRoute::fits(routing.graph()) || routing.faults().any()) return std::nullopt;
  return GridRoute(routing.graph(), order->dateline());
}

Compiled compile(const Routing& routing, const CompileLimits& limits) {
  Compiled out;
  if (limits.may_be_grid && (out.grid = compile_grid(routing))) return out;
  TableCompiler compiler(routing);
  if (compiler.rows() > 0xffff'ffff || compiler.bytes() > limits.most_bytes) {
    out.refusal = fmt::format(
        "a table of {} places a packet can stand in and {} it can go to takes {} MiB, and {} are allowed",
        with_commas(compiler.rows()), with_commas(compiler.columns()), with_commas(compiler.bytes() >> 20),
        with_commas(limits.most_bytes >> 20));
    return out;
  }
  out.table = compiler.fill();
  return out;
}

}  // namespace weft::routing
