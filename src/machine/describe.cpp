// Reads a description: files, what they build on and what is set beside them, into checked structs.
#include <algorithm>
#include <filesystem>
#include <set>

#include "base/input_file.hpp"
#include "machine/collective_section.hpp"
#include "machine/core_clock.hpp"
#include "machine/description.hpp"
#include "machine/fault_parameters.hpp"
#include "machine/networks.hpp"
#include "machine/own_system.hpp"
#include "machine/profiles.hpp"
#include "power/body.hpp"

namespace weft::machine {

using config::Node;
using config::Reader;
using config::Table;

namespace {

const config::Section& identity_section() {
  static const config::Section section =
      config::Schema<Identity>()
          .field(&Identity::name, "name", "Name of the machine, for titles and result files")
          .field(&Identity::about, "about", "One line on what it is")
          .section();
  return section;
}

// The kinds a section may be of, whichever registry they are in.
struct KindChoice {
  std::string name;
  const config::Section* section;
};

template <class Kind>
std::vector<KindChoice> choices() {
  std::vector<KindChoice> out;
  for (const auto& [name, kind] : config::Registry<Kind>::all()) out.push_back({name, &kind.section});
  return out;
}

std::vector<KindChoice> choices_of(std::string_view section) {
  if (section == "topology") return choices<topology::TopologyKind>();
  if (section == "routing") return choices<routing::RoutingKind>();
  if (section == "router") return choices<RouterKind>();
  if (section == "nic") return choices<NicKind>();
  if (section == "cooling") return choices<power::CoolingKind>();
  return {};
}

std::string kind_of(const Table& table) {
  const Node* kind = table.find("kind");
  return kind && kind->string() ? *kind->string() : "";
}

void drop_foreign_keys_of(Table& lower, const Table& upper, const std::vector<KindChoice>& kinds) {
  std::string now = kind_of(upper);
  if (kinds.empty() || now.empty() || now == kind_of(lower)) return;
  auto chosen = std::find_if(kinds.begin(), kinds.end(), [&](const KindChoice& c) { return c.name == now; });
  if (chosen == kinds.end()) return;
  std::erase_if(lower.entries, [&](const auto& entry) {
    return entry.first != "kind" && entry.first != "nodes" && !chosen->section->find(entry.first);
  });
}

void drop_foreign_device_keys(Table& lower, const Table& upper) {
  Node* below = nullptr;
  for (auto& [name, node] : lower.entries)
    if (name == "device") below = &node;
  const Node* above = upper.find("device");
  if (!below || !below->table() || !above || !above->table()) return;
  for (auto& [name, node] : below->table()->entries) {
    const Node* changed = above->table()->find(name);
    if (changed && changed->table() && node.table())
      drop_foreign_keys_of(*node.table(), *changed->table(), choices<node::DeviceKind>());
  }
}

// Where the upper layer changes a section's kind, values below that the new kind does not know are dropped:
// the buffer policy of a tree means nothing to a torus.
void drop_foreign_keys(Table& lower, const Table& upper) {
  for (auto& [name, node] : lower.entries) {
    const Node* above = upper.find(name);
    if (!above || !above->table() || !node.table()) continue;
    drop_foreign_keys_of(*node.table(), *above->table(), choices_of(name));
    if (name == "node") drop_foreign_device_keys(*node.table(), *above->table());
  }
}

// A description with levels and parts of its own has a body of its own: it must not keep half of another's.
// One that has only some of them changes the body below.
void drop_foreign_body(Table& lower, const Table& upper) {
  const Node *rack = upper.find("rack"), *power = upper.find("power");
  if (!rack || !power || !power->table() || !power->table()->find("part")) return;
  constexpr std::string_view kSections[] = {"rack", "power", "cooling", "controller"};
  auto of_body = [&](std::string_view key) {
    return std::ranges::any_of(kSections, [&](std::string_view section) {
      return key == section || (key.starts_with(section) && key[section.size()] == '.');
    });
  };
  std::erase_if(lower.entries, [&](const auto& entry) { return of_body(entry.first); });
  for (auto& [name, node] : lower.entries)
    if (name == "sources" && node.table())
      std::erase_if(node.table()->entries, [&](const auto& entry) { return of_body(entry.first); });
}

void lay_over(Table& lower, const Table& upper) {
  drop_foreign_keys(lower, upper);
  drop_foreign_body(lower, upper);
  config::merge(lower, upper);
}

class Loader {
 public:
  explicit Loader(Diagnostics& problems) : problems_(problems) {}

