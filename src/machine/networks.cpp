#include "machine/networks.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "base/check.hpp"
#include "topology/renumber.hpp"

namespace weft::machine {

using config::Node;
using config::Range;
using config::Reader;
using config::Table;

namespace {

constexpr std::size_t kMostNetworks = 8, kMostGateways = 4096;
constexpr double kMostNodes = 4'194'304;

/// What of [nic] is a chip's and its wires' own: each network has it by itself. The rest is what programs see
/// and what two interfaces must agree upon, and is the machine's.
constexpr std::array kChipKeys{"kind",
                               "payload",
                               "header",
                               "descriptor",
                               "units",
                               "occupancy",
                               "send_latency",
                               "receive_latency",
                               "adapter_latency",
                               "window",
                               "translation",
                               "translation_entries",
                               "translation_ways",
                               "translation_hit",
                               "translation_miss",
                               "second_stage",
                               "send_contexts",
                               "receive_contexts"};
void take_chip(NicParameters& to, const NicParameters& from) {
  to.payload = from.payload;
  to.header = from.header;
  to.descriptor = from.descriptor;
  to.units = from.units;
  to.occupancy = from.occupancy;
  to.send_latency = from.send_latency;
  to.receive_latency = from.receive_latency;
  to.adapter_latency = from.adapter_latency;
  to.window = from.window;
  to.translation = from.translation;
  to.translation_entries = from.translation_entries;
  to.translation_ways = from.translation_ways;
  to.translation_hit = from.translation_hit;
  to.translation_miss = from.translation_miss;
  to.second_stage = from.second_stage;
  to.send_contexts = from.send_contexts;
  to.receive_contexts = from.receive_contexts;
}

/// The same of [host]: its bus and memory; costs of software are the machine's.
constexpr std::array kBusKeys{"bus",         "bus_payload",     "write_combining", "read_request",
                              "tags",        "write_latency",   "read_latency",    "snoop",
                              "memory_read", "cache_injection", "cache_read"};
void take_bus(HostParameters& to, const HostParameters& from) {
  to.bus = from.bus;
  to.bus_payload = from.bus_payload;
  to.write_combining = from.write_combining;
  to.read_request = from.read_request;
  to.tags = from.tags;
  to.write_latency = from.write_latency;
  to.read_latency = from.read_latency;
  to.snoop = from.snoop;
  to.cache_injection = from.cache_injection;
  to.memory_read = from.memory_read;
  to.cache_read = from.cache_read;
}

const std::vector<std::string>& network_sections() {
  static const std::vector<std::string> all{"topology", "routing", "router", "cable",    "core",
                                            "nic",      "host",    "faults", "rerouting"};
  return all;
}

bool is_one_of(const auto& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Does a setting of one network's description count, or is it the machine's? `own`: the network says
/// something of its interfaces.
bool counts(const std::string& key, bool own_nic, bool own_host) {
  const std::size_t dot = key.find('.');
  const std::string section = key.substr(0, dot), name = key.substr(dot + 1);
  if (section == "nic") return own_nic && is_one_of(kChipKeys, name);
  if (section == "host") return own_host && is_one_of(kBusKeys, name);
  return is_one_of(network_sections(), section);
}

void refuse_unknown(const Table& own, const std::string& path, Diagnostics& problems) {
  std::vector<std::string> known = network_sections();
  known.insert(known.end(), {"base", "about", "nodes", "up_to"});
  for (const auto& [key, node] : own.entries) {
    if (!is_one_of(known, key)) {
      problems.add(node.origin, path + "." + key,
                   fmt::format("unknown {}{}; a network has {}", node.table() ? "section" : "key",
                               did_you_mean(key, known), join(known, ", ")));
      continue;
    }
    if (!node.table() || (key != "nic" && key != "host")) continue;
    for (const auto& [name, value] : node.table()->entries) {
      const bool chip = key == "nic" ? is_one_of(kChipKeys, name) : is_one_of(kBusKeys, name);
      const config::Section& all =
          key == "nic" ? config::Registry<NicKind>::find(kDefaultNic)->section : host_section();
      if (!chip && all.find(name))
        problems.add(value.origin, fmt::format("{}.{}.{}", path, key, name),
                     fmt::format("is what programs see of all nodes alike: it belongs in [{}]", key));
    }
  }
}

/// "0-19,24" as numbers; complains where it is none, or names a node twice.
std::vector<std::uint32_t> listed(const std::string& text, const Origin& origin, const std::string& key,
                                  Diagnostics& problems) {
  std::vector<std::uint32_t> out;
  auto number = [](std::string_view part, std::uint32_t& value) {
    auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    return !part.empty() && error == std::errc() && end == part.data() + part.size() && value < kMostNodes;
  };
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> ends = split(part, '-');
    std::uint32_t first = 0, last = 0;
    if (ends.empty() || ends.size() > 2 || !number(ends.front(), first) || !number(ends.back(), last) ||
        first > last) {
      problems.add(origin, key, fmt::format("expected nodes such as \"0-15,20\", got \"{}\"", part));
      return {};
    }
    for (std::uint32_t node = first; node <= last; ++node) out.push_back(node);
  }
  std::vector<std::uint32_t> sorted = out;
  std::sort(sorted.begin(), sorted.end());
  if (auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    problems.add(origin, key, fmt::format("names node {} twice", *twice));
  return out;
}

Origin origin_of(const Table& root, std::string_view section, const std::string& name, std::string_view key) {
  const Node* node = root.find(section);
  for (std::string_view next : {std::string_view(name), key})
    if (node && !next.empty() && node->table())
      if (const Node* below = node->table()->find(next)) node = below;
  return node ? node->origin : Origin{};
}

}  // namespace

void keep_network_sections(Table& tree) {
  auto section_of = [](const std::string& key) { return key.substr(0, key.find('.')); };
  std::erase_if(tree.entries, [&](const auto& entry) {
    return entry.first != "sources" && !is_one_of(network_sections(), entry.first);
  });
  Node* sources = tree.find("sources");
  if (!sources || !sources->table()) return;
  std::erase_if(sources->table()->entries,
                [&](const auto& entry) { return !is_one_of(network_sections(), section_of(entry.first)); });
}

namespace {

class NetworksReader {
 public:
  NetworksReader(const Table& root, const ReadOne& read_one, Reader& reader, Description& machine)
      : root_(root), read_one_(read_one), reader_(reader), machine_(machine) {}

