// A machine with its body as one system of equations: chips that draw power and warm up, supplies that lose
// some of it, and the medium that carries the heat away; with accounts of where the energy went.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "power/thermal/chip.hpp"
#include "power/thermal/solver.hpp"

namespace weft::power::thermal {

/// Nodes behind one supply of their own, or all nodes of a machine whose supplies feed them together.
struct Zone {
  bool powered = false;
  double load = 0;  // 0 where its devices are held in reset
};

/// Energy since the start, J.
struct Accounts {
  std::array<double, kRoles> roles{};  // what parts drew, by their role
  double conversion = 0;               // lost in supplies and converters
  double controller = 0, pump = 0, facility = 0;
  double stream = 0, room = 0, lost = 0;  // what left
  double parts() const;
  /// What the equipment drew: parts, conversion and controller; what PUE divides by.
  double equipment() const { return parts() + conversion + controller; }
  double total() const { return equipment() + pump + facility; }
};

struct PlantReadings {
  MediumReadings medium;
  std::vector<double> junction_c;  // zone by zone, part by part
  std::vector<double> speed;       // by zone: of its slowest computing part
  std::vector<double> zone_watts;  // output of supplies
  std::array<double, kRoles> role_watts{};
  double supplied_watts = 0;  // output of all supplies
  double equipment_watts = 0, pump_watts = 0, facility_watts = 0;
  double hottest_c = 0;
  std::size_t hottest_part = 0;
  double highest_flux = 0;  // of a surface, W/m2
};

class Plant {
 public:
  /// `relative`: tolerance of the solver.
  Plant(const Body& body, double relative = 1e-6);

  const Body& body() const { return body_; }
  const Medium& medium() const { return *medium_; }
  std::size_t zones() const { return zones_.size(); }
  unsigned nodes_of_zone() const { return nodes_of_zone_; }
  /// Nodes of the network beyond those described are in machines like this one.
  std::size_t zone_of(unsigned node) const { return node / nodes_of_zone_ % zones_.size(); }
  unsigned place_in_zone(unsigned node) const { return node % nodes_of_zone_; }

  /// What others set; whoever changes anything says so.
  Surroundings around;
  std::vector<Zone>& zone_inputs() { return zones_; }
  const std::vector<Zone>& zone_inputs() const { return zones_; }
  unsigned working_supplies = 0;  // of supplies that feed all together
  void disturbed() { solver_->disturbed(); }

  void advance(double until_seconds) { solver_->advance(until_seconds); }
  double now() const { return solver_->now(); }
  /// Goes on from the state of a plant of one zone, in which all nodes did the same.
  void continue_from(const Plant& alike);
  PlantReadings read();
  /// A chip of a node that does what the others of its zone do.
  Chip chip(std::size_t zone, std::size_t part) const;
  /// Looks at the coolant as it is now; to be called before chip_after.
  void look_at_coolant() { medium_->prepare(solver_->state() + medium_at_, around); }
  /// What becomes of a chip of a single node that has power, in that coolant.
  Chip chip_after(Chip chip, std::size_t part, double load, double seconds) const;
  Accounts accounts() const;
  double stored() const;
  /// What entered, less what left and what is stored more than at the start, of what entered.
  double balance_error() const;
  long steps() const { return solver_->steps(); }

 private:
  void derivative(const double* state, double* change);
  double part_watts(const Part& part, const Zone& zone, double junction_c) const;
  double supply_input(double output, unsigned supplies) const;

  const Body& body_;
  std::shared_ptr<Medium> medium_;
  std::vector<Zone> zones_;
  unsigned nodes_of_zone_ = 0;
  std::size_t medium_at_ = 0, accounts_at_ = 0;
  double stored_at_start_ = 0;
  std::unique_ptr<Solver> solver_;
};

}  // namespace weft::power::thermal
