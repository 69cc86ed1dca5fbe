#include "report/boot_report.hpp"
#include "report/run_storage.hpp"

namespace weft::report {

namespace {

Json ranks_json(const host::RunResult& result) {
  Json ranks = Json::array();
  for (const host::RankResult& rank : result.ranks)
    ranks.push_back(Json{{"node", rank.node},
                         {"end_ps", rank.end.value},
                         {"waited_ps", rank.waited.value},
                         {"ending", rank.ending.text()}});
  return Json{{"failure", result.failure}, {"end_ps", result.end.value}, {"each", std::move(ranks)}};
}

}  // namespace

Json boot_json(const BootReport& report) {
  const guest::BootResult& result = report.result;
  Json out{{"version", report.version},
           {"command", report.command},
           {"machine", report.machine.description.identity.name},
           {"engine", report.engine},
           {"seed", report.seed},
           {"failure", result.failure},
           {"end_ps", result.end.value},
           {"rounds", result.rounds},
           {"broadcast_bytes", report.traffic.broadcast()}};
  Json nodes = Json::array();
  for (std::size_t i = 0; i < result.nodes.size(); ++i) {
    const guest::NodeResult& node = result.nodes[i];
    Json sent = Json::array();
    for (std::size_t to = 0; to < result.nodes.size(); ++to) sent.push_back(report.traffic.bytes(i, to));
    Json accelerators = Json::array();
    for (const std::string& one : node.accelerators) accelerators.push_back(one);
    Json one{{"name", node.name},
             {"node", node.node},
             {"accelerator", node.accelerator},
             {"exit_code", node.code},
             {"failure", node.failure},
             {"network_up_ps", node.network_up.value},
             {"end_ps", node.end.value},
             {"booted_ps", node.booted.value},
             {"frames_sent", node.ethernet.frames_sent},
             {"bytes_sent", node.ethernet.bytes_sent},
             {"frames_received", node.ethernet.frames_received},
             {"bytes_received", node.ethernet.bytes_received},
             {"lost_no_room", node.ethernet.no_room},
             {"lost_in_network", node.ethernet.unsent},
             {"lost_damaged", node.ethernet.damaged},
             {"interrupts", node.ethernet.interrupts},
             {"kernel_ps", static_cast<std::int64_t>(node.ethernet.processor.value)},
             {"tcp_sent_again", report.traffic.sent_again(i)},
             {"bytes_to", sent},
             {"accelerators", std::move(accelerators)}};
    if (const guest::FileShareCounters& files = node.files; files.messages)
      one["files"] = Json{{"messages", files.messages},
                          {"bytes_read", files.bytes_read},
                          {"bytes_written", files.bytes_written}};
    nodes.push_back(std::move(one));
  }
  out["nodes"] = std::move(nodes);
  if (const guest::StormTimes storm = guest::storm_times(result); storm.nodes)
    out["storm"] = Json{
        {"nodes", storm.nodes},          {"skeletons", storm.skeletons},    {"recorded", result.recorded},
        {"first_ps", storm.first.value}, {"median_ps", storm.median.value}, {"last_ps", storm.last.value}};
  const storage::Figures& storage =
      result.storage.servers.empty() ? report.ranks.storage : result.storage;  // ranks beside nodes share it
  if (!storage.servers.empty())
    out["storage"] = Json{{"servers", servers_json(storage)}, {"repeated", storage.repeated}};
  if (!report.ranks.ranks.empty()) out["ranks"] = ranks_json(report.ranks);
  if (!result.grants.empty()) {
    Json grants = Json::array();
    for (const guest::GrantRecord& one : result.grants)
      grants.push_back(Json{{"at_ps", one.at.value},
                            {"done_ps", one.done.value},
                            {"request", one.request},
                            {"outcome", one.outcome}});
    out["grants"] = std::move(grants);
  }
  Json incidents = Json::array();
  for (const network::Network::Incident& incident : report.incidents)
    incidents.push_back(Json{{"at_ps", incident.at.value}, {"what", incident.what}});
  out["incidents"] = std::move(incidents);
  return out;
}

}  // namespace weft::report
