#include "report/run_storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "host/call_log.hpp"
#include "report/figures.hpp"
#include "report/html_page.hpp"
#include "report/plot_axis.hpp"
#include "report/run_sections.hpp"
#include "report/svg.hpp"

namespace weft::report {

namespace {

constexpr std::size_t kMostLinks = 16;

double ns(Time t) { return static_cast<double>(t.value) / 1000; }
std::string time_of(Time t) { return host::time_text(t); }

/// Of one link between routers.
struct StorageLoad {
  network::flow::LinkId link;
  std::uint64_t bytes, storage;
};

/// Links that carried data of files, those with the most of it first.
std::vector<StorageLoad> loads_of(const measure::ProgramResult& result, const measure::RunDetails& details,
                                  measure::LinkLoads& loads) {
  std::vector<measure::Transfer> files;
  for (const measure::Transfer& t : details.transfers.all())
    if (t.storage) files.push_back(t);
  std::map<network::flow::LinkId, StorageLoad> by_link;
  for (const measure::LinkLoad& load : loads.between(files, Time{0}, result.run.end))
    if (loads.between_routers(load.link)) by_link[load.link] = {load.link, 0, load.bytes};
  for (const measure::LinkLoad& load : loads.between(details.transfers.all(), Time{0}, result.run.end))
    if (const auto found = by_link.find(load.link); found != by_link.end()) found->second.bytes = load.bytes;
  std::vector<StorageLoad> out;
  for (const auto& [link, load] : by_link) out.push_back(load);
  std::stable_sort(out.begin(), out.end(),
                   [](const StorageLoad& a, const StorageLoad& b) { return a.storage > b.storage; });
  return out;
}

double share(const StorageLoad& load) {
  return load.bytes ? static_cast<double>(load.storage) / static_cast<double>(load.bytes) : 0;
}

std::uint64_t reads(const storage::BufferCounters& c) { return c.reads_local + c.reads_remote + c.misses; }

double hit_rate(const storage::BufferCounters& c) {
  return reads(c) ? static_cast<double>(c.reads_local + c.reads_remote) / static_cast<double>(reads(c)) : 0;
}

Time waited(const storage::BufferCounters& c) {
  return Time{static_cast<std::int64_t>(c.waited.picoseconds())};
}

Json buffer_json(const storage::Figures& f) {
  const storage::BufferCounters& c = f.buffer;
  return {{"bytes", f.buffer_bytes},
          {"reads", {{"own_node", c.reads_local}, {"other_node", c.reads_remote}, {"servers", c.misses}}},
          {"bytes_read",
           {{"own_node", c.bytes_local}, {"other_node", c.bytes_remote}, {"servers", c.bytes_missed}}},
          {"writes", {{"own_node", c.writes_local}, {"other_node", c.writes_remote}}},
          {"bytes_written", {{"own_node", c.bytes_written_local}, {"other_node", c.bytes_written_remote}}},
          {"hit_rate", hit_rate(c)},
          {"blocks_fetched", c.blocks_fetched},
          {"bytes_fetched", c.bytes_fetched},
          {"blocks_staged_in", c.blocks_staged},
          {"stage_in_ns", ns(c.stage_in)},
          {"blocks_prefetched", c.blocks_prefetched},
          {"prefetched_used", c.prefetched_used},
          {"blocks_flushed", c.blocks_flushed},
          {"bytes_flushed", c.bytes_flushed},
          {"bytes_no_server_took", c.bytes_lost},
          {"evicted", c.evicted},
          {"waits_for_flushes", c.waits},
          {"waited_for_flushes_ns", ns(waited(c))},
          {"questions", c.questions}};
}

}  // namespace

std::vector<std::string> storage_lines(const storage::Figures& f) {
  std::vector<std::string> out;
  if (f.cache_bytes)
    out.push_back(fmt::format("memory of nodes: {} of {} reads of files found all of their data there",
                              with_commas(f.cache_hits), with_commas(f.cache_hits + f.cache_misses)));
  if (!f.buffer_bytes) return out;
  const storage::BufferCounters& c = f.buffer;
  out.push_back(fmt::format(
      "burst buffer: {} of {} reads found their block there, {} on the reader's own node; {} written to it",
      with_commas(c.reads_local + c.reads_remote), with_commas(reads(c)), with_commas(c.reads_local),
      bytes_text(c.bytes_written_local + c.bytes_written_remote)));
  std::string more =
      fmt::format("{} fetched, {} flushed", bytes_text(c.bytes_fetched), bytes_text(c.bytes_flushed));
  if (c.stage_in > Time{0}) more += fmt::format("; ranks began after {} of stage-in", time_of(c.stage_in));
  if (c.waits)
    more +=
        fmt::format("; {} waited {} in all for flushes", count_of(c.waits, "request"), time_of(waited(c)));
  if (c.last_flush > f.ranks_end)
    more += fmt::format("; the flush at the end took {}", time_of(c.last_flush - f.ranks_end));
  if (c.bytes_lost) more += fmt::format("; NO SERVER TOOK {}", bytes_text(c.bytes_lost));
  out.push_back("burst buffer: " + more);
  return out;
}

Json servers_json(const storage::Figures& figures) {
  Json out = Json::array();
  for (const storage::Figures::Server& s : figures.servers)
    out.push_back({{"name", s.name},
                   {"node", s.node},
                   {"requests", s.counters.requests},
                   {"bytes_read", s.counters.bytes_read},
                   {"bytes_written", s.counters.bytes_written},
                   {"busy_ns", s.counters.busy.picoseconds() / 1000}});
  return out;
}

Json storage_json(const measure::ProgramResult& result, const measure::RunDetails& details,
                  const machine::Machine& machine) {
  const storage::Figures& f = result.run.storage;
  Json out{{"servers", servers_json(f)}, {"repeated", f.repeated}, {"links", Json::array()}};
  if (f.cache_bytes)
    out["node_memory"] = {{"bytes", f.cache_bytes},
                          {"reads_found", f.cache_hits},
                          {"reads_not_found", f.cache_misses},
                          {"bytes_found", f.cache_bytes_hit},
                          {"bytes_written_later", f.cache_bytes_flushed}};
  if (f.buffer_bytes) {
    out["burst_buffer"] = buffer_json(f);
    out["burst_buffer"]["end_flush_ns"] =
        ns(std::max(Time{0}, Time{f.buffer.last_flush.value - f.ranks_end.value}));
  }
  measure::LinkLoads loads(machine);
  for (const StorageLoad& load : loads_of(result, details, loads))
    out["links"].push_back({{"link", loads.links().name(load.link)},
                            {"bytes", load.bytes},
                            {"storage_bytes", load.storage},
                            {"share", share(load)}});
  return out;
}

std::string storage_section(const measure::ProgramResult& result, const measure::RunDetails& details,
                            const machine::Machine& machine) {
  const storage::Figures& f = result.run.storage;
  if (f.servers.empty()) return "";
  std::string lead = "What the servers of the file system have done";
  for (const std::string& line : storage_lines(f)) lead += ". " + escape_xml(line);
  std::vector<std::vector<std::string>> rows;
  for (const storage::Figures::Server& s : f.servers)
    rows.push_back({s.name, std::to_string(s.node), with_commas(s.counters.requests),
                    bytes_text(s.counters.bytes_read), bytes_text(s.counters.bytes_written)});
  std::string body =
      html_table({{"Server"}, {"Node", true}, {"Requests", true}, {"Read", true}, {"Written", true}}, rows);
  measure::LinkLoads loads(machine);
  rows.clear();
  for (const StorageLoad& load : loads_of(result, details, loads)) {
    if (rows.size() == kMostLinks) break;
    rows.push_back({fmt::format("<span class=\"link\">{}</span>", escape_xml(loads.links().name(load.link))),
                    bytes_text(load.bytes), bytes_text(load.storage), percent(share(load))});
  }
  if (!rows.empty())
    body += html_table({{"Link"}, {"Carried", true}, {"Of files", true}, {"Share", true}}, rows);
  return html_section("storage", "Files", lead + ".", body);
}

}  // namespace weft::report
