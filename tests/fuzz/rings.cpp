// A guest that means no good: what its kernel says over vhost-user, and what lies in its rings, is the input.
// Two honest guests exchange frames meanwhile, and must get them, whole.
#include <sys/socket.h>

#include <cstdlib>

#include "config/registry.hpp"
#include "guest/test_guest.hpp"
#include "input.hpp"
#include "machine/machine.hpp"

namespace weft::fuzz {

namespace {

using guest::Ethernet;
using guest::test::TestGuest;

void expect(bool holds) {
  if (!holds) std::abort();
}

const machine::Machine& small_machine() {
  static const machine::Machine machine = machine::build(machine::describe_text(
      "[topology]\nkind = \"torus\"\ndims = [2, 2]\n[routing]\nkind = \"dimension-order\"\n[cable.default]\n"
      "[node.device.eth0]\nkind = \"ethernet\"\nsend_ring = 8\nreceive_ring = 16\n",
      "fuzz", {}));
  return machine;
}

class Nodes : public nic::Host {
 public:
  static constexpr unsigned kNodes = 3;
  Nodes() {
    network_ = config::Registry<network::EngineKind>::find("ideal")->make(small_machine(), {1, 1, {}});
    fabric_ = std::make_unique<nic::Fabric>(small_machine(), *network_, queue_, *this,
                                            std::vector<network::EndpointId>{0, 1, 2}, 1);
    for (unsigned i = 0; i < kNodes; ++i) {
      devices.push_back(&dynamic_cast<Ethernet&>(fabric_->site(i).device(1)));
      peers_.push_back(devices[i]->open(*fabric_, i, i));
    }
    for (unsigned i = 0; i < kNodes; ++i) {
      devices[i]->know(peers_);
      guests.push_back(std::make_unique<TestGuest>(*devices[i]));
      guests[i]->offer_buffers(0, 32);
    }
  }
  void settle() {
    for (int i = 0; i < 100'000 && !fabric_->idle(); ++i) fabric_->advance(network::kForever);
    expect(fabric_->idle());
  }
  std::vector<Ethernet*> devices;
  std::vector<std::unique_ptr<TestGuest>> guests;

 private:
  bool read(node::SpaceId space, std::uint64_t address, void* to, std::uint64_t length) override {
    return devices[space]->read(address, to, length);
  }
  bool write(node::SpaceId space, std::uint64_t address, const void* from, std::uint64_t length) override {
    return devices[space]->write(address, from, length);
  }
  bool has_space(node::NodeId node, node::SpaceId space) const override { return node == space; }
  void device_interrupt(node::NodeId node, node::DeviceId) override { devices[node]->interrupted(); }
  void message(nic::PortRef, const nic::Message&) override {}
  void event(nic::PortRef port, const nic::Event& event) override { devices[port.nic]->event(event); }
  void slot_free(nic::PortRef port, Time) override { devices[port.nic]->slot_free(); }

  std::unique_ptr<network::Network> network_;
  event::EventQueue queue_;
  std::unique_ptr<nic::Fabric> fabric_;
  std::vector<guest::EthernetPeer> peers_;
};

/// A message of a kernel, as the input has it.
void say(guest::VhostUser& vhost, Input& input) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  guest::File kernel(ends[1]);
  vhost.connect(guest::File(ends[0]));
  std::uint8_t bytes[12 + 64];
  input.fill(bytes, sizeof bytes);
  const std::uint32_t size = input.below(65);
  std::memcpy(bytes + 8, &size, sizeof size);
  if (input.below(8) == 0) bytes[11] = 0xff;  // more than there is
  expect(send(ends[1], bytes, 12 + size, MSG_NOSIGNAL) > 0);
  vhost.handle([] { return false; });
}

}  // namespace

}  // namespace weft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::fuzz;
  Input input(data, size);
  Nodes nodes;
  TestGuest& bad = *nodes.guests[0];
  unsigned honest = 0;
  while (!input.empty()) {
    switch (input.below(6)) {
      case 0:
        bad.send(input.below(4), input.take<std::uint8_t>(), input.take<std::uint16_t>() % 2036);
        break;
      case 1: {  // anywhere in its rings
        const auto at =
            input.take<std::uint16_t>() % (2 * weft::guest::test::TestRing::size(TestGuest::kEntries));
        bad.memory[at] = input.take<std::uint8_t>();
        break;
      }
      case 2:
        bad.kick();
        break;
      case 3:
        say(nodes.devices[0]->vhost(), input);
        break;
      case 4:
        if (honest < 16) nodes.guests[1]->send(2, static_cast<std::uint8_t>(++honest), 100);
        nodes.guests[1]->kick();
        break;
      default:
        nodes.settle();
    }
  }
  bad.kick();
  nodes.settle();
  unsigned seen = 0;
  const std::uint8_t* from = nodes.guests[2]->memory.data();
  for (auto used : nodes.guests[2]->receiving.take_used()) {
    const std::uint8_t* frame = from + nodes.guests[2]->buffer(0, static_cast<std::uint16_t>(used.head));
    if (used.written == 112 && frame[12 + 50] == seen + 1) ++seen;  // others may be the bad guest's
  }
  const auto& counters = nodes.devices[2]->counters();
  expect(seen == honest || counters.no_room > 0);
  return 0;
}
