// A guest that means no good: what its kernel says over vhost-user, and what lies in its rings, is the input.
// Two honest guests exchange frames meanwhile, and must get them, whole.
#include <sys/socket.h>

#include <cstdlib>

#include "guest/test_nodes.hpp"
#include "input.hpp"

namespace weft::fuzz {

namespace {

using guest::Ethernet;
using guest::test::TestGuest;

void expect(bool holds) {
  if (!holds) std::abort();
}

std::shared_ptr<const machine::Machine> small_machine() {
  static const auto machine = std::make_shared<const machine::Machine>(machine::build(machine::describe_text(
      "[topology]\nkind = \"torus\"\ndims = [2, 2]\n[routing]\nkind = \"dimension-order\"\n[cable.default]\n"
      "[node.device.eth0]\nkind = \"ethernet\"\nsend_ring = 8\nreceive_ring = 16\n",
      "fuzz", {})));
  return machine;
}

struct Nodes : guest::test::TestNodes {
  static constexpr unsigned kNodes = 3;
  Nodes() : TestNodes(small_machine(), kNodes) {
    for (auto& guest : guests) guest->offer_buffers(0, 32);
  }
  void settle() { expect(TestNodes::settle()); }
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
