// Published figures and the experiments that reproduce them.
//
// An experiment registers itself from its own file. It names the figures it is about: what was published,
// where, how close we must come, and what an agreement is worth (its basis). It runs on the machine's
// profile, so every value it gives follows from that.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/registry.hpp"
#include "machine/machine.hpp"

namespace weft::measure {

/// What it is worth that ours agrees with a published figure.
enum class Basis : std::uint8_t {
  Structure,   // nothing but that the description was read right: counts, and arithmetic on its values
  Calibrated,  // nothing: a parameter was chosen to meet it
  Derived,     // little: it follows from calibrated figures by arithmetic
  Predicted,   // all there is: simulated, and no parameter was chosen from it
};
inline constexpr std::array kBases{Basis::Structure, Basis::Calibrated, Basis::Derived, Basis::Predicted};
const char* name(Basis basis);

/// How far ours may be off.
struct Tolerance {
  enum class Kind { Percent, Points, AtLeast } kind;
  double value;
};
inline Tolerance percent_off(double value) { return {Tolerance::Kind::Percent, value}; }
inline Tolerance points_off(double value) {
  return {Tolerance::Kind::Points, value};
}  // in the figure's unit
inline Tolerance at_least() { return {Tolerance::Kind::AtLeast, 0}; }  // published is a lower bound

struct Figure {
  std::string id;     // "V-TH2-03"
  std::string point;  // which of several values with that number: "5 hops"
  std::string what;
  std::string unit;
  double published = 0;
  Tolerance tolerance = percent_off(0);
  Basis basis = Basis::Predicted;
  bool quick = true;  // part of --quick
  std::string source = {};
  std::vector<std::string> from = {};  // derived and predicted: figures that parameters of it were set from
  /// Known to be outside its tolerance: why, and what would close it. Such a failure is in the open, and does
  /// not fail the command.
  struct Open {
    std::string reason, closed_by;
  };
  std::optional<Open> open = {};
  /// What it takes beside this program. Such a figure is measured where it is asked for by its number.
  std::string needs = {};
  std::string name() const { return point.empty() ? id : id + " " + point; }
};

/// A figure with our value.
struct FigureResult {
  std::string experiment, machine;
  Figure figure;
  double ours = 0;
  std::string note;  // what is assumed, or what else is worth knowing
  /// Ours minus published, in percent of it or in the figure's unit, as the tolerance is.
  double error() const;
  std::string error_unit() const {
    return figure.tolerance.kind == Tolerance::Kind::Percent ? "%" : "points";
  }
  bool within() const;
  bool open_failure() const { return figure.open && !within(); }
  /// Outside, and not known to be.
  bool fails() const { return !figure.open && !within(); }
};

/// A published figure that nothing here can measure yet.
struct MissingFigure {
  std::string id, what, published, source;
  Basis basis;        // what it will be
  std::string needs;  // the capability it waits for
};
const std::vector<MissingFigure>& missing_figures();

/// What is drawn of an experiment.
struct Series {
  enum class Look { Ours, Published, Fit };
  std::string name;
  Look look = Look::Ours;
  std::vector<std::pair<double, double>> points;
};

struct Plot {
  std::string title, machine, about;
  std::string x_label, y_label;
  bool log_x = false, log_y = false;
  std::vector<Series> series;
};

/// What an experiment is given, and what it hands back.
class Trial {
 public:
  Trial(std::string machine, std::vector<std::string> settings, bool quickly)
      : quick(quickly), machine_(std::move(machine)), settings_(std::move(settings)) {}

  const bool quick;
  /// The experiment's machine; settings of the user lie over those of the experiment.
  machine::Machine machine(std::vector<std::string> settings = {}) const;
  machine::Description description() const;
  const std::string& machine_name() const { return machine_; }
  const std::vector<std::string>& settings() const { return settings_; }

  void give(std::string id, std::string point, double ours, std::string note = "");
  /// A value that stands in a paper's table and is not compared on its own.
  void show(std::string name, double ours);

  struct Value {
    std::string id, point;
    double ours;
    std::string note;
  };
  std::vector<Value> values;
  std::vector<std::pair<std::string, double>> shown;
  std::vector<Plot> plots;

 private:
  std::string machine_;
  std::vector<std::string> settings_;
};

struct ExperimentKind {
  ~ExperimentKind();
  std::string name;  // "tianhe2/latency"
  int order = 0;
  std::string machine;
  std::vector<Figure> figures;
  void (*run)(Trial& trial);
};

using Experiments = config::Registry<ExperimentKind>;

struct ValidateOptions {
  std::string machine;                // empty: all
  std::string paper;                  // empty: all; else the figures of its machines
  std::vector<std::string> figures;   // ids; empty: all
  std::vector<std::string> settings;  // over the profiles
  bool quick = false;
  unsigned threads = 1;
  std::function<void(const std::string& experiment, std::size_t done, std::size_t of, double seconds)>
      progress;
};

struct ValidateResult {
  std::vector<FigureResult> figures;
  std::vector<MissingFigure> missing;  // of all machines or of a paper; none where others were asked for
  std::vector<Plot> plots;
  std::vector<std::pair<std::string, double>> shown;  // by name, for tables of papers
  double seconds = 0;
  std::size_t count(Basis basis) const;
  std::size_t open_failures() const;
  /// Outside their tolerance, and not known to be.
  std::size_t failures() const;
  std::size_t outside() const { return open_failures() + failures(); }
};

/// Throws UserError where there is no such machine, paper or figure.
ValidateResult validate(const ValidateOptions& options);

/// All figures there are, in the order of their experiments.
std::vector<const ExperimentKind*> experiments_in_order();

}  // namespace weft::measure

WEFT_DECLARE_REGISTRY(weft::measure::ExperimentKind);
