#include "network/flit/buffers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.hpp"

namespace weft::network::flit {

using machine::Machine;

namespace {

unsigned in_flits(std::uint64_t cycles, std::uint64_t interval) {
  return static_cast<unsigned>((cycles * 256 + interval - 1) / interval);
}

unsigned longest_packet(const Machine& m, unsigned asked) { return std::max(asked, usual_packet_flits(m)); }

}  // namespace

unsigned credit_round_trip(const Timing& t, unsigned cable_cycles) {
  return 2 * (t.traverse_cycles + cable_cycles) + t.route_cycles + t.allocate_cycles;
}

unsigned usual_packet_flits(const Machine& m) {
  constexpr std::int64_t kLeast = 32;
  const std::int64_t flit = m.description.router.flit.value;
  const std::int64_t bytes = m.description.nic.payload.value + m.description.nic.header.value;
  return static_cast<unsigned>(std::max(kLeast, (bytes + flit - 1) / flit));
}

unsigned buffer_flits(const Machine& m, const Timing& t, topology::CableId c, unsigned longest_packet_flits) {
  if (auto given = m.description.router.buffer_flits.given) return *given;
  const CableTiming cable = cable_timing(m, t, c);
  return in_flits(credit_round_trip(t, static_cast<unsigned>(cable.cycles)), cable.interval) +
         longest_packet(m, longest_packet_flits);
}

unsigned local_buffer_flits(const Machine& m, const Timing& t, unsigned longest_packet_flits) {
  if (auto given = m.description.router.buffer_flits.given) return *given;
  return 2 * t.endpoint_cycles + t.router_cycles() + longest_packet(m, longest_packet_flits);
}

std::vector<CableBuffers> cable_buffers(const Machine& m) {
  const auto& router = m.description.router;
  const Timing t = timing_of(m);
  std::map<std::tuple<std::size_t, std::int64_t>, CableBuffers> groups;
  for (topology::CableId c = 0; c < m.graph->cables(); ++c) {
    const topology::CableType& type = m.graph->cable_type(c);
    const auto number = static_cast<std::size_t>(&type - m.graph->cable_types().data());
    CableBuffers& group = groups[{number, m.graph->cable_length(c).value}];
    if (group.cables++ > 0) continue;
    const CableTiming cable = cable_timing(m, t, c);
    group.type = type.name;
    group.round_trip_cycles = credit_round_trip(t, static_cast<unsigned>(cable.cycles));
    group.round_trip_flits = in_flits(group.round_trip_cycles, cable.interval);
    group.channels = router.channels;
    group.own_flits = buffer_flits(m, t, c, 1);
    group.shared_flits = router.shared_flits;
    group.flit_bytes = static_cast<unsigned>(router.flit.value);
  }
  std::vector<CableBuffers> out;
  for (auto& [key, group] : groups) out.push_back(std::move(group));
  return out;
}

std::vector<std::string> buffer_warnings(const std::vector<CableBuffers>& buffers) {
  std::vector<std::string> out;
  for (const CableBuffers& b : buffers) {
    if (b.all_channels() >= 1) continue;
    out.push_back(fmt::format("{} {} at most {:.0f}% of {} rate: {} for a credit round trip of {}",
                              count_of(b.cables, b.type + " cable"), b.cables == 1 ? "carries" : "carry",
                              100 * b.all_channels(), b.cables == 1 ? "its" : "their",
                              count_of(b.port_flits(), "flit"), b.round_trip_flits));
  }
  return out;
}

}  // namespace weft::network::flit