  std::shared_ptr<Networks> read() {
    const Node* all = root_.find("network");
    gateway_section().read(&out_->gateway, root_.find("gateway"), "gateway", reader_);
    for (const char* section : {"topology", "routing", "router", "cable", "faults", "collective_network"})
      if (const Node* node = root_.find(section))
        problems().add(node->origin, section,
                       "is of one network: a machine with [network.NAME] has it there, such as "
                       "[network.cluster.topology]");
    if (!all->table() || all->table()->entries.empty() || all->table()->entries.size() > kMostNetworks) {
      problems().add(all->origin, "network",
                     fmt::format("expected sections such as [network.cluster], 1 to {}", kMostNetworks));
      return nullptr;
    }
    const std::size_t before = problems().size();
    for (const auto& [name, node] : all->table()->entries) read_network(name, node);
    if (problems().size() > before) return nullptr;
    number_nodes();
    if (problems().size() == before) check_gateways();
    return problems().size() == before ? out_ : nullptr;
  }

 private:
  Diagnostics& problems() { return reader_.problems; }

  void read_network(const std::string& name, const Node& node) {
    const std::string path = "network." + name;
    const bool usable =
        !name.empty() &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos &&
        name.front() >= 'a';
    if (!usable)
      return problems().add(node.origin, path,
                            "a network's name has small letters, digits, _ and -, and begins with a letter");
    if (!node.table())
      return problems().add(node.origin, path, fmt::format("expected a section, [{}]", path));
    NetworkPart part;
    part.name = name;
    std::vector<std::string> below = network_sections();
    below.push_back("base");
    for (const auto& [key, value] : node.table()->entries) below.push_back(key);
    std::erase_if(below, [](const std::string& key) { return network_section().find(key) != nullptr; });
    network_section().read(&part.parameters, &node, path, reader_, below);
    refuse_unknown(*node.table(), path, problems());
    if (!read_machine(path, node, part)) return;
    out_->parts.push_back(std::move(part));
  }