  /// The file's tree with everything it builds on beneath it.
  Node load_file(const std::string& path) {
    if (!visited_.insert(std::filesystem::weakly_canonical(path).string()).second)
      throw UserError(
          {{{path}, "base", "this description builds on itself, through " + join(files, " and ")}});
    files.push_back(path);
    std::string text = read_file(path, kMostDescriptionBytes);
    return with_base(config::parse_toml(text, path, problems_), path);
  }

  Node with_base(Node tree, const std::string& path) {
    const Node* base = tree.table()->find("base");
    if (!base) return tree;
    if (!base->string()) {
      problems_.add(base->origin, "base",
                    fmt::format("expected a profile's name or a file's path, got {}", base->text()));
      return tree;
    }
    std::filesystem::path beside = std::filesystem::path(path).parent_path() / *base->string();
    std::error_code ignored;
    bool is_file = std::filesystem::is_regular_file(beside, ignored);
    std::string found = is_file ? beside.string() : profile_path(*base->string());
    if (found.empty()) {
      problems_.add(base->origin, "base",
                    fmt::format("there is no profile or file '{}'{}", *base->string(),
                                did_you_mean(*base->string(), profile_names())));
      return tree;
    }
    Node lower = load_file(found);
    std::erase_if(tree.table()->entries, [](const auto& entry) { return entry.first == "base"; });
    lay_over(*lower.table(), *tree.table());
    return lower;
  }

  std::vector<std::string> files;

