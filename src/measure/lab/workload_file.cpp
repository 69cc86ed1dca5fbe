#include "measure/lab/workload_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/input_file.hpp"
#include "base/text.hpp"
#include "config/schema.hpp"
#include "machine/profiles.hpp"

namespace weft::measure::lab {

using config::Node;
using config::Range;

namespace {

constexpr Range<unsigned> kCount{1, 65'536};
constexpr Range<Time> kTime{{0}, {1'000'000'000'000}};

const config::Section& random_updates_section() {
  using R = RandomUpdates;
  static const config::Section section =
      config::Schema<R>()
          .field(&R::nodes, "nodes", "Nodes it runs on", kCount)
          .required()
          .field(&R::per_node, "per_node", "Processes on each", kCount)
          .required()
          .field(&R::updates, "updates", "Updates of each process", Range<std::uint64_t>{1, 1u << 30})
          .required()
          .field(&R::pending, "pending", "Updates a process holds back", Range<unsigned>{1, 1024})
          .required()
          .field(&R::compute, "compute", "A process's own time for an update", kTime)
          .required()
          .section();
  return section;
}

const config::Section& halo_exchange_section() {
  using H = HaloExchange;
  static const config::Section section =
      config::Schema<H>()
          .field(&H::nodes, "nodes", "Nodes it runs on", kCount)
          .required()
          .field(&H::per_node, "per_node", "Processes on each", kCount)
          .required()
          .field(&H::steps, "steps", "Steps", kCount)
          .required()
          .field(&H::bytes, "bytes", "Bytes to each of four neighbours in a step",
                 Range<DataSize>{{1}, {std::int64_t{1} << 30}})
          .required()
          .field(&H::compute, "compute", "A process's own time for a step", kTime)
          .required()
          .field(&H::gflops, "gflops", "GFLOP/s of a process while it computes", Range<double>{0, 1e6})
          .required()
          .section();
  return section;
}

const config::Section& force_kernel_section() {
  using F = ForceKernel;
  static const config::Section section =
      config::Schema<F>()
          .field(&F::atoms, "atoms", "Atoms", Range<unsigned>{1, 1u << 26})
          .required()
          .field(&F::neighbours, "neighbours", "Entries of an atom's list", Range<unsigned>{1, 4096})
          .required()
          .field(&F::evaluations, "evaluations", "How often all forces are computed", kCount)
          .required()
          .field(&F::efficiency, "efficiency", "What a processor reaches of its peak", Range<double>{1e-4, 1})
          .required()
          .section();
  return section;
}

const config::Section& atom_exchange_section() {
  using A = AtomExchange;
  const Range<unsigned> bytes{1, 1u << 30};
  static const config::Section section =
      config::Schema<A>()
          .field(&A::steps, "steps", "Steps from one that builds lists of neighbours to the next", kCount)
          .required()
          .field(&A::step, "step", "Bytes of each message of a step", bytes)
          .required()
          .field(&A::lists, "lists", "The same of a step that builds lists of neighbours", bytes)
          .required()
          .section();
  return section;
}

struct File {
  std::vector<config::Setting> settings;
  std::vector<std::pair<std::string, std::string>> sources;
};

/// Every value must say where it is from, and every source must be of a value.
void read_sources(const Node& tree, const std::string& path, Diagnostics& problems, File& file) {
  const Node* sources = tree.table()->find("sources");
  std::vector<std::string> keys;
  for (const config::Setting& s : file.settings) keys.push_back(s.key);
  if (sources && sources->table())
    for (const auto& [key, node] : sources->table()->entries) {
      if (!node.string())
        problems.add(node.origin, "sources." + config::quote(key), "expected a text in quotes");
      else if (std::find(keys.begin(), keys.end(), key) == keys.end())
        problems.add(node.origin, "sources." + config::quote(key),
                     fmt::format("there is no such value{}", did_you_mean(key, keys)));
      else
        file.sources.emplace_back(key, *node.string());
    }
  for (const config::Setting& s : file.settings)
    if (std::none_of(file.sources.begin(), file.sources.end(), [&](auto& one) { return one.first == s.key; }))
      problems.add(s.origin.source.empty() ? Origin{path} : s.origin, s.key,
                   fmt::format("expected where it is from, as \"{}\" of [sources]", s.key));
}

File read(const std::string& path, const config::Section& section, void* to) {
  std::string text = read_file(path, kMostDescriptionBytes);
  Diagnostics problems;
  File file;
  config::Reader reader{problems, file.settings};
  Node tree = config::parse_toml(text, path, problems);
  problems.throw_if_any();
  const std::vector<std::string> known{"workload", "sources"};
  for (const auto& [key, node] : tree.table()->entries)
    if (std::find(known.begin(), known.end(), key) == known.end() || !node.table())
      problems.add(node.origin, key,
                   fmt::format("expected sections [workload] and [sources]{}", did_you_mean(key, known)));
  problems.throw_if_any();
  section.read(to, tree.table()->find("workload"), "workload", reader);
  problems.throw_if_any();
  read_sources(tree, path, problems, file);
  problems.throw_if_any();
  return file;
}

constexpr const char *kRandomAccess = "random-access", *kWeather = "weather", *kForceKernel = "minimd",
                     *kMelt = "lammps-melt", *kMetal = "lammps-metal";

std::string shipped(const std::string& name) {
  std::string path = machine::profile_path("workloads/" + name);
  if (path.empty())
    throw UserError(fmt::format("profiles/workloads/{}.toml is not where the profiles are", name));
  return path;
}

}  // namespace

RandomUpdates read_random_updates(const std::string& path) {
  RandomUpdates out;
  read(path, random_updates_section(), &out);
  return out;
}

HaloExchange read_halo_exchange(const std::string& path) {
  HaloExchange out;
  read(path, halo_exchange_section(), &out);
  return out;
}

RandomUpdates random_access_workload() { return read_random_updates(shipped(kRandomAccess)); }
HaloExchange weather_workload() { return read_halo_exchange(shipped(kWeather)); }

ForceKernel force_kernel_workload() {
  ForceKernel out;
  read(shipped(kForceKernel), force_kernel_section(), &out);
  return out;
}

AtomExchange melt_workload() {
  AtomExchange out;
  read(shipped(kMelt), atom_exchange_section(), &out);
  return out;
}

AtomExchange metal_workload() {
  AtomExchange out;
  read(shipped(kMetal), atom_exchange_section(), &out);
  return out;
}

std::vector<WorkloadValue> workload_values() {
  std::vector<WorkloadValue> out;
  auto add = [&](const char* name, const File& file) {
    for (const config::Setting& s : file.settings)
      for (const auto& [key, source] : file.sources)
        if (key == s.key) out.push_back({name, s.key, s.value, source});
  };
  RandomUpdates updates;
  HaloExchange halo;
  add(kRandomAccess, read(shipped(kRandomAccess), random_updates_section(), &updates));
  ForceKernel forces;
  add(kWeather, read(shipped(kWeather), halo_exchange_section(), &halo));
  add(kForceKernel, read(shipped(kForceKernel), force_kernel_section(), &forces));
  AtomExchange atoms;
  for (const char* name : {kMelt, kMetal}) add(name, read(shipped(name), atom_exchange_section(), &atoms));
  return out;
}

}  // namespace weft::measure::lab
