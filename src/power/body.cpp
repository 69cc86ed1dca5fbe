#include "power/body.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace weft::power {

using config::Node;
using config::Range;
using config::Table;

double Level::litres() const {
  return static_cast<double>(width.value) * static_cast<double>(depth.value) *
         static_cast<double>(height.value) * 1e-6;
}

double Part::speed(double junction_c) const {
  const double band = std::max(1.0, (limit_c - throttle_c) / 3);
  return 1 - (1 - throttle_floor) * std::clamp((junction_c - throttle_c) / band, 0.0, 1.0);
}

double Supply::efficiency_at(double load) const {
  if (load <= load_points.front())  // what it draws without a load stays about the same
    return efficiency.front() * std::max(load, 1e-9) /
           (std::max(load, 1e-9) * efficiency.front() + load_points.front() * (1 - efficiency.front()));
  for (std::size_t i = 1; i < load_points.size(); ++i)
    if (load <= load_points[i]) {
      double share = (load - load_points[i - 1]) / (load_points[i] - load_points[i - 1]);
      return efficiency[i - 1] + share * (efficiency[i] - efficiency[i - 1]);
    }
  return efficiency.back();
}

const Level* Body::level(std::string_view name) const {
  for (const Level& level : levels)
    if (level.name == name) return &level;
  return nullptr;
}

const Level* Body::root() const {
  for (const Level& candidate : levels)
    if (std::none_of(levels.begin(), levels.end(),
                     [&](const Level& other) { return other.holds == candidate.name; }))
      return &candidate;
  return nullptr;
}

unsigned Body::nodes_in(const Level& level) const {
  unsigned nodes = level.count;
  for (const Level* inner = this->level(level.holds); inner; inner = this->level(inner->holds))
    nodes *= inner->count;
  return nodes;
}

double Body::node_watts(double load) const {
  double watts = 0;
  for (const Part& part : parts) watts += part.per_node * (part.idle_watts + load * part.busy_watts);
  return watts / supply.converter_efficiency;
}

