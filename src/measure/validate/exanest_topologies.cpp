// Which topology suits molecular dynamics (ExaNeSt paper, table 3): the comparison in examples/, which
// anybody can run.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "machine/profiles.hpp"
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

void topologies(Trial& trial) {
  auto beside = std::filesystem::path(machine::profile_path("torus")).parent_path().parent_path();
  CompareSpec spec = read_compare((beside / "examples" / "lammps-topologies.toml").string());
  spec.engines = {"flit"};
  spec.set.insert(spec.set.end(), trial.settings().begin(), trial.settings().end());
  std::vector<std::pair<double, std::string>> times, distances;
  for (const ComparePoint& point : compare_points(spec)) {
    Json result = run_point(spec, point, 1);
    if (result.contains("error")) throw UserError(result["error"].get<std::string>());
    const std::string name = result["machine"].get<std::string>();
    times.emplace_back(result["completion_ps"].get<double>() * 1e-6, name);
    distances.emplace_back(result["mean_cables"].get<double>(), name);
  }
  const std::vector<std::string> published{"torus", "fat tree", "jellyfish", "dragonfly"};
  trial.give("V-EXN-13", "", in_their_place(times, published), in_words(times, "us"));
  trial.give("V-EXN-14", "", in_their_place(distances, published), in_words(distances, "cables"));
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
     topologies});

}  // namespace

}  // namespace weft::measure
