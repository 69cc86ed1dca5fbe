#include "report/monitor_json.hpp"

namespace weft::report {

Json monitor_json(const measure::Monitor& monitor, const topology::Graph& graph) {
  Json out{{"period_ps", monitor.period().value},
           {"round_ps", monitor.round().value},
           {"rounds", monitor.rounds()},
           {"readings", monitor.readings().size()},
           {"all_kept", monitor.all_kept()}};
  out["alarms"] = Json::array();
  for (const measure::Monitor::Alarm& alarm : monitor.alarms()) {
    const topology::PortId peer = graph.peer(alarm.port);
    out["alarms"].push_back({{"since_ps", alarm.since.value},
                             {"known_ps", alarm.seen.value},
                             {"port", graph.port_name(alarm.port)},
                             {"to", peer == topology::kNone ? "" : graph.port_name(peer)},
                             {"what", alarm.what}});
  }
  return out;
}

}  // namespace weft::report
