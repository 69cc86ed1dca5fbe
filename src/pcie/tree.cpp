#include "pcie/tree.hpp"

#include <algorithm>

namespace weft::pcie {

namespace {

constexpr Identity kRootPort{0x1234, 0x0001, 0x060400};
constexpr Identity kSwitchPort{0x1234, 0x0002, 0x060400};
enum ExpressType : unsigned { kTypeRootPort = 4, kTypeUpstream = 5, kTypeDownstream = 6 };

ConfigSpace bridge_space(const Identity& identity, unsigned type, const LinkParameters& link) {
  ConfigSpace space = ConfigSpace::bridge(identity);
  add_express(space, {type, link.generation, link.width, link.max_payload});
  return space;
}

}  // namespace

LinkParameters link_of(const ConfigSpace& space) {
  const std::uint32_t link = space.read(*space.find_capability(kCapabilityExpress) + 0xcu, 4);
  return {link & 0xf, link >> 4 & 0x3f, largest_payload_of(space), {0}};
}

std::size_t Tree::add(Place place) {
  const std::size_t index = places_.size();
  std::vector<std::size_t>& bus = place.parent == kNone ? roots_ : places_[place.parent].below;
  place.device = static_cast<unsigned>(bus.size());
  bus.push_back(index);
  places_.push_back(std::move(place));
  return index;
}

std::size_t Tree::add_root_port(std::string name, const LinkParameters& link) {
  bridges_.push_back(bridge_space(kRootPort, kTypeRootPort, link));
  return add({std::move(name), kNone, 0, &bridges_.back(), nullptr, link, {}});
}

std::size_t Tree::add_switch(std::string name, std::size_t below, unsigned ports,
                             const LinkParameters& link) {
  bridges_.push_back(bridge_space(kSwitchPort, kTypeUpstream, link));
  const std::size_t upstream = add({name, below, 0, &bridges_.back(), nullptr, link, {}});
  for (unsigned i = 0; i < ports; ++i) {
    bridges_.push_back(bridge_space(kSwitchPort, kTypeDownstream, link));
    LinkParameters inside = link;  // the bus inside a switch is no link: it takes no time of its own
    inside.latency = {0};
    add({name + "." + std::to_string(i), upstream, 0, &bridges_.back(), nullptr, inside, {}});
  }
  return upstream;
}

std::size_t Tree::free_port(std::size_t bridge) const {
  const Place& place = places_[bridge];
  if (place.parent == kNone) return place.below.empty() ? bridge : kNone;
  for (std::size_t port : place.below)
    if (places_[port].below.empty()) return port;
  return kNone;
}

std::size_t Tree::add_function(std::string name, std::size_t below, Function& function,
                               const LinkParameters& link) {
  return add({std::move(name), below, 0, &function.config(), &function, link, {}});
}

std::size_t Tree::on_bus(const std::vector<std::size_t>& bus, FunctionId id) const {
  for (std::size_t index : bus)
    if (places_[index].device == id.device() && id.function() == 0) return index;
  return kNone;
}

std::size_t Tree::find(FunctionId id) const {
  const std::vector<std::size_t>* bus = &roots_;
  unsigned number = 0;
  while (number != id.bus()) {
    const std::vector<std::size_t>* next = nullptr;
    for (std::size_t index : *bus) {
      const Place& place = places_[index];
      if (place.function || id.bus() < place.space->secondary() || id.bus() > place.space->subordinate() ||
          place.space->secondary() <= number)
        continue;
      next = &place.below;
      number = place.space->secondary();
      break;
    }
    if (!next) return kNone;
    bus = next;
  }
  return on_bus(*bus, id);
}

Tree::Target Tree::find_memory(std::uint64_t address, std::uint64_t bytes) const {
  const std::vector<std::size_t>* bus = &roots_;
  while (bus) {
    const std::vector<std::size_t>* next = nullptr;
    for (std::size_t index : *bus) {
      const Place& place = places_[index];
      if (!place.space->memory_enabled()) continue;
      if (!place.function) {
        if (!next && place.space->window_has(address, bytes)) next = &place.below;
        continue;
      }
      const std::vector<Bar>& bars = place.space->bars();
      for (unsigned b = 0; b < bars.size(); ++b) {
        const std::uint64_t first = place.space->bar_address(b);
        if (bars[b].size && address >= first && bytes <= bars[b].size &&
            address - first <= bars[b].size - bytes)
          return {index, b, address - first};
      }
    }
    bus = next;
  }
  return {};
}

LinkParameters Tree::path(std::size_t place) const {
  LinkParameters out = places_[place].link;
  for (std::size_t at = places_[place].parent; at != kNone; at = places_[at].parent) {
    const LinkParameters& link = places_[at].link;
    out.latency = out.latency + link.latency;
    if (rate_of(link.generation, link.width).value < rate_of(out.generation, out.width).value) {
      out.generation = link.generation;
      out.width = link.width;
    }
    out.max_payload = std::min(out.max_payload, link.max_payload);
  }
  return out;
}

std::uint32_t Tree::config_read(FunctionId id, std::uint32_t offset, std::uint32_t bytes) const {
  const std::size_t place = find(id);
  if (place == kNone) return bytes >= 4 ? ~0u : (1u << 8 * bytes) - 1;
  return places_[place].space->read(offset, bytes);
}

bool Tree::config_write(FunctionId id, std::uint32_t offset, std::uint32_t bytes, std::uint32_t value) {
  const std::size_t place = find(id);
  if (place == kNone) return false;
  places_[place].space->write(offset, bytes, value);
  if (places_[place].function) places_[place].function->set_id(id);
  return true;
}

ConfigAccess access_to(Tree& tree) {
  return {[&tree](FunctionId id, std::uint32_t offset, std::uint32_t bytes) {
            return tree.config_read(id, offset, bytes);
          },
          [&tree](FunctionId id, std::uint32_t offset, std::uint32_t bytes, std::uint32_t value) {
            tree.config_write(id, offset, bytes, value);
          }};
}

}  // namespace weft::pcie
