#include <fmt/format.h>

#include "measure/run/collective_pattern.hpp"
#include "measure/run/collective_table.hpp"
#include "report/mpi_protocols.hpp"
#include "report/run_answer.hpp"
#include "report/run_report.hpp"

namespace weft::report {

using measure::OperationSums;
using nic::Breakdown;

namespace {

double ns(Time t) { return static_cast<double>(t.value) / 1000; }
double ns(const TimeSum& sum) { return sum.picoseconds() / 1000; }

Json operation_json(const OperationSums& sums) {
  Json out{{"count", sums.count}, {"failed", sums.failed}, {"bytes", sums.bytes}};
  if (sums.count == 0) return out;
  auto count = static_cast<double>(sums.count);
  out["mean_ns"] = ns(sums.total) / count;
  out["least_ns"] = ns(sums.shortest);
  out["most_ns"] = ns(sums.longest);
  for (int i = 0; i < Breakdown::kParts; ++i)
    out["mean_parts_ns"][Breakdown::name(i)] = ns(sums.parts[static_cast<std::size_t>(i)]) / count;
  return out;
}

Json counters_json(const nic::Counters& c) {
  return {{"messages", c.messages},
          {"puts", c.puts},
          {"gets", c.gets},
          {"atomics", c.atomics},
          {"failed", c.failed},
          {"packets_sent", c.packets_sent},
          {"packets_received", c.packets_received},
          {"bytes_sent", c.bytes_sent},
          {"bytes_received", c.bytes_received},
          {"translations", c.translations},
          {"translation_misses", c.translation_misses},
          {"retries", c.retries},
          {"corrupted", c.corrupted},
          {"context_pauses", c.context_pauses},
          {"context_refusals", c.context_refusals},
          {"window_stalls", c.window_stalls},
          {"messages_held", c.messages_held},
          {"events_held", c.events_held},
          {"reordered", c.reordered},
          {"order_waits", c.order_waits},
          {"interrupts", c.interrupts},
          {"interrupts_held", c.interrupts_held},
          {"refused", c.refused},
          {"deepest_queue", c.deepest_queue},
          {"split_stores", c.split_stores},
          {"buffer_waits", c.buffer_waits},
          {"held_back", c.held_back},
          {"core_stalls", c.core_stalls},
          {"core_stall_ns", ns(c.core_stall_time)},
          {"watchdog_ends", c.watchdog_ends},
          {"channel_waits", c.channel_waits},
          {"untranslated", c.untranslated},
          {"table_waits", c.table_waits},
          {"control_packets", c.control_packets},
          {"reduced_packets", c.reduced_packets},
          {"local_triggers", c.local_triggers},
          {"sequences_run", c.triggered},
          {"table_busy_ns", ns(c.table_busy)},
          {"busy_ns", ns(c.busy)}};
}

Json calls_json(const measure::ProgramResult& result, const measure::RunDetails& details) {
  Json out{{"mpi_calls", Json::array()}, {"mpi_collectives", Json::array()}};
  for (const measure::CallSums& s : details.mpi.calls)
    out["mpi_calls"].push_back({{"call", abi::call_facts(s.call).name},
                                {"count", s.count},
                                {"bytes", s.bytes},
                                {"total_ns", ns(s.total)},
                                {"longest_ns", ns(s.longest)}});
  for (const measure::CollectiveSums& s : details.mpi.collectives)
    out["mpi_collectives"].push_back(
        {{"call", abi::call_facts(s.slowest.call).name},
         {"bytes", s.slowest.bytes},
         {"members", s.slowest.members},
         {"count", s.count},
         {"mean_ns", ns(s.total) / static_cast<double>(s.count)},
         {"slowest_ns", ns(s.slowest.took())},
         {"slowest_at_ns", ns(s.slowest.last_came)},
         {"last_rank", s.slowest.last_rank},
         {"how", measure::algorithm_of(s.slowest, details.transfers.all(), result.run.ranks)},
         {"waited_for_last_ns", ns(s.slowest.last_came - s.slowest.first_came)}});
  out["mpi_calls_left_out"] = details.mpi.left_out;
  return out;
}

}  // namespace

Json run_json(const measure::ProgramResult& result, const measure::RunStats& stats,
              const measure::RunDetails& details, const machine::Machine& machine) {
  Json out{{"weft", result.version}, {"machine", result.machine}, {"engine", result.engine}};
  out["run"] = {{"command", result.command}, {"seed", result.seed}, {"fine", result.run.fine}};
  for (const network::Network::Incident& incident : result.incidents)
    out["run"]["incidents"].push_back({{"at_ps", incident.at.value}, {"what", incident.what}});
  if (!result.run.fine) {
    out["run"]["failure"] = result.run.failure;
    out["run"]["details"] = result.run.details;
  }
  out["virtual_time_ns"] = ns(result.run.end);
  out["turns"] = result.run.grants;  // hand-overs from the simulator to a rank: what a run costs
  out["ranks"] = Json::array();
  for (std::size_t i = 0; i < result.run.ranks.size(); ++i) {
    const host::RankResult& rank = result.run.ranks[i];
    out["ranks"].push_back({{"rank", i},
                            {"node", rank.node},
                            {"end_ns", ns(rank.end)},
                            {"waited_ns", ns(rank.waited)},
                            {"exit_code", rank.ending.code},
                            {"signal", rank.ending.signal}});
  }
  if (details.answer.known) out["answer"] = answer_json(details.answer, machine);
  if (!details.mpi.calls.empty()) out.update(calls_json(result, details));
  for (std::size_t i = 1; i < measure::kOperations; ++i)
    if (const OperationSums& sums = stats.operations(i); sums.count || sums.failed)
      out["operations"][measure::operation_name(i)] = operation_json(sums);
  if (result.run.has_mpi) out["mpi"] = protocols_json(result.run);
  for (unsigned i = 0; i < abi::kOffloaded; ++i) {
    const abi::CollectiveSums& sums = result.run.mpi.collectives;
    const char* name = measure::kCollectiveNames[i];
    if (sums.offloaded[i]) out["collectives"][name]["offloaded"] = sums.offloaded[i];
    if (sums.in_routers[i]) out["collectives"][name]["in routers"] = sums.in_routers[i];
    for (unsigned j = 0; j < abi::kFallbacks; ++j)
      if (sums.fallen_back[i][j])
        out["collectives"][name]["left to the library"][measure::kFallbackReasons[j]] =
            sums.fallen_back[i][j];
  }
  for (unsigned i = 0; i < abi::kNotInRouters; ++i)
    if (const std::uint64_t calls = result.run.mpi.collectives.not_in_routers[i])
      out["collectives"]["not in routers"][measure::kNotInRoutersReasons[i]] = calls;
  out["sizes"] = Json::array();
  for (std::size_t i = 0; i < stats.sizes().size(); ++i)
    if (stats.sizes()[i])
      out["sizes"].push_back({{"from", i ? std::uint64_t{1} << (i - 1) : 0},
                              {"to", i ? (std::uint64_t{1} << i) - 1 : 0},
                              {"operations", stats.sizes()[i]}});
  out["matrix"] = Json::array();
  for (std::uint32_t from = 0; stats.has_matrix() && from < stats.ranks(); ++from)
    for (std::uint32_t to = 0; to < stats.ranks(); ++to)
      if (stats.count(from, to))
        out["matrix"].push_back({from, to, stats.count(from, to), stats.bytes(from, to)});
  out["interfaces"] = Json::array();
  for (std::size_t i = 0; i < result.nics.size(); ++i) {
    Json one{{"node", result.nodes[i]}};
    one.update(counters_json(result.nics[i]));
    out["interfaces"].push_back(std::move(one));
  }
  for (const config::Setting& setting : machine.description.settings)
    out["configuration"][setting.key] = setting.value;
  return out;
}

std::string matrix_csv(const measure::RunStats& stats) {
  std::string out = "from,to,operations,bytes\n";
  for (std::uint32_t from = 0; stats.has_matrix() && from < stats.ranks(); ++from)
    for (std::uint32_t to = 0; to < stats.ranks(); ++to)
      if (stats.count(from, to))
        out += fmt::format("{},{},{},{}\n", from, to, stats.count(from, to), stats.bytes(from, to));
  return out;
}

std::string breakdown_csv(const measure::RunStats& stats) {
  std::string out = "operation,count,bytes,total_ns";
  for (int i = 0; i < Breakdown::kParts; ++i) out += fmt::format(",{}_ns", Breakdown::name(i));
  out += "\n";
  for (std::size_t o = 1; o < measure::kOperations; ++o) {
    const OperationSums& sums = stats.operations(o);
    if (!sums.count) continue;
    out += fmt::format("{},{},{},{}", measure::operation_name(o), sums.count, sums.bytes, ns(sums.total));
    for (const TimeSum& part : sums.parts) out += fmt::format(",{}", ns(part));
    out += "\n";
  }
  return out;
}

}  // namespace weft::report
