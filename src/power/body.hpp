// What a machine is besides its network, as described: how it is packed ([rack.NAME]), what draws power
// ([power.part.NAME], [power.supply]), what takes the heat away ([cooling]), and who watches over it
// ([controller]).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/registry.hpp"
#include "config/schema.hpp"

namespace weft::power {

namespace thermal {
class Medium;
}

/// One level of packaging: so many of what it holds, in a box of a size.
struct Level {
  std::string name, about;
  std::string holds = "node";  // the level within, or a network node
  unsigned count = 1;
  Length width{0}, depth{0}, height{0};
  double height_units = 0;
  double mass_kg = 0;  // of the box itself, without what it holds
  double litres() const;
};

enum class Role : std::uint8_t { Processor, Accelerator, Router, Interface, Link, Memory, Other };
inline constexpr const char* kRoleNames[] = {"processor", "accelerator", "router", "interface",
                                             "link",      "memory",      "other"};
inline constexpr std::size_t kRoles = std::size(kRoleNames);

enum class Surface : std::uint8_t { Bare, Coated };

/// A kind of chip, or of something else on a node that draws power.
struct Part {
  std::string name, about;
  Role role = Role::Other;
  double per_node = 1;
  double idle_watts = 0, busy_watts = 0;  // busy: more, while it computes
  double pj_per_bit = 0, nj_per_packet = 0;
  double area_cm2 = 16;
  Surface surface = Surface::Bare;
  double resistance = 0.05;                  // K/W, from junction to surface
  double sink_resistance = 0.1;              // K/W, from surface to a stream of coolant at its full flow
  double die_heat = 20, package_heat = 150;  // J/K
  double throttle_c = 95, limit_c = 105;
  double throttle_floor = 0.3;  // the least speed of a chip that throttles
  double full_watts() const { return idle_watts + busy_watts; }
  /// Its speed at a temperature: 1 up to throttle_c, falling to the floor over the first third to the limit.
  double speed(double junction_c) const;
};

struct Supply {
  unsigned count = 1;
  double watts = 1000;
  double volts = 12;
  std::vector<double> load_points{0.1, 0.2, 0.5, 1};
  std::vector<double> efficiency{0.85, 0.9, 0.94, 0.91};
  double converter_efficiency = 1;        // of converters on boards
  std::vector<unsigned> phases{1, 2, 3};  // of the mains, supply by supply, over and over
  bool shared = true;                     // they feed all nodes together; else each has nodes of its own
  bool in_coolant = true;                 // what they lose is heat in the machine's coolant
  Time good_after{500'000'000'000};
  unsigned phase_of(unsigned supply) const { return phases[supply % phases.size()]; }
  /// Share of its input that comes out, at a share of its rating.
  double efficiency_at(double load) const;
};

/// The controller, the watchdog over it, and what they count as critical.
struct ControllerParameters {
  Time poll{1'000'000'000'000};
  Time watchdog{10'000'000'000'000};
  Time stagger{200'000'000'000};     // between supplies at power-up
  Time reset_hold{100'000'000'000};  // after power is good
  Time reset_step{50'000'000'000};   // between routers, interfaces and what computes
  double watts = 5;
  double chip_c = 0;  // 0: two kelvin below the lowest limit of a chip
  double liquid_c = 70, outlet_c = 60;
  double overpressure_mbar = 300;
  double flow_share = 0.4;      // of the nominal flow
  unsigned level_barriers = 2;  // light barriers that must be covered
};

/// How the heat leaves; kinds register from their own files (power/thermal).
struct CoolingKind {
  std::string name, about;
  config::Section section;
  std::shared_ptr<thermal::Medium> (*make)(const void* parameters);
};

struct Body {
  std::vector<Level> levels;  // as written
  std::vector<Part> parts;
  Supply supply;
  ControllerParameters controller;
  const CoolingKind* cooling = nullptr;
  std::shared_ptr<void> cooling_parameters;
  bool described() const { return !levels.empty() && !parts.empty() && cooling; }

  const Level* level(std::string_view name) const;
  /// The level that no other holds; null where nothing is described.
  const Level* root() const;
  unsigned nodes_in(const Level& level) const;
  unsigned nodes() const { return root() ? nodes_in(*root()) : 0; }
  /// Electricity of a node at a load, after all conversion on boards; W.
  double node_watts(double load) const;
};

const config::Section& level_section();
const config::Section& part_section();
const config::Section& supply_section();
const config::Section& controller_section();

/// Reads all sections of a body but [cooling], which has a kind; errors go to the reader.
void read_body(const config::Table& root, config::Reader& reader, Body& out);

}  // namespace weft::power