  /// The network as a machine of its own, with the machine's interfaces where it has none.
  bool read_machine(const std::string& path, const Node& node, NetworkPart& part) {
    Node own = node;
    for (const char* key : {"about", "nodes", "up_to"})
      std::erase_if(own.table()->entries, [&](const auto& entry) { return entry.first == key; });
    if (!own.table()->find("base"))
      for (const char* section : {"nic", "host", "core"})
        if (const Node* of_machine = root_.find(section); of_machine && !own.table()->find(section))
          own.table()->entries.emplace_back(section, *of_machine);
    const bool base = node.table()->find("base") != nullptr;
    Diagnostics found;
    std::optional<Description> read = read_one_(std::move(own), found);
    for (const Diagnostic& d : found.all())
      problems().add(d.origin.source.empty() ? node.origin : d.origin, path + "." + d.key, d.message);
    if (!read) return false;
    const bool own_nic = base || node.table()->find("nic"), own_host = base || node.table()->find("host");
    std::vector<config::Setting> counted;
    for (const config::Setting& s : read->settings)
      if (counts(s.key, own_nic, own_host)) {
        reader_.settings.push_back({path + "." + s.key, s.value, s.origin});
        counted.push_back(s);
      }
    for (const auto& [key, source] : read->sources)
      if (counts(key, own_nic, own_host)) machine_.sources.emplace_back(path + "." + key, source);
    part.description = std::move(*read);
    part.description.identity.name = machine_.identity.name + ":" + part.name;
    part.description.identity.about =
        part.parameters.about.empty() ? "a network of " + machine_.identity.name : part.parameters.about;
    return true;
  }

  /// Nodes that a network does not list are new ones, one for each of its endpoints.
  void number_nodes() {
    std::uint32_t next = 0;
    for (NetworkPart& part : out_->parts) {
      const std::string key = "network." + part.name + ".nodes";
      const Origin origin = origin_of(root_, "network", part.name, "nodes");
      const Description& d = part.description;
      const double endpoints = d.topology->size(d.topology_parameters.get()).endpoints;
      if (!part.parameters.nodes.empty()) {
        part.nodes = listed(part.parameters.nodes, origin, key, problems());
      } else if (endpoints + next <= kMostNodes) {
        for (double e = 0; e < endpoints; ++e) part.nodes.push_back(next + static_cast<std::uint32_t>(e));
      }
      if (static_cast<double>(part.nodes.size()) > endpoints || endpoints + next > kMostNodes)
        problems().add(
            origin, key,
            fmt::format("names {} nodes; its topology has {:.9g} endpoints (and {:.9g} are the most "
                        "of a machine of several networks)",
                        part.nodes.size(), endpoints, kMostNodes));
      for (std::uint32_t node : part.nodes) next = std::max(next, node + 1);
    }
    out_->nodes = next;
    masks_.assign(next, 0);
    for (std::size_t p = 0; p < out_->parts.size(); ++p)
      for (std::uint32_t node : out_->parts[p].nodes) masks_[node] |= 1u << p;
    std::string missing;
    std::size_t count = 0;
    for (std::uint32_t node = 0; node < next; ++node)
      if (!masks_[node] && ++count <= 5) missing += fmt::format("{}{}", count > 1 ? ", " : "", node);
    if (count)
      problems().add(origin_of(root_, "network", out_->parts.back().name, "nodes"), "network",
                     fmt::format("no network has {} {}{}; nodes have numbers from 0 on, without gaps",
                                 count > 1 ? "nodes" : "node", missing, count > 5 ? ", ..." : ""));
  }

  std::string names(std::uint32_t mask) const {
    std::vector<std::string> out;
    for (std::size_t p = 0; p < out_->parts.size(); ++p)
      if (mask >> p & 1) out.push_back(out_->parts[p].name);
    return join(out, " and ");
  }

