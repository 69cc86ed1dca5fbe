// What a faster network would buy a program: vary one property of a machine, measure, fit, extrapolate.
//
// The method is that of the EXTOLL paper (002_b7c7371ed2ee2981.txt, section VI): reduce message rate or
// clock, fit the time spent communicating, extrapolate. Beside its exponential fit stand a fit with a meaning
// (a share of the time that follows the property, the rest does not), the machine itself run with the better
// value, and the bound that Amdahl's law sets where communication takes no time at all.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "machine/machine.hpp"

namespace weft::measure {

enum class Property { MessageRate, Frequency, Latency, Bandwidth };

/// "frequency=117MHz,156MHz" or "bandwidth=50%,100%".
struct Variation {
  Property property = Property::Frequency;
  std::string text;             // as given, before the values
  std::vector<double> factors;  // of the machine's own value; ascending
  std::string name() const;
  /// Is a larger factor a better network?
  bool more_is_better() const { return property != Property::Latency; }
};

/// Throws UserError with every error found.
Variation read_variation(const std::string& text, const machine::Description& description);

/// Settings that make the machine's property what the factor says.
std::vector<std::string> settings_for(const Variation& variation, const machine::Machine& machine,
                                      double factor, unsigned processes_per_node);

/// What one run of a workload says.
struct WorkloadResult {
  double seconds = 0;        // for a fixed amount of work
  double work = 0;           // 0: only the time counts
  double library_share = 0;  // of the time, spent communicating
};

struct PredictWorkload {
  std::string name, unit;  // "random-access", "GUPS"
  double unit_factor = 1;  // units of performance in work per second
  unsigned per_node = 1;
  bool can_pause = false;  // after a send, which is how a message rate is lowered
  std::function<WorkloadResult(const machine::Machine&)> run;
};

/// Message rate, bandwidth and latency over all sizes, relative to the machine as it is.
struct BenchmarkRow {
  double factor;
  double rate, bandwidth, latency;
};

struct Extrapolation {
  double factor;
  double mechanistic, exponential;  // relative performance
  double simulated = 0;             // 0: the machine cannot be run so
};

struct WorkloadPrediction {
  std::string name, unit;
  double base = 0;  // performance of the machine as it is, in its unit
  double library_share = 0;
  struct Point {
    double factor, relative, library_share;
  };
  std::vector<Point> points;
  double share = 0;     // of the time, that follows the property (the fit with a meaning)
  double residual = 0;  // of that fit, root of the mean square, relative
  double exponent = 0;  // of exp(-exponent (x - 1)), the time spent communicating
  double bound = 0;     // relative performance where communication takes no time
  std::vector<Extrapolation> beyond;
};

struct Prediction {
  std::string machine;
  Variation variation;
  std::vector<BenchmarkRow> benchmarks;
  double shares[3] = {0, 0, 0};  // of the time behind rate, bandwidth and latency, that follow the property
  std::vector<WorkloadPrediction> workloads;
};

struct PredictOptions {
  std::string machine;
  std::vector<std::string> settings;
  std::string vary;
  std::vector<double> beyond;  // factors to extrapolate to
  bool run_beyond = true;      // and run the machine so, where it can be
  bool benchmarks = false;
  std::vector<PredictWorkload> workloads;
  std::function<void(const std::string& what, std::size_t done, std::size_t of)> progress;
};

Prediction predict(const PredictOptions& options);

/// Share s of T = (1 - s) + s / x that fits relative times at factors x; with `more_is_better` false, s of
/// (1 - s) + s x.
double scaling_share(const std::vector<double>& factors, const std::vector<double>& times,
                     bool more_is_better);

/// Built-in workloads by name: random-access, weather. Throws UserError where there is no such one.
PredictWorkload built_in_workload(const std::string& name);
std::vector<std::string> built_in_workload_names();

}  // namespace weft::measure
