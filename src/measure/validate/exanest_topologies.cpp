// Which topology suits molecular dynamics (ExaNeSt paper, table 3): the comparison in examples/, which
// anybody can run.
#include <fmt/format.h>

#include <algorithm>

#include "base/own_files.hpp"
#include "measure/compare/compare.hpp"
#include "measure/validate/figure.hpp"

namespace weft::measure {

namespace {

/// How many of these machines stand where the paper has them when they are sorted by a figure.
double in_their_place(std::vector<std::pair<double, std::string>> ours,
                      const std::vector<std::string>& published) {
  std::stable_sort(ours.begin(), ours.end(), [](auto& a, auto& b) { return a.first < b.first; });
  double right = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) right += ours[i].second == published[i];
  return right;
}

std::string in_words(const std::vector<std::pair<double, std::string>>& values, const char* unit) {
  std::string out;
  for (const auto& [value, name] : values)
    out += fmt::format("{}{} {:.4g} {}", out.empty() ? "" : ", ", name, value, unit);
  return out;
}

/// A comparison of examples/, with the user's settings over its own.
CompareSpec example(const Trial& trial, const char* file) {
  CompareSpec spec = read_compare(own_data(std::string("examples/") + file).string());
  spec.set.insert(spec.set.end(), trial.settings().begin(), trial.settings().end());
  return spec;
}

Json run_checked(const CompareSpec& spec, const ComparePoint& point) {
  Json result = run_point(spec, point, 1);
  if (result.contains("error")) throw UserError(result["error"].get<std::string>());
  return result;
}

void lammps(Trial& trial) {
  CompareSpec spec = example(trial, "lammps-topologies.toml");
  spec.engines = {"flit"};
  const std::vector<std::string> published{"torus", "fat tree", "jellyfish", "dragonfly"};
  std::vector<std::pair<double, std::string>> times, distances, delays;
  for (const ComparePoint& point : compare_points(spec)) {
    Json result = run_checked(spec, point);
    const std::string name = result["machine"].get<std::string>();
    times.emplace_back(result["completion_ps"].get<double>() * 1e-6, name);
    distances.emplace_back(result["mean_cables"].get<double>(), name);
    // A cycle is what a flit of 16 B takes on a cable of 20 Gb/s.
    delays.emplace_back(result["message_ps"].get<double>() / 6400, name);
  }
  double torus = 0;
  for (const auto& [value, name] : times)
    if (name == "torus") torus = value;
  for (const auto& [value, name] : times) {
    trial.show(name + " time", value * 1e-3);
    trial.show(name + " relative time", value / torus);
  }
  for (const auto& [value, name] : distances) trial.show(name + " distance", value);
  for (const auto& [value, name] : delays) trial.show(name + " delay", value);
  trial.give("V-EXN-13", "", in_their_place(times, published), in_words(times, "us"));
  trial.give("V-EXN-14", "", in_their_place(distances, published), in_words(distances, "cables"));
  trial.give("V-EXN-15", "", in_their_place(delays, published),
             in_words(delays, "cycles") + "; of messages of 16 KiB, the paper's are of packets");
}

WEFT_REGISTER(
    ExperimentKind,
    {"topologies/lammps",
     33,
     "topologies",
     {{"V-EXN-13",
       "",
       "four topologies by LAMMPS's time: in their published place",
       "of 4",
       4,
       points_off(0),
       Basis::Predicted,
       true,
       "000 table 3: torus, fat tree, jellyfish, dragonfly",
       {"none: all four share cables and routers that no figure was used for"}},
      {"V-EXN-15",
       "",
       "the same by delay: in their published place",
       "of 4",
       4,
       points_off(0),
       Basis::Predicted,
       false,
       "000 table 3",
       {"none: all four share cables and routers that no figure was used for"}},
      {"V-EXN-14",
       "",
       "the same by distance: in their published place",
       "of 4",
       4,
       points_off(0),
       Basis::Structure,
       true,
       "000 table 3",
       {},
       Figure::Open{"ranks stand in the order of their numbers here, so neighbours in the grid of a rank are "
                    "mostly neighbours in every topology; the published distances are nearly those of "
                    "random pairs",
                    "the paper's placement and trace, which are not published"}}},
     lammps});

// ---- which topology scales

void scaling(Trial& trial) {
  CompareSpec spec = example(trial, "topology-scaling.toml");
  // A thousand endpoints, ten thousand, a hundred thousand; the example has a million too, which takes
  // minutes.
  const std::uint32_t sizes = 3;
  Plot plot{"Aggregated throughput over endpoints",
            "topologies",
            "A random permutation, cables of 100 Gb/s, flows that share them fairly.",
            "endpoints",
            "Tb/s",
            true,
            true,
            {}};
  std::vector<std::pair<double, std::string>> largest;
  for (const ComparePoint& point : compare_points(spec)) {
    if (point.machine_variant >= sizes) continue;
    Json result = run_checked(spec, point);
    const std::string name = result["machine"].get<std::string>();
    if (point.machine_variant == 0) plot.series.push_back({name, Series::Look::Ours, {}});
    plot.series.back().points.emplace_back(result["endpoints"].get<double>(),
                                           result["throughput_bps"].get<double>() * 1e-12);
    if (point.machine_variant + 1 == sizes)
      largest.emplace_back(plot.series.back().points.back().second, name);
  }
  trial.plots.push_back(std::move(plot));
  std::stable_sort(largest.begin(), largest.end(), [](auto& a, auto& b) { return a.first > b.first; });
  // Fat tree and dragonfly lead, in whichever order.
  double right = 0;
  for (std::size_t i = 0; i < largest.size(); ++i) {
    const auto& groups = spec.expected;
    std::size_t place = 0, group = 0;
    while (i >= place + groups[group].size()) place += groups[group++].size();
    right += std::count(groups[group].begin(), groups[group].end(), largest[i].second) > 0;
  }
  trial.give("V-EXN-16", "", right, in_words(largest, "Tb/s"));
}

WEFT_REGISTER(
    ExperimentKind,
    {"topologies/scaling",
     34,
     "topologies",
     {{"V-EXN-16",
       "",
       "five topologies by throughput of 100,000 endpoints: in their published place",
       "of 5",
       5,
       points_off(0),
       Basis::Predicted,
       false,
       "000 section 6.3, figure 14: fat tree and dragonfly, jellyfish, 5D torus, 3D torus",
       {"none: all five share cables that no figure was used for"},
       Figure::Open{
           "our jellyfish overtakes the 5D torus only between 100,000 and a million endpoints: half of its "
           "ports are for endpoints, which is assumed",
           "the ports the paper's jellyfish has for endpoints; `weft compare "
           "examples/topology-scaling.toml` goes on to a million, where all five are in their place"}}},
     scaling});

}  // namespace

}  // namespace weft::measure