 private:
  Diagnostics& problems_;
  std::set<std::string> visited_;
};

// Reads a section whose keys depend on its `kind`.
template <class Kind>
const Kind* read_kind(const Table& root, const std::string& path, Reader& reader,
                      std::shared_ptr<void>& parameters) {
  const Node* node = root.find(path);
  auto names = config::Registry<Kind>::names();
  if (!node || !node->table()) {
    reader.problems.add(
        node ? node->origin : Origin{}, path,
        fmt::format("expected a section [{}] with a kind: one of {}", path, join(names, ", ")));
    return nullptr;
  }
  const Node* kind_node = node->table()->find("kind");
  if (!kind_node) {
    reader.problems.add(node->origin, path + ".kind",
                        fmt::format("is missing; expected one of {}", join(names, ", ")));
    return nullptr;
  }
  const Kind* kind = kind_node->string() ? config::Registry<Kind>::find(*kind_node->string()) : nullptr;
  if (!kind) {
    reader.problems.add(kind_node->origin, path + ".kind",
                        fmt::format("expected one of {}, got {}{}", join(names, ", "), kind_node->text(),
                                    kind_node->string() ? did_you_mean(*kind_node->string(), names) : ""));
    return nullptr;
  }
  reader.settings.push_back({path + ".kind", config::quote(kind->name), kind_node->origin});
  parameters = kind->section.make();
  kind->section.read(parameters.get(), node, path, reader, {"kind"});
  return kind;
}

// A section that may be left out, and so may its kind: there is a plain one.
template <class Kind>
const Kind* read_kind_or(const char* plain, const Table& root, const std::string& path, Reader& reader,
                         std::shared_ptr<void>& parameters) {
  Table with_kind;
  const Node* node = root.find(path);
  if (!node || !node->table()) {
    if (node) reader.problems.add(node->origin, path, fmt::format("expected a section, [{}]", path));
    with_kind.entries.emplace_back(path, Node(Table{}));
  } else {
    with_kind.entries.emplace_back(path, *node);
  }
  Table& section = *with_kind.entries.front().second.table();
  if (!section.find("kind")) section.entries.emplace_back("kind", Node(std::string(plain)));
  return read_kind<Kind>(with_kind, path, reader, parameters);
}

/// Keys that only another kind of router has: an error that says which.
void refuse_keys_of_other_kinds(Table& given, Reader& reader) {
  const std::string name = given.find("kind") ? kind_of(given) : kDefaultRouter;
  const RouterKind* kind = config::Registry<RouterKind>::find(name);
  if (!kind) return;
  std::erase_if(given.entries, [&](const auto& entry) {
    const auto& [key, node] = entry;
    if (key == "kind" || kind->section.find(key)) return false;
    std::vector<std::string> owners;
    for (const RouterKind* other : router_kinds())
      if (other->section.find(key)) owners.push_back(other->name);
    if (owners.empty()) return false;
    reader.problems.add(
        node.origin, "router." + key,
        fmt::format("is a key of router kind {}, and this router is {}; set router.kind to {}, "
                    "or leave the key out",
                    join(owners, " and "), kind->name, join(owners, " or ")));
    return true;
  });
}

void read_router(const Table& root, Reader& reader, Description& out) {
  Table own;
  if (const Node* node = root.find("router")) own.entries.emplace_back("router", *node);
  if (Table* given = own.entries.empty() ? nullptr : own.entries.front().second.table())
    refuse_keys_of_other_kinds(*given, reader);
  out.router_kind = read_kind_or<RouterKind>(kDefaultRouter, own, "router", reader, out.router_parameters);
  if (!out.router_kind) return;
  out.router = out.router_kind->view(out.router_parameters.get());
  if (const unsigned classes = out.router.traffic_classes(); classes == 0 || out.router.all_classes() > 8)
    reader.problems.add(
        out.origin("router.class_weights"), "router.class_weights",
        classes == 0 ? "needs a weight for each class of traffic; [1]: there is one class"
                     : fmt::format("{} of traffic with {} each are more than 8 in all",
                                   count_of(classes, "class", "classes"),
                                   count_of(out.router.message_classes, "message class", "message classes")));
}

void read_nic(const Table& root, Reader& reader, Description& out) {
  std::shared_ptr<void> parameters;
  if (const NicKind* kind = read_kind_or<NicKind>(kDefaultNic, root, "nic", reader, parameters))
    out.nic = kind->view(parameters.get());
}

void read_storage(const Table& root, double endpoints, Reader& reader, StorageParameters& out) {
  const Node* section = root.find("storage");
  storage_section().read(&out, section, "storage", reader, {"device", "burst_buffer", "nvm", "cache"});
  const bool known = section && section->table();
  auto below = [&](const char* name) { return known ? section->table()->find(name) : nullptr; };
  burst_buffer_section().read(&out.burst_buffer, below("burst_buffer"), "storage.burst_buffer", reader);
  storage_device_section().read(&out.nvm, below("nvm"), "storage.nvm", reader);
  storage_cache_section().read(&out.cache, below("cache"), "storage.cache", reader);
  if (const Node* cache = below("cache"); cache)
    if (const char* wrong = refuse_cache(out.cache))
      reader.problems.add(cache->origin, "storage.cache", wrong);
  const std::int64_t block = out.burst_buffer.block.value;
  if (const Node* buffer = below("burst_buffer"); buffer && (out.stripe_unit.value % block != 0))
    reader.problems.add(buffer->origin, "storage.burst_buffer.block",
                        "expected a size that divides storage.stripe_unit");
  storage_device_section().read(&out.device, below("device"), "storage.device", reader);
  const Node* nodes = known ? section->table()->find("nodes") : nullptr;
  for (std::uint32_t node : out.nodes)
    if (nodes && endpoints >= 0 && node >= endpoints)
      return reader.problems.add(nodes->origin, "storage.nodes",
                                 fmt::format("there is no node {} for a server; the machine has {}, from 0",
                                             node, with_commas(static_cast<std::uint64_t>(endpoints))));
}

std::shared_ptr<const power::Body> read_body(const Table& root, Reader& reader) {
  auto out = std::make_shared<power::Body>();
  power::read_body(root, reader, *out);
  if (root.find("cooling"))
    out->cooling = read_kind<power::CoolingKind>(root, "cooling", reader, out->cooling_parameters);
  return out;
}

/// Those that are worth telling: whoever has more has another kind of file.
constexpr std::size_t kMostMistakes = 50;

void read_cables(const Table& root, Reader& reader, std::vector<topology::CableType>& cables) {
  auto read_one = [&](const std::string& name, const Node* node) {
    topology::CableType type;
    type.name = name;
    topology::cable_section().read(&type, node, "cable." + name, reader);
    cables.push_back(type);
    reader.names["cable"].push_back(name);
  };
  const Node* all = root.find("cable");
  const Node* standard = all && all->table() ? all->table()->find("default") : nullptr;
  read_one("default", standard);
  if (!all) return;
  if (!all->table()) {
    reader.problems.add(all->origin, "cable", "expected sections such as [cable.default] or [cable.optical]");
    return;
  }
  constexpr std::size_t kMostTypes = 200;
  if (all->table()->entries.size() > kMostTypes) {
    reader.problems.add(all->origin, "cable",
                        fmt::format("has {} cable types; a machine may have {}",
                                    with_commas(all->table()->entries.size()), kMostTypes));
    return;
  }
  for (const auto& [name, node] : all->table()->entries) {
    if (name == "default") continue;
    if (!node.table()) {
      reader.problems.add(
          node.origin, "cable." + name,
          fmt::format("expected a section, [cable.{}]; the common type is [cable.default]", name));
      continue;
    }
    read_one(name, &node);
  }
}

// How deep a value was written: -1 on the command line, 0 in the description itself, 1 in its base.
std::ptrdiff_t layer_of(const Origin& origin, const Description& d) {
  auto at = std::find(d.files.begin(), d.files.end(), origin.source);
  return at == d.files.end() ? -1 : at - d.files.begin();
}

// Was the value written in a layer above what explains it? Then that was about the value it replaced.
bool replaced_above(const std::string& key, const Origin& explained, const Description& d) {
  auto at = std::find_if(d.settings.begin(), d.settings.end(),
                         [&](const config::Setting& setting) { return setting.key == key; });
  return at != d.settings.end() && !at->origin.source.empty() &&
         std::max<std::ptrdiff_t>(0, layer_of(at->origin, d)) < layer_of(explained, d);
}

void read_sources(const Table& root, Reader& reader, Description& out) {
  const Node* sources = root.find("sources");
  if (!sources) return;
  if (!sources->table()) {
    reader.problems.add(sources->origin, "sources", "expected a section, [sources]");
    return;
  }
  std::vector<std::string> known;
  for (const config::Setting& setting : reader.settings) known.push_back(setting.key);
  for (const auto& [key, node] : sources->table()->entries) {
    if (reader.problems.size() > kMostMistakes) return;
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      // Where a layer above changed the kind of a section, what is explained here may be gone.
      std::string section = key.substr(0, key.find('.'));
      bool kind_changed = !choices_of(section).empty() &&
                          layer_of(out.origin(section + ".kind"), out) < layer_of(node.origin, out);
      if (!kind_changed)
        reader.problems.add(node.origin, "sources." + config::quote(key),
                            "is no parameter of this machine" + did_you_mean(key, known));
    } else if (!node.string()) {
      reader.problems.add(node.origin, "sources." + config::quote(key), "expected a text in quotes");
    } else if (!replaced_above(key, node.origin, out)) {
      out.sources.emplace_back(key, *node.string());
    }
  }
}

void check_top_level(const Table& root, Diagnostics& problems) {
  std::vector<std::string> known{"base",    "topology", "routing",         "router", "nic",
                                 "node",    "cable",    "sources",         "rack",   "power",
                                 "cooling", "network",  kCollectiveNetwork};
  for (const FixedSection& fixed : fixed_sections())
    if (fixed.name.find('.') == std::string::npos) known.push_back(fixed.name);
  for (const auto& [name, node] : root.entries)
    if (problems.size() < kMostMistakes && std::find(known.begin(), known.end(), name) == known.end()) {
      std::string hint =
          name == "device" ? "; a device sits on a node: [node.device.NAME]" : did_you_mean(name, known);
      problems.add(
          node.origin, name,
          node.table()
              ? "unknown section" + hint
              : "unknown key" + (hint.empty() ? "; keys belong in a section such as [topology]" : hint));
    }
}

/// How many nodes the machine has; negative where its topology is not known.
double endpoints_of(const Description& d, const Diagnostics& problems) {
  return d.topology && problems.empty() ? d.topology->size(d.topology_parameters.get()).endpoints : -1;
}

/// [management], and the topology that its network may have of its own (management.hpp).
void read_management(const Table& root, Reader& reader, Description& out) {
  const Node* node = root.find("management");
  management_section().read(&out.management, node, "management", reader, {"topology"});
  if (!node || !node->table() || !node->table()->find("topology")) return;
  std::vector<config::Setting> settings;
  Diagnostics found;
  Reader own{found, settings};
  std::shared_ptr<void> parameters;
  read_kind<topology::TopologyKind>(*node->table(), "topology", own, parameters);
  for (const Diagnostic& d : found.all()) reader.problems.add(d.origin, "management." + d.key, d.message);
  for (const config::Setting& s : settings)
    out.settings.push_back({"management." + s.key, s.value, s.origin});
}

/// A network beside the machine's, from the sections under [collective_network]: what a network is made of.
/// Interfaces and all else are the machine's.
void read_collective_network(const Table& root, Description& machine, Diagnostics& problems) {
  const Node* node = root.find(kCollectiveNetwork);
  if (!node) return;
  const std::string name = kCollectiveNetwork;
  if (!node->table()) {
    problems.add(node->origin, name, "expected sections such as [collective_network.topology]");
    return;
  }
  const Table& own = *node->table();
  Description out;
  Diagnostics found;
  Reader reader{found, out.settings};
  const std::vector<std::string> known{"topology", "routing", "router", "cable"};
  for (const auto& [key, value] : own.entries)
    if (std::find(known.begin(), known.end(), key) == known.end())
      found.add(value.origin, key,
                "unknown section" + did_you_mean(key, known) + "; a network for collectives has " +
                    join(known, ", "));
  read_cables(own, reader, out.cables);
  out.topology = read_kind<topology::TopologyKind>(own, "topology", reader, out.topology_parameters);
  out.routing = read_kind<routing::RoutingKind>(own, "routing", reader, out.routing_parameters);
  read_router(own, reader, out);
  for (const Diagnostic& d : found.all()) {
    const bool nowhere = d.origin.source.empty();
    problems.add(nowhere ? node->origin : d.origin, name + "." + d.key, d.message);
  }
  for (const config::Setting& s : out.settings)
    machine.settings.push_back({name + "." + s.key, s.value, s.origin});
}

Description read(Node tree, Loader& loader, const std::vector<std::string>& settings, Diagnostics& problems);

/// What [network.NAME] says is read as a machine of its own, of the sections a network has.
ReadOne network_reader(const std::string& file) {
  return [file](Node section, Diagnostics& problems) -> std::optional<Description> {
    try {
      Loader own(problems);
      own.files.push_back(file);
      Node tree = own.with_base(std::move(section), file);
      keep_network_sections(*tree.table());
      return read(std::move(tree), own, {}, problems);
    } catch (const UserError& error) {
      if (problems.empty())
        for (const Diagnostic& d : error.diagnostics()) problems.add(d.origin, d.key, d.message);
      return std::nullopt;
    }
  };
}

/// What a network is made of: the machine's own, or several.
void read_network(const Table& root, const Loader& loader, Reader& reader, Description& out) {
  if (root.find("network"))
    return read_networks(root, network_reader(loader.files.empty() ? "" : loader.files.front()), reader, out);
  read_cables(root, reader, out.cables);
  out.topology = read_kind<topology::TopologyKind>(root, "topology", reader, out.topology_parameters);
  out.routing = read_kind<routing::RoutingKind>(root, "routing", reader, out.routing_parameters);
  read_router(root, reader, out);
  if (const Node* gateway = root.find("gateway"))
    reader.problems.add(gateway->origin, "gateway",
                        "is between networks; this machine has no [network.NAME]");
}

Description read(Node tree, Loader& loader, const std::vector<std::string>& settings, Diagnostics& problems) {
  for (const std::string& setting : settings) {
    Node upper = config::parse_override(setting, problems);
    lay_over(*tree.table(), *upper.table());
  }
  problems.throw_if_any();  // a tree that did not parse has nothing more to say

  Description out;
  out.files = loader.files;
  Table& root = *tree.table();
  check_top_level(root, problems);
  Reader reader{problems, out.settings};
  identity_section().read(&out.identity, root.find("machine"), "machine", reader);
  read_network(root, loader, reader, out);
  fault_section().read(&out.faults, root.find("faults"), "faults", reader);
  rerouting_section().read(&out.rerouting, root.find("rerouting"), "rerouting", reader);
  read_nic(root, reader, out);
  host_section().read(&out.host, root.find("host"), "host", reader);
  read_devices(root, endpoints_of(out, problems), reader, out.devices);
  mpi_section().read(&out.mpi, root.find("mpi"), "mpi", reader);
  read_processors(root, endpoints_of(out, problems), reader, out.processor, out.node_processors);
  check_own_systems(out, endpoints_of(out, problems), problems);
  read_management(root, reader, out);
  read_storage(root, endpoints_of(out, problems), reader, out.storage);
  if (out.storage.traffic_class >= std::max(1u, out.router.traffic_classes()))
    problems.add(out.origin("storage.traffic_class"), "storage.traffic_class",
                 fmt::format("there is no class {}: router.class_weights has {}, numbered from 0",
                             out.storage.traffic_class, count_of(out.router.traffic_classes(), "weight")));
  core_section().read(&out.core, root.find("core"), "core", reader);
  out.body = read_body(root, reader);
  read_collective_network(root, out, problems);
  if (problems.empty()) read_sources(root, reader, out);
  problems.throw_if_any();
  apply_core(out.core, out.nic, out.router, out.cables);
  apply_processor(out.processor, out.host, out.mpi);
  settle_networks(out);
  return out;
}

}  // namespace