  void check_gateways() {
    const Origin origin = origin_of(root_, "gateway", "nodes", "");
    const Origin where = origin.source.empty() ? root_.find("network")->origin : origin;
    if (!out_->gateway.nodes.empty())
      out_->gateways = listed(out_->gateway.nodes, where, "gateway.nodes", problems());
    if (out_->gateways.size() > kMostGateways)
      problems().add(where, "gateway.nodes",
                     fmt::format("names {} nodes; a machine may have {} gateways", out_->gateways.size(),
                                 kMostGateways));
    for (std::uint32_t node : out_->gateways) {
      if (node >= out_->nodes)
        problems().add(where, "gateway.nodes",
                       fmt::format("there is no node {}; the machine has {}, from 0", node, out_->nodes));
      else if ((masks_[node] & (masks_[node] - 1)) == 0)
        problems().add(
            where, "gateway.nodes",
            fmt::format("node {} is on {} alone; a gateway is on two networks", node, names(masks_[node])));
    }
    if (!problems().empty()) return;
    check_ways(where);
  }

  /// Every pair of nodes shares a network that takes packets of any size, or a gateway joins theirs.
  void check_ways(const Origin& where) {
    std::map<std::uint32_t, std::uint32_t> kinds;  // by networks: the first node of the kind
    for (std::uint32_t node = 0; node < out_->nodes; ++node) kinds.try_emplace(masks_[node], node);
    std::uint32_t any_size = 0;
    for (std::size_t p = 0; p < out_->parts.size(); ++p)
      if (out_->parts[p].parameters.up_to.value == 0) any_size |= 1u << p;
    for (auto a = kinds.begin(); a != kinds.end(); ++a) {
      const std::uint32_t own = a->first;
      if ((own & any_size) == 0)
        problems().add(where, "network",
                       fmt::format("node {} is on {} alone, which takes packets of some sizes only (up_to)",
                                   a->second, names(own)));
      for (auto b = std::next(a); b != kinds.end(); ++b) {
        if (own & b->first & any_size) continue;
        const bool joined = std::ranges::any_of(out_->gateways, [&](std::uint32_t g) {
          return (masks_[g] & own & any_size) && (masks_[g] & b->first & any_size);
        });
        if (!joined)
          problems().add(where, "gateway.nodes",
                         fmt::format("no gateway joins {} (node {}) and {} (node {})", names(own), a->second,
                                     names(b->first), b->second));
      }
    }
  }

