#include "machine/node_processors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"

namespace weft::machine {

using config::Node;
using config::Table;

namespace {

struct Place {
  std::vector<std::uint32_t> nodes;
};

std::vector<std::string> keys_but(const Table& section, const std::vector<std::string>& without) {
  std::vector<std::string> out;
  for (const auto& [key, value] : section.entries)
    if (std::find(without.begin(), without.end(), key) == without.end()) out.push_back(key);
  return out;
}

/// Nodes that there are, and that have no other processor yet.
void check_nodes(const NodeProcessor& one, const Node& section, double endpoints,
                 std::map<std::uint32_t, std::string>& taken, config::Reader& reader) {
  const std::string key = "processor." + one.name + ".nodes";
  const Node* written = section.table()->find("nodes");
  const Origin origin = written ? written->origin : section.origin;
  if (one.nodes.empty())
    return reader.problems.add(
        origin, key, "names no node that has this processor; expected their numbers, such as [0, 1]");
  for (std::uint32_t node : one.nodes) {
    if (endpoints >= 0 && node >= endpoints)
      return reader.problems.add(origin, key,
                                 fmt::format("there is no node {}; the machine has {}, from 0", node,
                                             with_commas(static_cast<std::uint64_t>(endpoints))));
    const auto [other, is_new] = taken.emplace(node, one.name);
    if (!is_new)
      return reader.problems.add(
          origin, key,
          other->second == one.name
              ? fmt::format("names node {} twice", node)
              : fmt::format("node {} has the processor of [processor.{}] already", node, other->second));
  }
}

void check_clock(const NodeProcessor& one, const ProcessorParameters& all, const Node& section,
                 config::Reader& reader) {
  const Node* clock = section.table()->find("clock");
  if (clock && one.processor.clock.value != all.clock.value && one.processor.nominal_clock.value == 0)
    reader.problems.add(clock->origin, "processor." + one.name + ".clock",
                        "nothing follows from it without processor.nominal_clock, the clock at which the "
                        "times of this description hold");
}

}  // namespace

const config::Section& node_processor_section() {
  static const config::Section section =
      config::Schema<Place>().field(&Place::nodes, "nodes", "Nodes that have it, by number").section();
  return section;
}

void read_processors(const Table& root, double endpoints, config::Reader& reader, ProcessorParameters& all,
                     std::vector<NodeProcessor>& some) {
  const Node* node = root.find("processor");
  std::vector<std::string> names;
  if (node && node->table())
    for (const auto& [key, value] : node->table()->entries)
      if (value.table() && !processor_section().find(key)) names.push_back(key);
  processor_section().read(&all, node, "processor", reader, names);
  std::map<std::uint32_t, std::string> taken;
  for (const std::string& name : names) {
    const Node& section = *node->table()->find(name);
    const std::string path = "processor." + name;
    NodeProcessor one{name, all, {}};
    processor_section().read(&one.processor, &section, path, reader, {"nodes"});
    Place place;
    node_processor_section().read(&place, &section, path, reader, keys_but(*section.table(), {"nodes"}));
    one.nodes = place.nodes;
    check_nodes(one, section, endpoints, taken, reader);
    check_clock(one, all, section, reader);
    some.push_back(std::move(one));
  }
}

}  // namespace weft::machine
