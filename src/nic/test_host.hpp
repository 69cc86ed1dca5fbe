// Hosts of plain memory under the interfaces, for tests: no processes, no virtual time but the fabric's.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <tuple>

#include "base/random.hpp"
#include "config/registry.hpp"
#include "network/joined_network.hpp"
#include "nic/domains.hpp"
#include "nic/fabric.hpp"
#include "nic/translation.hpp"
#include "node/bus.hpp"

namespace weft::nic::test {

class TestHost : public Host {
 public:
  struct Seen {
    std::deque<Message> messages;
    std::deque<Event> events;
    unsigned slots = 0;
  };

  explicit TestHost(unsigned owners, std::size_t bytes) : memory(owners, std::vector<std::uint8_t>(bytes)) {}

  bool read(node::SpaceId owner, std::uint64_t address, void* to, std::uint64_t length) override {
    if (!there(owner, address, length)) return false;
    std::memcpy(to, memory[owner].data() + (address - kBase), length);
    return true;
  }
  bool write(node::SpaceId owner, std::uint64_t address, const void* from, std::uint64_t length) override {
    if (!there(owner, address, length)) return false;
    std::memcpy(memory[owner].data() + (address - kBase), from, length);
    return true;
  }
  bool has_space(node::NodeId node, node::SpaceId space) const override { return node == space; }
  void message(PortRef port, const Message& m) override { at(port).messages.push_back(m); }
  void event(PortRef port, const Event& e) override { at(port).events.push_back(e); }
  void slot_free(PortRef port, Time) override { ++at(port).slots; }

  Seen& at(PortRef port) { return seen[{port.nic, port.port}]; }

  static constexpr std::uint64_t kBase = 0x7000'0000'0000;
  std::vector<std::vector<std::uint8_t>> memory;
  std::map<std::pair<NicId, PortNo>, Seen> seen;

 private:
  bool there(std::uint32_t owner, std::uint64_t address, std::uint64_t length) const {
    return address >= kBase && address + length <= kBase + memory[owner].size();
  }
};

/// A machine, its network and one interface on each of its first nodes, owner i on node i.
class Bench {
 public:
  Bench(const std::string& text, unsigned nodes, const std::string& engine = "ideal",
        std::size_t bytes = 1 << 20, std::uint64_t seed = 1, const std::string& faults = "")
      : machine(machine::build(machine::describe_text(text, "test", {}))), host(nodes, bytes) {
    network = network::make_network(*config::Registry<network::EngineKind>::find(engine), machine,
                                    {seed, 1,
                                     faults.empty() ? std::vector<network::link::FaultEvent>{}
                                                    : network::link::read_faults(faults, *machine.graph)});
    std::vector<network::EndpointId> used;
    for (unsigned i = 0; i < nodes; ++i) used.push_back(i);
    fabric = std::make_unique<Fabric>(machine, *network, queue, host, used, seed);
    for (unsigned i = 0; i < nodes; ++i) {
      PortNo port = 0;
      if (fabric->open(i, i, false, port) != Status::Ok) throw std::runtime_error("no port");
      ports.push_back({i, port});
    }
  }

  std::uint64_t region(unsigned owner, std::uint64_t offset, std::uint64_t length,
                       std::uint32_t rights = kAllRights) {
    std::uint64_t key = 0;
    if (fabric->register_memory(ports[owner], TestHost::kBase + offset, length, rights, key) != Status::Ok)
      return 0;
    return key;
  }

  void post(unsigned from, Descriptor d) {
    d.posted = fabric->now().value;
    fabric->post(ports[from], d);
  }

  Descriptor to(unsigned target, Operation operation, std::uint64_t length, std::uint16_t flags = 0) const {
    Descriptor d;
    d.operation = operation;
    d.node = target;
    d.port = ports[target].port;
    d.length = length;
    d.flags = flags;
    return d;
  }

  /// Until nothing is under way, the rings emptied as they fill; false where it never ends.
  bool settle(bool keep_up = true) {
    for (int i = 0; i < 2'000'000; ++i) {
      if (fabric->idle()) return true;
      fabric->advance(network::kForever);
      if (keep_up)
        for (PortRef port : ports) take(port);
    }
    return false;
  }
  void take(PortRef port) {
    TestHost::Seen& seen = host.at(port);
    auto messages = static_cast<unsigned>(seen.messages.size()),
         events = static_cast<unsigned>(seen.events.size());
    TestHost::Seen& all = taken[{port.nic, port.port}];
    all.messages.insert(all.messages.end(), seen.messages.begin(), seen.messages.end());
    all.events.insert(all.events.end(), seen.events.begin(), seen.events.end());
    seen.messages.clear();
    seen.events.clear();
    if (messages || events) fabric->consumed(port, messages, events);
  }
  std::deque<Event>& events(unsigned owner) { return taken[{ports[owner].nic, ports[owner].port}].events; }
  std::deque<Message>& messages(unsigned owner) {
    return taken[{ports[owner].nic, ports[owner].port}].messages;
  }

  machine::Machine machine;
  TestHost host;
  std::unique_ptr<network::Network> network;
  event::EventQueue queue;
  std::unique_ptr<Fabric> fabric;
  std::vector<PortRef> ports;
  std::map<std::pair<NicId, PortNo>, TestHost::Seen> taken;
};

inline std::string torus(const std::string& nic = "", const std::string& host = "",
                         const std::string& dims = "[2, 2]") {
  return "[topology]\nkind = \"torus\"\ndims = " + dims +
         "\n[routing]\nkind = \"dimension-order\"\n[router]\nchannels = 4\nbuffer_flits = 64\nlatency = "
         "\"60ns\"\n"
         "[cable.default]\nlanes = 4\nlane_rate = \"6.25Gbps\"\ncoding = \"8b10b\"\nlength = \"2m\"\ndelay = "
         "\"80ns\"\n[nic]\n" +
         nic + "\n[host]\n" + host + "\n";
}

/// Nodes 0 and 1 on one network, 2 and 3 on another, and gateways 4 and 5 on both. `a` and `b`: more lines of
/// [network.a.nic] and of the other.
inline std::string two_networks(const std::string& a, const std::string& b, const std::string& cable,
                                const std::string& gateway = "", const std::string& nic = "") {
  std::string out;
  for (const auto& [name, nodes, rate, chip] :
       {std::tuple("a", "0-1,4-5", "6.25Gbps", a), std::tuple("b", "2-3,4-5", "2.5Gbps", b)}) {
    const std::string section = "[network." + std::string(name);
    out += section + "]\nnodes = \"" + nodes + "\"\n" + section +
           ".topology]\nkind = \"torus\"\ndims = [2, 2]\n" + section +
           ".routing]\nkind = \"dimension-order\"\n" + section +
           ".router]\nchannels = 4\nbuffer_flits = 64\nlatency = \"60ns\"\n" + section +
           ".cable.default]\nlane_rate = \"" + rate + "\"\ndelay = \"80ns\"\n" + cable + "\n" + section +
           ".nic]\n" + chip + "\n";
  }
  return out + "[gateway]\nnodes = \"4-5\"\nlatency = \"400ns\"\n" + gateway + "\n[nic]\n" + nic + "\n";
}

}  // namespace weft::nic::test
