#include "measure/compare/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/input_file.hpp"
#include "base/version.hpp"
#include "config/registry.hpp"
#include "machine/machine.hpp"
#include "network/network.hpp"
#include "workload/pattern.hpp"
#include "workload/replay.hpp"
#include "workload/skeleton.hpp"

namespace weft::measure {

using config::Node;
using config::Range;
using config::Schema;

const config::Section& compare_section() {
  using P = CompareSpec;
  static const config::Section section =
      Schema<P>()
          .field(&P::title, "title", "Heading of the report")
          .field(&P::about, "about", "A sentence below it")
          .choice(&P::figure, "figure",
                  "What is compared: 'time' to completion, or 'throughput' over all endpoints",
                  {"time", "throughput"})
          .field(&P::engines, "engines",
                 "Engines each point runs on: flow, flit, ideal, or static (all flows at once)")
          .field(&P::set, "set", "Settings of all machines, as \"section.key=value\"")
          .field(&P::seed, "seed", "Seed of all points")
          .field(&P::send_cost, "send_cost", "Time of a rank's processor for each message it sends",
                 Range<Time>{{0}, {1'000'000'000'000}})
          .field(&P::receive_cost, "receive_cost", "The same for each message it receives",
                 Range<Time>{{0}, {1'000'000'000'000}})
          .field(&P::expected, "expected",
                 "Groups of machines' names from best to worst: the order the result must have at the "
                 "largest size")
          .section();
  return section;
}

const config::Section& compare_machine_section() {
  using P = CompareMachine;
  static const config::Section section =
      Schema<P>()
          .field(&P::name, "name", "What it is called in the report")
          .required()
          .field(&P::base, "base", "A profile's name or a description's path")
          .required()
          .field(&P::set, "set", "Settings, as \"section.key=value\"")
          .field(&P::variants, "variants", "Lists of settings, one for each point: sizes, for instance")
          .section();
  return section;
}

const config::Section& compare_workload_section() {
  using P = CompareWorkload;
  static const config::Section section =
      Schema<P>()
          .field(&P::name, "name", "What it is called in the report")
          .required()
          .field(&P::kind, "kind",
                 "A workload of `weft replay` or the path of a trace; with the static engine a pattern of "
                 "`weft traffic`")
          .required()
          .field(&P::set, "set", "Settings, as \"key=value\"")
          .field(&P::variants, "variants", "Lists of settings, one for each point")
          .field(&P::ranks, "ranks", "Ranks; 0: one on each endpoint, or as many as the trace has")
          .field(&P::placement, "placement", "linear, random, block or file:PATH")
          .field(&P::bytes, "bytes", "With the static engine: bytes of each flow, for the time to completion",
                 Range<DataSize>{{1}, {std::int64_t{1} << 50}})
          .section();
  return section;
}

namespace {

template <class T>
void read_list(const Node& tree, const char* key, const config::Section& section, config::Reader& reader,
               std::vector<T>& out) {
  const Node* node = tree.table()->find(key);
  auto* list = node ? std::get_if<std::vector<Node>>(&node->value) : nullptr;
  if (!list || list->empty()) {
    reader.problems.add(node ? node->origin : Origin{tree.origin.source}, key,
                        fmt::format("expected at least one [[{}]]", key));
    return;
  }
  for (const Node& one : *list) {
    if (!one.table()) {
      reader.problems.add(one.origin, key, fmt::format("expected [[{}]] sections", key));
      return;
    }
    section.read(&out.emplace_back(), &one, key, reader);
  }
}

Settings joined(const Settings& a, const Settings& b, const Settings& c = {}) {
  Settings out = a;
  out.insert(out.end(), b.begin(), b.end());
  out.insert(out.end(), c.begin(), c.end());
  return out;
}

template <class T>
const Settings& variant(const T& one, std::uint32_t i) {
  static const Settings none;
  return one.variants.empty() ? none : one.variants[i];
}

bool is_file(const std::string& kind) { return kind.ends_with(".goal") || kind.ends_with(".weftrace"); }

/// Everything a point names exists and can be read, before anything runs.
void check_parts(const CompareSpec& spec, Diagnostics& problems) {
  auto add_all = [&](const std::string& where, auto&& work) {
    try {
      work();
    } catch (const UserError& error) {
      for (const Diagnostic& one : error.diagnostics())
        problems.add(one.origin.source.empty() ? Origin{spec.path} : one.origin, one.key,
                     where + ": " + one.message);
    }
  };
  auto engines = config::Registry<network::EngineKind>::names();
  engines.push_back(kStaticEngine);
  for (const std::string& engine : spec.engines)
    if (std::find(engines.begin(), engines.end(), engine) == engines.end())
      problems.add({spec.path}, "compare.engines",
                   fmt::format("there is no engine '{}'{}; there are {}", engine,
                               did_you_mean(engine, engines), join(engines, ", ")));
  for (const CompareMachine& m : spec.machines)
    for (std::uint32_t i = 0; i < std::max<std::size_t>(1, m.variants.size()); ++i)
      add_all("machine " + m.name,
              [&] { machine::describe(m.base, joined(spec.set, m.set, variant(m, i))); });
  for (const CompareWorkload& w : spec.workloads)
    for (const std::string& engine : spec.engines) {
      bool is_static = engine == kStaticEngine;
      auto names = is_static ? workload::Patterns::names() : workload::Skeletons::names();
      if (is_static ? workload::Patterns::find(w.kind) != nullptr
                    : is_file(w.kind) || workload::Skeletons::find(w.kind) != nullptr)
        continue;
      problems.add({spec.path}, "workload.kind",
                   fmt::format("engine {} knows no workload '{}'{}; it knows {}", engine, w.kind,
                               did_you_mean(w.kind, names), join(names, ", ")));
    }
  std::vector<std::string> names;
  for (const CompareMachine& m : spec.machines) names.push_back(m.name);
  for (const auto& group : spec.expected)
    for (const std::string& name : group)
      if (std::find(names.begin(), names.end(), name) == names.end())
        problems.add({spec.path}, "compare.expected",
                     fmt::format("there is no machine '{}' here{}", name, did_you_mean(name, names)));
}

}  // namespace

CompareSpec read_compare(const std::string& path) {
  std::string text = read_file(path, kMostDescriptionBytes);
  Diagnostics problems;
  std::vector<config::Setting> settings;
  config::Reader reader{problems, settings};
  Node tree = config::parse_toml(text, path, problems);
  problems.throw_if_any();
  CompareSpec spec;
  spec.path = path;
  const std::vector<std::string> known{"compare", "machine", "workload"};
  for (const auto& [key, node] : tree.table()->entries)
    if (std::find(known.begin(), known.end(), key) == known.end())
      problems.add(node.origin, key, fmt::format("unknown section{}", did_you_mean(key, known)));
  const Node* head = tree.table()->find("compare");
  if (head && !head->table())
    problems.add(head->origin, "compare", "expected a section, [compare]");
  else
    compare_section().read(&spec, head, "compare", reader);
  read_list(tree, "machine", compare_machine_section(), reader, spec.machines);
  read_list(tree, "workload", compare_workload_section(), reader, spec.workloads);
  problems.throw_if_any();
  check_parts(spec, problems);
  problems.throw_if_any();
  return spec;
}

std::vector<ComparePoint> compare_points(const CompareSpec& spec) {
  std::vector<ComparePoint> out;
  auto count = [](const auto& one) {
    return static_cast<std::uint32_t>(std::max<std::size_t>(1, one.variants.size()));
  };
  for (std::uint32_t w = 0; w < spec.workloads.size(); ++w)
    for (std::uint32_t wv = 0; wv < count(spec.workloads[w]); ++wv)
      for (std::uint32_t e = 0; e < spec.engines.size(); ++e)
        for (std::uint32_t m = 0; m < spec.machines.size(); ++m)
          for (std::uint32_t mv = 0; mv < count(spec.machines[m]); ++mv) out.push_back({m, mv, w, wv, e});
  return out;
}

std::string point_key(const CompareSpec& spec, const ComparePoint& point) {
  const CompareMachine& m = spec.machines[point.machine];
  const CompareWorkload& w = spec.workloads[point.workload];
  std::string all = fmt::format("{}|{}|{}|", version(), spec.engines[point.engine], spec.seed);
  auto d = machine::describe(m.base, joined(spec.set, m.set, variant(m, point.machine_variant)));
  for (const config::Setting& s : d.settings) all += s.key + "=" + s.value + "|";
  all += fmt::format("{}|{}|{}|{}|{}|{}|", w.kind, w.placement, w.ranks, w.bytes.value, spec.send_cost.value,
                     spec.receive_cost.value);
  for (const std::string& s : joined(w.set, variant(w, point.workload_variant))) all += s + "|";
  for (const std::string& file :
       {w.kind, w.placement.starts_with("file:") ? w.placement.substr(5) : std::string()}) {
    std::error_code ignored;
    if (!file.empty() && std::filesystem::is_regular_file(file, ignored))
      all += read_file(file, kMostTraceBytes);
  }
  std::uint64_t hash = 0xcbf29ce484222325u, other = 0x9e3779b97f4a7c15u;
  for (char c : all) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    other = (other + static_cast<unsigned char>(c)) * 0xff51afd7ed558ccdu;
  }
  return fmt::format("{:016x}{:08x}", hash, other >> 32);
}

}  // namespace weft::measure
