#include "report/traffic_json.hpp"

#include <cmath>

#include "measure/traffic/histogram.hpp"

namespace weft::report {

using measure::Latency;
using measure::TrafficPoint;
using measure::TrafficResult;
using topology::Graph;

namespace {

/// Utilisations are read by people and drawn: four digits do, and the file stays small.
double rounded(double share) { return std::round(share * 1e4) / 1e4; }

Json latency_json(const Latency& latency) {
  if (latency.growing) return {{"packets", latency.packets}, {"growing", true}};
  Json histogram = Json::array();
  for (std::size_t i = 0; i < latency.histogram.size(); ++i)
    if (latency.histogram[i] > 0)
      histogram.push_back({measure::bucket_start(i), measure::bucket_start(i + 1), latency.histogram[i]});
  return {{"packets", latency.packets}, {"mean", latency.mean}, {"p50", latency.p50},    {"p99", latency.p99},
          {"p99.9", latency.p999},      {"max", latency.max},   {"histogram", histogram}};
}

/// There may be a million: each is made as it is written.
Json links_json(const TrafficPoint& point, const Graph& graph) {
  return Json::array_of(point.links.size(), [&point, &graph](std::size_t i) {
    const measure::LinkUse& link = point.links[i];
    Json one = Json::object();
    one["from"] = graph.port_name(link.port);
    one["to"] = graph.port_name(graph.peer(link.port));
    one["utilisation"] = rounded(link.utilisation);
    if (const auto over_time = point.over_time(link); !over_time.empty()) {
      one["over_time"] = Json::array();
      for (float slice : over_time) one["over_time"].push_back(rounded(slice));
    }
    return one;
  });
}

Json faults_json(const measure::FaultOutcome& faults, const Graph& graph) {
  Json out{{"undeliverable_packets", faults.undeliverable},
           {"packets_taken_back", faults.taken_back},
           {"damaged_packets", faults.damaged},
           {"cut_off", faults.cut_off},
           {"routing_at_the_end", faults.routing}};
  out["timeline"] = Json::array();
  for (const measure::FaultNote& note : faults.timeline)
    out["timeline"].push_back({{"cycle", note.cycle}, {"what", note.what}});
  out["slices"] = Json::array();
  for (const measure::FaultSlice& slice : faults.slices)
    out["slices"].push_back(
        {{"until_cycle", slice.until}, {"accepted", slice.accepted}, {"mean_latency", slice.mean_latency}});
  out["cables"] = Json::array();
  for (const measure::CableErrors& c : faults.cables)
    out["cables"].push_back({{"port", graph.port_name(c.port)},
                             {"bits_damaged", c.bits_damaged},
                             {"flits_damaged", c.errors},
                             {"flits_sent", c.sent},
                             {"flits_sent_again", c.sent_again},
                             {"timeouts", c.timeouts},
                             {"trainings", c.trainings},
                             {"deaths", c.deaths},
                             {"lanes_up", c.lanes_up},
                             {"fullest_buffer_told", c.fullest_told},
                             {"dead_links_told", c.ill_told},
                             {"effective_share_of_rate", rounded(c.effective)}});
  return out;
}

Json point_json(const TrafficPoint& point, const Graph& graph) {
  if (!point.unmeasured.empty())
    return {{"offered", point.offered}, {"accepted", nullptr}, {"not_measured", point.unmeasured}};
  Json out{{"offered", point.offered},
           {"generated", point.generated},
           {"accepted", point.accepted},
           {"refused", point.refused},
           {"injected", point.injected}};
  if (point.completion_cycles) out["completion_cycles"] = point.completion_cycles;
  out["saturated"] = point.saturated;
  out["steady"] = point.steady;
  out["filling"] = point.filling;
  out["stalled"] = point.stalled;
  if (point.stalled) out["stall"] = point.stall;
  out["packet_latency_cycles"] = latency_json(point.packet);
  if (!point.packet.growing) out["packet_latency_cycles"]["mean_half_width_95"] = point.mean_half_width;
  out["network_latency_cycles"] = latency_json(point.network);
  out["mean_routers_crossed"] = point.mean_routers;
  out["flit_hops"] = point.flit_hops;
  out["warmup_cycles"] = point.warmup_cycles;
  out["measured_cycles"] = point.measured_cycles;
  out["fairness"] = {
      {"jain", point.fairness}, {"least_source", point.least_source}, {"most_source", point.most_source}};
  out["waiting"] = Json::array();
  for (const measure::WaitingPlace& place : point.waiting)
    out["waiting"].push_back(
        {{"place", place.place}, {"flits", place.flits}, {"fullest_share", place.fullest_share}});
  if (point.faults.link_layer) out["faults"] = faults_json(point.faults, graph);
  out["links"] = links_json(point, graph);
  return out;
}

}  // namespace

Json traffic_json(const TrafficResult& result, const machine::Machine& machine) {
  Json out{{"weft", result.version},
           {"machine", result.machine},
           {"pattern", result.pattern},
           {"source", result.source},
           {"packet_flits", result.packet_flits},
           {"batch", result.batch},
           {"seed", result.seed},
           {"endpoints", result.endpoints},
           {"senders", result.senders},
           {"cycle_ns", result.cycle_ns},
           {"flit_bytes", result.flit_bytes},
           {"loads", result.loads},
           {"stopped_past_saturation", result.stopped_past_saturation},
           {"interrupted", result.interrupted}};
  out["points"] = Json::array();
  for (const TrafficPoint& point : result.points) out["points"].push_back(point_json(point, *machine.graph));
  out["settings"] = Json::object();
  for (const auto& [key, value] : result.settings) out["settings"][key] = value;
  Json points = Json::array();
  for (const TrafficPoint& point : result.points)
    points.push_back({{"load", point.offered}, {"seconds", point.seconds}});
  out["run"] = {{"command", result.command},
                {"threads", result.threads},
                {"ranks", result.ranks},
                {"seconds", result.seconds},
                {"points", points}};
  return out;
}

}  // namespace weft::report