  const Table& root_;
  const ReadOne& read_one_;
  Reader& reader_;
  Description& machine_;
  std::shared_ptr<Networks> out_ = std::make_shared<Networks>();
  std::vector<std::uint32_t> masks_;  // by node: networks it is on
};

const NetworksBuilder& builder() {
  const auto& all = config::Registry<NetworksBuilder>::all();
  WEFT_CHECK(all.size() == 1, "one part builds machines of several networks");
  return all.begin()->second;
}

}  // namespace

const Networks* networks_of(const Description& machine) {
  return machine.topology == &builder().topology
             ? static_cast<const Networks*>(machine.topology_parameters.get())
             : nullptr;
}

const config::Section& network_section() {
  using P = NetworkParameters;
  static const config::Section section =
      config::Schema<P>()
          .field(&P::about, "about", "One line on what it is")
          .field(
              &P::nodes, "nodes",
              "Nodes its endpoints belong to, in their order, such as \"0-15,20\"; a node may be on several "
              "networks. Left out: as many nodes more as it has endpoints")
          .field(&P::up_to, "up_to",
                 "Of nodes on several networks: the first that takes a packet of its size carries it. This "
                 "one takes packets of so many bytes; 0: of any size",
                 Range<DataSize>{{0}, {1'048'576}})
          .section();
  return section;
}

const config::Section& gateway_section() {
  using P = GatewayParameters;
  const Range<Time> positive{{1}, {1'000'000'000'000}};
  static const config::Section section =
      config::Schema<P>()
          .field(&P::nodes, "nodes",
                 "Nodes on two networks or more that pass packets on between them, such as \"16-19\"")
          .field(&P::latency, "latency",
                 "From a packet being whole in the gateway and its forwarding done to its being sent on",
                 positive)
          .field(&P::occupancy, "occupancy",
                 "Time its forwarding takes for each packet; packets to one network are forwarded one after "
                 "the other",
                 Range<Time>{{0}, {1'000'000'000'000}})
          .field(&P::rate, "rate",
                 "What it copies from one interface to the other, each way: adds a "
                 "packet's size over this to its forwarding",
                 Range<DataRate>{{1'000}, {1'000'000'000'000'000}})
          .field(&P::window, "window",
                 "Packets that a gateway has room for, for each node that sends through it; one that has as "
                 "many there waits for credits",
                 Range<unsigned>{1, 65'536})
          .field(&P::credit, "credit",
                 "Size of the packet by which a gateway returns half a window of credits to a node",
                 Range<DataSize>{{1}, {4096}})
          .choice(&P::share, "share",
                  "Which gateway a packet takes, where there are several: the sum of the numbers of its two "
                  "nodes decides, that of its source, or that of its destination",
                  {"pair", "source", "destination"})
          .section();
  return section;
}

void read_networks(const Table& root, const ReadOne& read_one, Reader& reader, Description& machine) {
  const std::shared_ptr<Networks> networks = NetworksReader(root, read_one, reader, machine).read();
  if (!networks) return;
  machine.topology = &builder().topology;
  machine.topology_parameters = networks;
  machine.routing = &builder().routing;
  machine.routing_parameters = networks;
  const Description& first = networks->parts.front().description;
  machine.router_kind = first.router_kind;
  machine.router_parameters = first.router_parameters;
  machine.router = first.router;
  machine.router.ports = 0;  // each network has its own limit
  std::uint32_t first_router = 0;
  for (const NetworkPart& part : networks->parts) {
    const Description& d = part.description;
    for (const std::string& cable : d.faults.dead_cables)
      machine.faults.dead_cables.push_back(topology::renumbered(cable, first_router));
    for (std::uint32_t router : d.faults.dead_routers)
      machine.faults.dead_routers.push_back(first_router + router);
    first_router += static_cast<std::uint32_t>(d.topology->size(d.topology_parameters.get()).routers);
    const RouterParameters& router = part.description.router;
    machine.router.message_classes = std::max(machine.router.message_classes, router.message_classes);
    if (router.class_weights != first.router.class_weights)
      reader.problems.add(part.description.origin("router.class_weights"),
                          "network." + part.name + ".router.class_weights",
                          "classes of traffic are the machine's: all of its networks have the same");
    for (topology::CableType type : part.description.cables) {
      type.name = part.name + "." + type.name;
      machine.cables.push_back(std::move(type));
    }
  }
  if (machine.cables.size() > 200)
    reader.problems.add(
        root.find("network")->origin, "network",
        fmt::format("have {} cable types together; a machine may have 200", machine.cables.size()));
}

void settle_networks(Description& machine) {
  auto* networks = const_cast<Networks*>(networks_of(machine));
  if (!networks) return;
  for (NetworkPart& part : networks->parts) {
    Description& d = part.description;
    NicParameters nic = machine.nic;
    take_chip(nic, d.nic);
    d.nic = nic;
    HostParameters host = machine.host;
    take_bus(host, d.host);
    d.host = host;
    d.mpi = machine.mpi;
    d.processor = machine.processor;
    d.files = machine.files;
  }
  // What everybody may count on.
  for (const NetworkPart& part : networks->parts)
    machine.nic.payload = std::min(machine.nic.payload, part.description.nic.payload);
}

Description one_network(const Description& machine, const std::string& name) {
  const Networks* networks = networks_of(machine);
  std::vector<std::string> known;
  if (networks)
    for (const NetworkPart& part : networks->parts) {
      if (part.name == name) return part.description;
      known.push_back(part.name);
    }
  throw UserError(
      networks ? fmt::format("{} has no network '{}'{}; it has {}", machine.identity.name, name,
                             did_you_mean(name, known), join(known, ", "))
               : fmt::format("{} is one network; there is no '{}' in it", machine.identity.name, name));
}

void refuse_networks(const Description& machine, const std::string& who) {
  const Networks* networks = networks_of(machine);
  if (!networks) return;
  std::vector<std::string> ways;
  for (const NetworkPart& part : networks->parts) ways.push_back(machine.identity.name + ":" + part.name);
  throw UserError(fmt::format("{} looks at one network, and {} has {}; write {}", who, machine.identity.name,
                              networks->parts.size(), join(ways, " or ")));
}

}  // namespace weft::machine

WEFT_REGISTRY(weft::machine::NetworksBuilder);
