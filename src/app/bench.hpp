// Benches: what Weft must do fast, measured in one command. Each registers itself from its own file in
// bench/.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "config/registry.hpp"

namespace weft::app {

/// What a case of a bench found: its figures, and whether they stay within the limits the case states.
struct BenchCase {
  std::string name;
  Json figures;  // a flat object; units are in the names of the keys
  bool within_limits = true;
};

/// Which cases of a bench are asked for, and who hears of each as soon as it is done.
class BenchResults {
 public:
  /// `only`: cases with this in their names; empty: all.
  BenchResults(std::string only, std::function<void(BenchCase)> done)
      : only_(std::move(only)), done_(std::move(done)) {}

  /// Whether somebody asks for a case: what nobody asks for need not be measured.
  bool wants(const std::string& name);
  void add(BenchCase one);
  /// Of all cases that could have been asked for.
  const std::vector<std::string>& names() const { return names_; }
  bool empty() const { return added_ == 0; }

 private:
  std::string only_;
  std::function<void(BenchCase)> done_;
  std::vector<std::string> names_;
  unsigned added_ = 0;
};

struct Bench {
  ~Bench();
  std::string name, about;
  /// Runs the cases that are asked for, in order.
  std::function<void(BenchResults& results)> run;
  /// A figure of the cases worth a place of its own in the JSON, as {case: figure}; empty: none.
  std::string headline = {};
  /// Profiles its cases run on, each with settings over it: a test reads them all.
  struct Machine {
    std::string profile;
    std::vector<std::string> settings;
  };
  std::vector<Machine> machines = {};
};

using Benches = config::Registry<Bench>;

/// Runs `work` in a process of its own, so that its peak memory is its own, and adds the process'
/// wall_seconds, cpu_seconds and peak_bytes to the figures it returns. A crash or an exception becomes the
/// figure "error".
Json measure_in_own_process(const std::function<Json()>& work);

/// Processor time of this process so far.
double cpu_seconds();

}  // namespace weft::app

WEFT_DECLARE_REGISTRY(weft::app::Bench);
