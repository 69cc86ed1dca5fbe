// One comparison: machines x workloads x engines, as points that can be run in any order, by any process.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "config/schema.hpp"
#include "workload/replay.hpp"

namespace weft::measure {

using Settings = std::vector<std::string>;  // key=value

struct CompareMachine {
  std::string name, base;
  Settings set;
  std::vector<Settings> variants;  // each is a point more; none: the machine as it is
};

struct CompareWorkload {
  std::string name, kind, placement = "linear";
  Settings set;
  std::vector<Settings> variants;
  std::uint32_t ranks = 0;
  DataSize bytes{1'000'000};
};

enum class CompareFigure { Time, Throughput };

struct CompareSpec {
  std::string title = "Comparison", about;
  CompareFigure figure = CompareFigure::Time;
  std::vector<std::string> engines{"flow"};
  Settings set;  // of all machines
  std::uint64_t seed = 1;
  Time send_cost{0}, receive_cost{0};
  /// Groups of machines from best to worst, to be checked; may be empty.
  std::vector<std::vector<std::string>> expected;
  std::vector<CompareMachine> machines;
  std::vector<CompareWorkload> workloads;
  std::string path;
};

/// The engine that takes all flows of a traffic pattern at once; the others are those of network::EngineKind.
inline constexpr const char* kStaticEngine = "static";

struct ComparePoint {
  std::uint32_t machine = 0, machine_variant = 0, workload = 0, workload_variant = 0, engine = 0;
};

/// Reads and checks a spec file, machines and workloads included. Throws UserError with every error found.
CompareSpec read_compare(const std::string& path);

/// The sections of a spec, for help.
const config::Section& compare_section();
const config::Section& compare_machine_section();
const config::Section& compare_workload_section();

std::vector<ComparePoint> compare_points(const CompareSpec& spec);

/// A name for the point that changes with anything that could change its result.
std::string point_key(const CompareSpec& spec, const ComparePoint& point);

/// Who looks at the replay of a point, and is told of its end; of the static engine there is none.
struct PointWatch {
  workload::ExecutionObserver* observer = nullptr;
  std::function<void(const workload::ReplayResult& result, const machine::Machine& machine)> done = {};
};

/// Runs one point. The result is a flat object; "error" in it says why there are no figures.
Json run_point(const CompareSpec& spec, const ComparePoint& point, unsigned threads,
               const PointWatch& watch = {});

/// What it found wrong with the order expected of the machines, largest size each; empty: nothing.
std::vector<std::string> check_expected(const CompareSpec& spec, const std::vector<Json>& results);

}  // namespace weft::measure
