#include "pcie/tree.hpp"

#include <algorithm>

namespace weft::pcie {

namespace {

constexpr Identity kRootPort{0x1234, 0x0001, 0x060400};
constexpr Identity kSwitchPort{0x1234, 0x0002, 0x060400};
constexpr Identity kChainHost{0x1234, 0x0003, 0x060400};
constexpr Identity kChainBridge{0x1234, 0x0004, 0x060400};
enum ExpressType : unsigned { kTypeDevice = 0, kTypeRootPort = 4, kTypeUpstream = 5, kTypeDownstream = 6 };

void add_express(ConfigSpace& space, unsigned type, const LinkParameters& link) {
  add_express(space, {type, link.generation, link.width, link.max_payload});
}

ConfigSpace bridge_space(const Identity& identity, unsigned type, const LinkParameters& link) {
  ConfigSpace space = ConfigSpace::bridge(identity);
  add_express(space, type, link);
  return space;
}

ConfigSpace chain_host_space(const LinkParameters& link) {
  ConfigSpace space = ConfigSpace::bridge(kChainHost);
  hyper_transport::add_host(space, {link.clock, link.width});
  return space;
}

}  // namespace

std::size_t Tree::add(Place place) {
  const std::size_t index = places_.size();
  std::vector<std::size_t>& bus = place.parent == kNone ? roots_ : places_[place.parent].below;
  place.device = static_cast<unsigned>(bus.size());
  bus.push_back(index);
  places_.push_back(std::move(place));
  return index;
}

std::size_t Tree::add_root_port(std::string name, const LinkParameters& link) {
  const bool chain = link.is_hyper_transport();
  bridges_.push_back(chain ? chain_host_space(link) : bridge_space(kRootPort, kTypeRootPort, link));
  return add({std::move(name),
              kNone,
              0,
              &bridges_.back(),
              nullptr,
              link,
              chain ? hyper_transport::kUnits : 1,
              false,
              {}});
}

/// It is the last of its chain from now on.
void Tree::join_chain(std::size_t host, ConfigSpace& space) {
  const Place& place = places_[host];
  const hyper_transport::Capability link{place.link.clock, place.link.width};
  hyper_transport::add_unit(space, link);
  if (!place.below.empty()) hyper_transport::set_followed(*places_[place.below.back()].space, link);
}

std::size_t Tree::add_bridge(std::string name, std::size_t below, const LinkParameters& link) {
  bridges_.push_back(ConfigSpace::bridge(kChainBridge));
  join_chain(below, bridges_.back());
  add_express(bridges_.back(), kTypeRootPort, link);
  return add({std::move(name), below, 0, &bridges_.back(), nullptr, link, 1, false, {}});
}

std::size_t Tree::add_switch(std::string name, std::size_t below, unsigned ports,
                             const LinkParameters& link) {
  bridges_.push_back(bridge_space(kSwitchPort, kTypeUpstream, link));
  const std::size_t upstream = add({name, below, 0, &bridges_.back(), nullptr, link, ports, true, {}});
  for (unsigned i = 0; i < ports; ++i) {
    bridges_.push_back(bridge_space(kSwitchPort, kTypeDownstream, link));
    LinkParameters inside = link;  // the bus inside a switch is no link: it takes no time of its own
    inside.latency = {0};
    add({name + "." + std::to_string(i), upstream, 0, &bridges_.back(), nullptr, inside, 1, false, {}});
  }
  return upstream;
}

std::size_t Tree::free_port(std::size_t bridge) const {
  const Place& place = places_[bridge];
  if (!place.is_switch) return place.below.size() < place.room ? bridge : kNone;
  for (std::size_t port : place.below)
    if (places_[port].below.empty()) return port;
  return kNone;
}

std::size_t Tree::add_function(std::string name, std::size_t below, Function& function,
                               const LinkParameters& link) {
  LinkParameters own = link;
  if (is_chain(below)) {
    own = places_[below].link;
    own.latency = {0};
    join_chain(below, function.config());
  } else {
    add_express(function.config(), kTypeDevice, link);
  }
  return add({std::move(name), below, 0, &function.config(), &function, own, 0, false, {}});
}

/// On a chain the first that has this number: until units are given theirs, all have 0.
std::size_t Tree::on_bus(const std::vector<std::size_t>& bus, FunctionId id) const {
  for (std::size_t index : bus) {
    const Place& place = places_[index];
    const unsigned number = is_chain(place.parent) ? hyper_transport::number_of(*place.space) : place.device;
    if (number == id.device() && id.function() == 0) return index;
  }
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
  std::uint32_t payload = out.max_payload;
  for (std::size_t at = place; places_[at].parent != kNone; at = places_[at].parent) {
    const std::size_t above = places_[at].parent;
    const LinkParameters& link = places_[above].link;
    // On a chain, one link and tunnel more for each that is before it.
    const unsigned links = is_chain(above) ? places_[at].device + 1 : 1;
    Time latency = out.latency;
    for (unsigned i = 0; i < links; ++i) latency = latency + link.latency;
    if (rate_of(link).value < rate_of(out).value) out = link;
    out.latency = latency;
    payload = std::min(payload, link.max_payload);
  }
  out.max_payload = payload;
  return out;
}

std::vector<std::size_t> Tree::links(std::size_t place) const {
  std::vector<std::size_t> out;
  for (std::size_t at = place; places_[at].parent != kNone; at = places_[at].parent) {
    const Place& above = places_[places_[at].parent];
    if (above.is_switch) continue;  // a port of it, which is inside
    const unsigned before = is_chain(places_[at].parent) ? places_[at].device : 0;
    for (unsigned i = 0; i < before; ++i) out.push_back(above.below[i]);
    out.push_back(at);
  }
  return out;
}

LinkParameters Tree::link_above(std::size_t place) const {
  const std::size_t parent = places_[place].parent;
  const LinkParameters &own = places_[place].link, &above = parent == kNone ? own : places_[parent].link;
  return is_chain(parent) || rate_of(above).value < rate_of(own).value ? above : own;
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
