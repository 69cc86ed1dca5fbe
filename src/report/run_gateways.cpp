#include "report/run_gateways.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/html_page.hpp"
#include "report/run_sections.hpp"

namespace weft::report {

Json gateways_json(const network::JoinedNetwork& networks) {
  Json out = Json::array();
  for (const network::JoinedNetwork::GatewayState& g : networks.gateways())
    out.push_back({{"node", g.node},
                   {"packets", g.packets},
                   {"bytes", g.bytes},
                   {"waited", g.waited},
                   {"lost", g.lost},
                   {"most_held_bytes", g.most_held},
                   {"busy_ns", static_cast<double>(g.busy.value) / 1000}});
  return out;
}

std::string gateways_section(const network::JoinedNetwork& networks) {
  std::vector<std::vector<std::string>> rows;
  for (const network::JoinedNetwork::GatewayState& g : networks.gateways())
    if (g.packets || g.lost)
      rows.push_back({std::to_string(g.node), with_commas(g.packets), bytes_text(g.bytes),
                      with_commas(g.waited), bytes_text(g.most_held), with_commas(g.lost)});
  if (rows.empty()) return "";
  return html_section("gateways", "What gateways passed on",
                      "Packets from one network to another. One waits at its source where the gateway has no "
                      "place left for its node.",
                      html_table({{"Node"},
                                  {"Packets", true},
                                  {"Data", true},
                                  {"Waited for a place", true},
                                  {"Most in its buffer", true},
                                  {"Lost", true}},
                                 rows));
}

}  // namespace weft::report