const std::vector<FixedSection>& fixed_sections() {
  static const std::vector<FixedSection> sections{
      {"machine", "What the machine is called", &identity_section()},
      {"cable.NAME", "A type of cable; [cable.default] is the one used where a topology names no other",
       &topology::cable_section()},
      {"faults", "What is broken from the start", &fault_section()},
      {"rerouting", "What happens when a link dies during a run", &rerouting_section()},
      {"host", "What an interface sits in: bus, memory and processor", &host_section()},
      {"mpi", "What carries the messages of MPI programs, and what it costs the processor", &mpi_section()},
      {"network.NAME",
       "A network of a machine that has several. Below it are its own [network.NAME.topology], .routing, "
       ".router, .cable.NAME, .core, .faults and .rerouting, what is its own of .nic and .host, and base: a "
       "machine that all of these are taken from",
       &network_section()},
      {"gateway", "Nodes that pass packets on from one network to another", &gateway_section()},
      {"core", "Clock and width of the chip with interface and router", &core_section()},
      {"processor", "What computes on a node", &processor_section()},
      {"processor.NAME",
       "What computes on some nodes instead, with all keys of [processor]: what is left out is as there",
       &node_processor_section()},
      {"management",
       "The network by which the monitors of all chips are read: a tree of switches, or of the kind that "
       "[management.topology] gives it, whose first endpoint is the station and the next are the routers",
       &management_section()},
      {"storage", "The parallel file system, below /weft for programs", &storage_section()},
      {"storage.device", "What each of its servers keeps data on", &storage_device_section()},
      {"storage.burst_buffer", "What jobs keep of it in their own nodes (`weft run --burst-buffer`)",
       &burst_buffer_section()},
      {"storage.cache", "What nodes keep of files in their memory; options of the mount come before it",
       &storage_cache_section()},
      {"storage.nvm", "The non-volatile memory of a node, for that", &storage_device_section()},
      {"rack.NAME", "A level of packaging: board, blade, chassis, rack", &power::level_section()},
      {"power.part.NAME", "What draws power on a node, and how hot it may be", &power::part_section()},
      {"power.supply", "Power supplies of the outermost level", &power::supply_section()},
      {"controller", "Board management controller and its watchdog", &power::controller_section()},
  };
  return sections;
}

