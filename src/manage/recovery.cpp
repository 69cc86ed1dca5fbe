#include "manage/recovery.hpp"

#include <chrono>

namespace weft::manage {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

RecoveringManager::RecoveringManager(const machine::Machine& machine, Chips& chips, const Discovery& booted)
    : machine_(machine),
      graph_(*machine.graph),
      chips_(chips),
      found_(booted),
      next_(booted.first + static_cast<ChipNumber>(booted.order.size())),
      written_(machine.routing.get()),
      classes_{table_classes(*machine.routing), 0} {
  read_all_links();
}

void RecoveringManager::read_all_links() {
  for (RouterId r : found_.order)
    links_.push_back(chips_.read_links(found_.number[r], graph_.port_count(r)).value_or(0));
}

void RecoveringManager::take_over(EndpointId node) {
  chips_.move_manager(node);
  links_.clear();
  written_ = nullptr;
}

/// Reads the links of one router after the other until one says something else, or nothing.
void RecoveringManager::notice() {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const RouterId router = found_.order[i];
    auto now = chips_.read_links(found_.number[router], graph_.port_count(router));
    if (!now || *now != links_[i]) return;
  }
}

/// What the description has and nobody answers at.
std::unique_ptr<topology::Faults> RecoveringManager::faults_now() const {
  auto faults = std::make_unique<topology::Faults>(graph_);
  for (RouterId r = 0; r < graph_.routers(); ++r) {
    if (!found_.reached(r)) {
      faults->kill_router(r);
      continue;
    }
    for (PortId p = graph_.port_begin(r); p < graph_.port_begin(r + 1); ++p)
      if (graph_.peer(p) != kNone && found_.plugs[p] != Plug{Plug::Kind::Router, graph_.peer(p)})
        faults->kill_cable(graph_.port_cable(p));
  }
  return faults;
}

std::optional<unsigned> RecoveringManager::table_in_use() {
  std::optional<unsigned> used;
  for (RouterId r : found_.order)
    for (PortId p = graph_.port_begin(r); p < graph_.port_begin(r + 1); ++p) {
      if (found_.plugs[p].kind != Plug::Kind::Interface) continue;
      auto sending = chips_.read_sending(found_.number[r], graph_.port_index(p));
      if (!sending) continue;
      if (used && *used != sending->table) return std::nullopt;
      used = sending->table;
    }
  return used.value_or(0);
}

bool RecoveringManager::tell_interfaces(Chips::Sending sending, Budget& budget) {
  for (RouterId r : found_.order)
    for (PortId p = graph_.port_begin(r); p < graph_.port_begin(r + 1); ++p) {
      if (found_.plugs[p].kind != Plug::Kind::Interface) continue;
      if (!budget.spend()) return false;
      chips_.write_sending(found_.number[r], graph_.port_index(p), sending);
    }
  return true;
}

bool RecoveringManager::write(const routing::Routing& routing, Budget& budget, Recovery& out) {
  const std::optional<unsigned> agreed = table_in_use();
  // Somebody died while interfaces went over to a new table: both are in use, so nobody sends until all is
  // new.
  const unsigned used = agreed.value_or(1), fresh = 1 - used;
  if (!agreed && !tell_interfaces({true, used}, budget)) return false;
  const bool keep = agreed && written_ && table_classes(routing) == classes_[used];
  classes_[fresh] = table_classes(routing);
  TableWriter writer(routing, fresh, chips_, budget);
  for (auto router = found_.order.rbegin(); router != found_.order.rend(); ++router) {
    const ChipNumber chip = found_.number[*router];
    if (keep) {
      if (!budget.spend()) return false;
      chips_.write_copy(chip, used);
    }
    if (!writer.write(*router, chip, keep ? written_ : nullptr, out.tables)) return false;
  }
  // All hold before the first goes on: packets by both tables are never under way together.
  return tell_interfaces({true, used}, budget) && tell_interfaces({false, fresh}, budget);
}

Recovery RecoveringManager::recover(std::uint64_t pairs, std::uint64_t most_writes) {
  Recovery out;
  const Time begin = chips_.time();
  const std::uint64_t reads = chips_.reads(), writes = chips_.writes();
  notice();
  found_ = discover(graph_, chips_, next_);
  next_ += static_cast<ChipNumber>(found_.order.size());
  out.detect = chips_.time() - begin;
  routing::VerifyOptions how;
  how.channels = machine_.description.router.channels;
  auto clock = std::chrono::steady_clock::now();
  Routes fresh{faults_now(), nullptr};
  routing::Rerouted rerouted =
      routing::reroute(*machine_.description.routing, machine_.description.routing_parameters.get(), graph_,
                       *fresh.faults, how);
  fresh.routing = std::move(rerouted.routing);
  out.compute = seconds_since(clock);
  clock = std::chrono::steady_clock::now();
  const routing::Verdict verdict = routing::verify(*fresh.routing, how);
  out.prove = seconds_since(clock);
  out.routing = rerouted.name;
  out.cut_off = verdict.cut_off_pairs;
  out.proved = verdict.serves_what_is_left();
  const Time before = chips_.time();
  Budget budget(most_writes);
  out.complete = out.proved && write(*fresh.routing, budget, out);
  written_ = out.complete ? fresh.routing.get() : nullptr;
  routes_ = std::move(fresh);
  links_.clear();
  if (out.complete) read_all_links();
  out.write = chips_.time() - before;
  out.reads = chips_.reads() - reads;
  out.writes = chips_.writes() - writes;
  follow(graph_, found_, chips_, classes_, pairs, out.tables, &out.lost);
  return out;
}

}  // namespace weft::manage