const config::Section& level_section() {
  using P = Level;
  const Range<Length> size{{0}, {100'000}};
  static const config::Section section =
      config::Schema<P>()
          .field(&P::about, "about", "What it is")
          .field(&P::holds, "holds", "The level within, by name; \"node\" is a node of the network")
          .field(&P::count, "count", "How many of them it holds", Range<unsigned>{1, 4096})
          .field(&P::width, "width", "Outer width", size)
          .field(&P::depth, "depth", "Outer depth", size)
          .field(&P::height, "height", "Outer height", size)
          .field(&P::height_units, "height_units", "Units of height it takes in a rack; 0: none of its own",
                 Range<double>{0, 100})
          .field(&P::mass_kg, "mass_kg", "Mass without what it holds, kg", Range<double>{0, 1e5})
          .section();
  return section;
}

namespace {

void check_part(const Part& p, const config::Complain& complain) {
  if (p.limit_c <= p.throttle_c)
    complain("limit_c", fmt::format("is {} C; a chip slows down first, at {} C", p.limit_c, p.throttle_c));
}

}  // namespace

const config::Section& part_section() {
  using P = Part;
  const Range<double> watts{0, 1e5}, temperature{0, 500}, small{0, 1e3};
  static const config::Section section =
      config::Schema<P>()
          .field(&P::about, "about", "What it is")
          .choice(&P::role, "role",
                  "What makes it work: processors and accelerators compute, routers, interfaces and links "
                  "carry bits",
                  {std::begin(kRoleNames), std::end(kRoleNames)})
          .field(&P::per_node, "per_node", "How many there are for each node", small)
          .field(&P::idle_watts, "idle_watts", "Power of one that does nothing, W", watts)
          .field(&P::busy_watts, "busy_watts", "What it draws besides while it computes at full speed, W",
                 watts)
          .field(&P::pj_per_bit, "pj_per_bit", "Energy of each bit that passes, pJ", Range<double>{0, 1e6})
          .field(&P::nj_per_packet, "nj_per_packet", "Energy of each packet that passes, nJ",
                 Range<double>{0, 1e6})
          .field(&P::area_cm2, "area_cm2", "Surface that gives off its heat, cm2", Range<double>{0.01, 1e5})
          .choice(&P::surface, "surface", "Of that surface, where coolant boils on it", {"bare", "coated"})
          .field(&P::resistance, "resistance", "From junction to surface, K/W", small)
          .field(&P::sink_resistance, "sink_resistance",
                 "From surface to a stream of coolant at its full flow, K/W: a cold plate or heat sink",
                 small)
          .field(&P::die_heat, "die_heat", "Heat it stores inside, J/K", Range<double>{0.1, 1e6})
          .field(&P::package_heat, "package_heat", "Heat its package and sink store, J/K",
                 Range<double>{0.1, 1e6})
          .field(&P::throttle_c, "throttle_c", "Junction temperature from which it slows down, C",
                 temperature)
          .field(&P::limit_c, "limit_c", "Junction temperature it must not pass, C", temperature)
          .field(&P::throttle_floor, "throttle_floor", "Its least speed, of 1", Range<double>{0.01, 1})
          .check(check_part)
          .section();
  return section;
}

namespace {

void check_supply(const Supply& p, const config::Complain& complain) {
  if (p.load_points.size() != p.efficiency.size() || p.load_points.empty())
    complain("efficiency",
             fmt::format("has {} values for {} loads", p.efficiency.size(), p.load_points.size()));
  for (std::size_t i = 0; i < p.load_points.size(); ++i)
    if (p.load_points[i] <= (i ? p.load_points[i - 1] : 0) || p.load_points[i] > 1)
      complain("load_points", "expected shares of the rating, rising from above 0 to at most 1");
  for (double e : p.efficiency)
    if (e <= 0 || e > 1) complain("efficiency", "expected shares above 0, at most 1");
  if (p.phases.empty() ||
      std::any_of(p.phases.begin(), p.phases.end(), [](unsigned phase) { return phase < 1 || phase > 3; }))
    complain("phases", "expected phases 1 to 3");
}

}  // namespace

const config::Section& supply_section() {
  using P = Supply;
  static const config::Section section =
      config::Schema<P>()
          .field(&P::count, "count", "Supplies of the outermost level", Range<unsigned>{1, 256})
          .field(&P::watts, "watts", "What one can deliver, W", Range<double>{1, 1e6})
          .field(&P::volts, "volts", "What it delivers, V", Range<double>{1, 1000})
          .field(&P::load_points, "load_points", "Shares of the rating at which the efficiency is given")
          .field(&P::efficiency, "efficiency", "Share of the input that comes out, at those loads")
          .field(&P::converter_efficiency, "converter_efficiency", "Of the converters on boards",
                 Range<double>{0.5, 1})
          .field(&P::phases, "phases", "Phase of the mains of each supply, over and over")
          .field(&P::shared, "shared", "All feed all nodes together; false: each feeds its own")
          .field(&P::in_coolant, "in_coolant", "What they lose heats the coolant; false: the room")
          .field(&P::good_after, "good_after", "From enable to power good",
                 Range<Time>{{0}, {10'000'000'000'000}})
          .check(check_supply)
          .section();
  return section;
}

const config::Section& controller_section() {
  using P = ControllerParameters;
  const Range<Time> any{{1'000'000'000}, {600'000'000'000'000}};
  const Range<double> temperature{0, 500};
  static const config::Section section =
      config::Schema<P>()
          .field(&P::poll, "poll", "Time between two readings of all sensors", any)
          .field(&P::watchdog, "watchdog",
                 "A controller silent for so long is taken for hung, and power is cut", any)
          .field(&P::stagger, "stagger", "Between two supplies at power-up", any)
          .field(&P::reset_hold, "reset_hold", "Reset lines stay down for so long after power is good", any)
          .field(&P::reset_step, "reset_step",
                 "Between the reset lines of routers, of interfaces and of what computes", any)
          .field(&P::watts, "watts", "What controller and sensors draw, W", Range<double>{0, 1000})
          .field(&P::chip_c, "chip_c",
                 "Critical temperature of a chip, C; 0: two kelvin below the lowest limit", temperature)
          .field(&P::liquid_c, "liquid_c", "Critical temperature of the coolant, C", temperature)
          .field(&P::outlet_c, "outlet_c", "Critical temperature of what flows out, C", temperature)
          .field(&P::overpressure_mbar, "overpressure_mbar", "Critical pressure over the room's, mbar",
                 Range<double>{1, 5000})
          .field(&P::flow_share, "flow_share", "Critical flow, of the nominal one", Range<double>{0, 1})
          .field(&P::level_barriers, "level_barriers", "Light barriers that must be covered",
                 Range<unsigned>{0, 8})
          .section();
  return section;
}

namespace {

constexpr std::size_t kMostNamed = 64;

/// Reads [PATH.NAME] sections into a list.
template <class T>
void read_named(const Node* all, const std::string& path, const config::Section& section,
                config::Reader& reader, std::vector<T>& out) {
  if (!all) return;
  if (!all->table() || all->table()->entries.size() > kMostNamed)
    return reader.problems.add(all->origin, path,
                               fmt::format("expected sections [{}.NAME], at most {}", path, kMostNamed));
  for (const auto& [name, node] : all->table()->entries) {
    if (!node.table()) {
      reader.problems.add(node.origin, path + "." + name,
                          fmt::format("expected a section, [{}.{}]", path, name));
      continue;
    }
    T one;
    one.name = name;
    section.read(&one, &node, path + "." + name, reader);
    out.push_back(std::move(one));
  }
}

/// Every level holds another or nodes, and exactly one is outermost.
void check_levels(const Body& body, const Node* rack, config::Reader& reader) {
  std::vector<std::string> names{"node"};
  for (const Level& level : body.levels) names.push_back(level.name);
  for (const Level& level : body.levels)
    if (level.holds != "node" && !body.level(level.holds))
      reader.problems.add(rack->origin, "rack." + level.name + ".holds",
                          fmt::format("there is no level '{}'{}; there are {}", level.holds,
                                      did_you_mean(level.holds, names), join(names, ", ")));
  std::set<std::string> seen;
  const Level* at = body.root();
  while (at && seen.insert(at->name).second) at = body.level(at->holds);
  if (at || seen.size() != body.levels.size())
    reader.problems.add(rack->origin, "rack",
                        "levels must hold each other in one line, from the outermost to the one with nodes");
  double nodes = 1;
  for (const Level& level : body.levels) nodes *= level.count;
  if (nodes > 1e6)
    reader.problems.add(rack->origin, "rack", "a million nodes are the most that one machine packs");
}

void read_power(const Node& power, config::Reader& reader, Body& out) {
  if (!power.table())
    return reader.problems.add(power.origin, "power",
                               "expected sections such as [power.part.NAME] or [power.supply]");
  for (const auto& [key, node] : power.table()->entries)
    if (key != "part" && key != "supply")
      reader.problems.add(node.origin, "power." + key,
                          "unknown key" + did_you_mean(key, std::vector<std::string>{"part", "supply"}) +
                              "; expected [power.part.NAME] or [power.supply]");
  read_named(power.table()->find("part"), "power.part", part_section(), reader, out.parts);
}

}  // namespace

void read_body(const Table& root, config::Reader& reader, Body& out) {
  const Node *rack = root.find("rack"), *power = root.find("power");
  const std::size_t before = reader.problems.size();
  read_named(rack, "rack", level_section(), reader, out.levels);
  if (rack && reader.problems.size() == before) check_levels(out, rack, reader);
  if (power) read_power(*power, reader, out);
  const Node* supply = power && power->table() ? power->table()->find("supply") : nullptr;
  if (power) supply_section().read(&out.supply, supply, "power.supply", reader);
  if (const Node* controller = root.find("controller"); controller || power)
    controller_section().read(&out.controller, controller, "controller", reader);
}

}  // namespace weft::power
