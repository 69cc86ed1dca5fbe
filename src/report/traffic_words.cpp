// The paragraph at the head of a report. It claims no more than the figures show: where no link is full, it
// says so and names the place where packets stand instead.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "network/flit/buffers.hpp"
#include "report/traffic_findings.hpp"

namespace weft::report {

using measure::TrafficPoint;
using measure::TrafficResult;
using topology::Graph;

namespace {

/// Kinds this near the busiest fill up together with it.
constexpr double kAlike = 0.95;
/// Below this a link has room to spare, and something else holds the traffic up.
constexpr double kBusy = 0.75;
/// Of Jain's index; below it, some sources get a good deal less than others.
constexpr double kFair = 0.9;

std::string listed(const std::vector<std::string>& words) {
  if (words.size() < 2) return words.empty() ? "" : words.front();
  std::vector<std::string> head(words.begin(), words.end() - 1);
  return join(head, ", ") + " and " + words.back();
}

/// The kinds whose busiest links are about as busy as the busiest of all; families whole where both ways are.
std::string busiest_kinds(const std::vector<LinkKindUse>& kinds) {
  double busiest = 0;
  for (const LinkKindUse& use : kinds) busiest = std::max(busiest, use.busiest);
  auto hot = [&](const LinkKindUse& use) { return use.busiest >= kAlike * busiest; };
  std::map<std::string, bool> whole;  // by family
  for (const LinkKindUse& use : kinds) {
    auto [family, is_new] = whole.try_emplace(use.kind.family, true);
    family->second = family->second && hot(use);
  }
  if (whole.size() > 1 && std::all_of(kinds.begin(), kinds.end(), hot)) return "of all kinds alike";
  std::vector<std::string> words;
  for (const LinkKindUse& use : kinds) {
    if (!hot(use)) continue;
    std::string word = use.kind.family;
    if (!whole[use.kind.family] && !use.kind.direction.empty())
      word += fmt::format(" ({})", use.kind.direction);
    if (words.empty() || words.back() != word) words.push_back(std::move(word));
  }
  return listed(words);
}

std::string link_text(const Graph& graph, topology::PortId port) {
  topology::PortId to = graph.peer(port);
  return fmt::format("{} \u2192 {}", graph.router_name(graph.port_router(port)),
                     graph.router_name(graph.port_router(to)));
}

/// The fullest kind of buffer between routers. That buffers fill where sources put packets in says only that
/// the network takes no more.
const measure::WaitingPlace* fullest_buffer(const TrafficPoint& point) {
  const measure::WaitingPlace* out = nullptr;
  for (const auto& place : point.waiting)
    if (place.place.starts_with("input buffers") && (!out || place.fullest_share > out->fullest_share))
      out = &place;
  return out;
}

std::string cause(const TrafficPoint& point, const machine::Machine& machine) {
  const Graph& graph = *machine.graph;
  auto hottest = hottest_links(point, 1);
  if (hottest.empty()) return " There are no links between routers: the limit is the router itself.";
  auto kinds = use_by_kind(graph, point);
  double busiest = hottest.front()->utilisation;
  std::string busiest_link = link_text(graph, hottest.front()->port);
  std::uint64_t full = 0, links = 0;
  for (const LinkKindUse& use : kinds) full += use.full, links += use.links;
  if (busiest >= kFull)
    return fmt::format(
        " What fills up first are the links {}: {} of all {} are at least {} full, the busiest ({}) {}, and "
        "the queues of the sources grow.",
        busiest_kinds(kinds), with_commas(full), count_of(links, "link"), percent(kFull), busiest_link,
        percent(busiest));
  if (busiest >= kBusy)
    return fmt::format(
        " The busiest are the links {}, up to {} full ({}): close to all they can carry, and the queues of "
        "the "
        "sources grow.",
        busiest_kinds(kinds), percent(busiest), busiest_link);
  std::string out = fmt::format(
      " No link between routers is full: the busiest are those {}, which carry up to {} of what they could.",
      busiest_kinds(kinds), percent(busiest));
  auto warnings = network::flit::buffer_warnings(network::flit::cable_buffers(machine));
  if (!warnings.empty())
    return out + fmt::format(" Their buffers are too short for their credits: {}.", join(warnings, "; "));
  if (const auto* buffer = fullest_buffer(point); buffer && buffer->fullest_share >= 0.4)
    return out +
           fmt::format(
               " Packets hold each other up in the {} instead, {} full on average at the worst port: more "
               "buffers or channels may help, faster cables would not.",
               buffer->place, percent(buffer->fullest_share));
  if (point.accepted >= kFull)
    return out + " The endpoints send nearly all they can: the limit is their own links.";
  return out +
         " What holds the traffic up is not the cables: buffers too small for the time credits take to come "
         "back, contention within routers, or endpoints that receive no more.";
}

std::string latency_words(const Findings& f, const Units& units) {
  if (!f.last_taken) return "";
  auto both = [&](double cycles) {
    return fmt::format("{} cycles ({})", units.cycles(cycles), units.time(cycles));
  };
  if (f.last_taken == f.lowest)
    return fmt::format(" Packets take {} on average at load {}, 99% of them at most {}.",
                       both(f.lowest->packet.mean), units.load(f.lowest->offered),
                       units.cycles(f.lowest->packet.p99));
  return fmt::format(
      " Mean latency goes from {} at load {} to {} at {}, where 99% of packets take at most {}.",
      both(f.lowest->packet.mean), units.load(f.lowest->offered), both(f.last_taken->packet.mean),
      units.load(f.last_taken->offered), both(f.last_taken->packet.p99));
}

std::string batch_words(const TrafficResult& result, const Graph& graph, const Units& units) {
  const TrafficPoint& last = result.points.back();
  auto cycles = static_cast<double>(last.completion_cycles);
  std::string out =
      fmt::format("{} from each of {} arrive within {} cycles ({}).", count_of(result.batch, "packet"),
                  count_of(result.senders, "endpoint"), units.cycles(cycles), units.time(cycles));
  if (auto hottest = hottest_links(last, 1); !hottest.empty())
    out +=
        fmt::format(" The busiest link ({}) is {} full on average over that time; the busiest are those {}.",
                    link_text(graph, hottest.front()->port), percent(hottest.front()->utilisation),
                    busiest_kinds(use_by_kind(graph, last)));
  return out;
}

}  // namespace

std::string summary_in_words(const TrafficResult& result, const machine::Machine& machine) {
  Findings f = find(result);
  if (!f.focus) return "No load was measured to its end.";
  Units units = units_of(result);
  const Graph& graph = *machine.graph;
  std::string per = result.senders < result.endpoints ? "flits per sending endpoint and cycle"
                                                      : "flits per endpoint and cycle";
  if (f.stalled)
    return fmt::format(
        "At load {} the network comes to a standstill: packets wait for each other in a cycle, and nothing "
        "moves any more. The cycle is listed below, hop by hop.",
        units.load(f.stalled->offered));
  if (result.batch) return batch_words(result, graph, units);
  std::string out;
  if (!f.too_much) {
    out = fmt::format("The network takes every load it was offered, up to {} {} ({}), and does not saturate.",
                      units.load(f.focus->offered), per, units.rate(f.focus->offered));
    if (auto hottest = hottest_links(*f.focus, 1); !hottest.empty())
      out += fmt::format(" The busiest are the links {}, up to {} full at the highest load.",
                         busiest_kinds(use_by_kind(graph, *f.focus)), percent(hottest.front()->utilisation));
  } else {
    out = f.last_taken
              ? fmt::format(
                    "Accepted traffic follows the offered load up to {} {} ({}); of {} the network "
                    "takes only {}.",
                    units.load(f.last_taken->offered), per, units.rate(f.last_taken->offered),
                    units.load(f.too_much->offered), units.load(f.too_much->accepted))
              : fmt::format("The lowest load is already too much: of {} {} ({}) the network takes only {}.",
                            units.load(f.too_much->offered), per, units.rate(f.too_much->offered),
                            units.load(f.too_much->accepted));
    out += cause(*f.too_much, machine);
    const TrafficPoint& last = result.points.back();
    if (last.accepted < 0.95 * f.best->accepted)
      out += fmt::format(" Past saturation it takes less, not more: {} of {}.", units.load(last.accepted),
                         units.load(last.offered));
    if (f.too_much->filling)
      out += fmt::format(
          " Its buffers still fill after {} cycles: at load {} it takes in {} and delivers {}. What it "
          "delivers has kept still for {} cycles, but may change once they are full.",
          units.cycles(static_cast<double>(f.too_much->warmup_cycles + f.too_much->measured_cycles)),
          units.load(f.too_much->offered), units.load(f.too_much->injected), units.load(f.too_much->accepted),
          units.cycles(static_cast<double>(f.too_much->measured_cycles)));
    if (f.too_much->fairness < kFair)
      out += fmt::format(" It is shared unequally: at load {} the worst source gets {} through, the best {}.",
                         units.load(f.too_much->offered), units.load(f.too_much->least_source),
                         units.load(f.too_much->most_source));
  }
  return out + latency_words(f, units);
}

}  // namespace weft::report
