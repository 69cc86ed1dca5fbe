// The built-in workloads of a prediction: what the EXTOLL paper ran.
#include <fmt/format.h>

#include "base/text.hpp"
#include "measure/lab/workload_file.hpp"
#include "measure/predict/predict.hpp"

namespace weft::measure {

namespace {

unsigned nodes_of(const machine::Machine& m) { return std::min(8u, m.graph->endpoints()); }

WorkloadResult random_access(const machine::Machine& m) {
  lab::RandomUpdates how = lab::random_access_workload();
  how.nodes = nodes_of(m);
  how.updates = 4096;
  lab::ApplicationResult r = lab::random_updates(m, how);
  return {r.seconds, r.work, r.library_share};
}

WorkloadResult weather(const machine::Machine& m) {
  lab::HaloExchange how = lab::weather_workload();
  how.nodes = nodes_of(m);
  lab::ApplicationResult r = lab::halo_exchange(m, how);
  return {r.seconds, r.work, r.library_share};
}

}  // namespace

std::vector<std::string> built_in_workload_names() { return {"random-access", "weather"}; }

PredictWorkload built_in_workload(const std::string& name) {
  if (name == "random-access") return {name, "GUPS", 1e-9, 8, true, random_access};
  if (name == "weather") return {name, "GFLOP/s", 1e-9, 8, true, weather};
  throw UserError(
      fmt::format("there is no workload '{}'{}", name, did_you_mean(name, built_in_workload_names())));
}

}  // namespace weft::measure