Description describe(const std::string& name_or_path, const std::vector<std::string>& settings) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (const std::size_t colon = name_or_path.rfind(':');
      colon != std::string::npos && colon > 0 && !fs::exists(name_or_path, ignored))
    return one_network(describe(name_or_path.substr(0, colon), settings), name_or_path.substr(colon + 1));
  bool looks_like_path = name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".toml");
  std::string path = looks_like_path ? name_or_path : profile_path(name_or_path);
  if (path.empty()) {
    bool file_here = fs::is_regular_file(name_or_path, ignored);
    throw UserError(fmt::format("there is no machine '{}'{}{}", name_or_path,
                                did_you_mean(name_or_path, profile_names()),
                                file_here ? fmt::format("; for the file here, write ./{}", name_or_path)
                                          : "; `weft list` shows the profiles there are"));
  }
  if (!fs::exists(path, ignored)) throw UserError(fmt::format("{}: there is no such file", path));
  Diagnostics problems;
  Loader loader(problems);
  Node tree = loader.load_file(path);
  return read(std::move(tree), loader, settings, problems);
}

Description describe_text(std::string_view text, const std::string& source,
                          const std::vector<std::string>& settings) {
  Diagnostics problems;
  Loader loader(problems);
  loader.files.push_back(source);
  Node tree = loader.with_base(config::parse_toml(text, source, problems), source);
  return read(std::move(tree), loader, settings, problems);
}

std::vector<ProfileInfo> profiles() {
  std::vector<ProfileInfo> out;
  for (const std::string& name : profile_names()) {
    Description description = describe(name, {});
    out.push_back({name, profile_path(name), description.identity.about});
  }
  return out;
}

}  // namespace weft::machine
