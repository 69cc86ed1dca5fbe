// A machine, an engine and jobs side by side: read, placed, checked and run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "network/network.hpp"
#include "workload/executor.hpp"
#include "workload/offload.hpp"
#include "workload/placement.hpp"

namespace weft::workload {

/// A job as a user gives it.
struct JobText {
  std::string workload;               // a skeleton's name, or the path of a .goal file or a .weftrace
  std::vector<std::string> settings;  // key=value, of a skeleton
  Rank ranks = 0;                     // 0: all endpoints that are free, or as many as the trace has
  std::string placement = "linear";
  unsigned traffic_class = 0;  // of router.class_weights
};

struct ReplayText {
  std::vector<JobText> jobs;
  std::string engine = "flow";
  std::uint64_t seed = 1;
  unsigned threads = 1;
  network::Ranks* ranks = nullptr;  // who share the network; each of them runs all of the jobs
  ExecutorOptions options;
  bool offload = false;  // small collectives, of skeletons and those that traces name, are the interfaces'
};

struct JobResult {
  std::string workload, placement;
  Rank ranks = 0;
  Time completion{0};  // of its last rank
  std::uint64_t messages = 0, bytes = 0;
  std::optional<OffloadCounts> offloaded = {};  // of a trace or a schedule, where interfaces run collectives
};

struct ReplayResult {
  std::string engine;
  ExecutionResult run;
  std::vector<JobResult> jobs;
  double seconds = 0;  // of this machine's time
};

/// Throws UserError where there is no such engine.
std::unique_ptr<network::Network> make_engine(const std::string& name, const machine::Machine& machine,
                                              const network::EngineOptions& options);

/// The program of a job; `free` endpoints are left. Checked. `interfaces` are for skeletons; what a trace has
/// of collectives it says itself (offload_collectives).
Program read_job(const JobText& job, std::uint32_t free, std::uint64_t seed,
                 const InterfaceTimes* interfaces = nullptr);

ReplayResult replay(const machine::Machine& machine, const ReplayText& text);

}  // namespace weft::workload
