// `weft run --power`: from options to a machine that warms up under its job.
#pragma once

#include <memory>
#include <string>

#include "app/verb.hpp"
#include "host/run.hpp"
#include "measure/run/run_heat.hpp"

namespace weft::app {

struct RunPowerOptions {
  bool wanted = false;
  std::string fault, after, step = "100ms";
  double load = 1;
  bool any() const { return wanted || !fault.empty() || !after.empty() || load != 1; }
  void declare(CommandLine& app);
  /// As they could be typed again.
  std::string text() const;
};

/// Null where nobody asked for it. Throws UserError with all errors.
std::unique_ptr<measure::JobHeat> heat_of_job(const RunPowerOptions& options, const machine::Machine& machine,
                                              const host::RunOptions& run);

}  // namespace weft::app
