// Stores and reads of anything at the inputs of an interface's on-chip network, by its processor, a device,
// the host of its port and a stranger: nothing crashes, whatever is posted ends, and no memory is read or
// written that the ports have no key for.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "input.hpp"
#include "nic/on_chip.hpp"
#include "nic/requester_pages.hpp"
#include "nic/root_port.hpp"
#include "nic/test_host.hpp"

namespace weft::fuzz {

namespace {

using namespace nic;

constexpr std::uint64_t kWindow = OnChip::kWindow;
constexpr std::size_t kMemory = 4096, kGiven = 1024;

void expect(bool holds) {
  if (!holds) std::abort();
}

std::string description() {
  return test::torus(
             "ports = 4\nmemory_queues = 1\nqueue_slots = 2\nmessage_slots = 4\nevent_slots = 4\n"
             "error_slots = 4\nsend_contexts = 2\nreceive_contexts = 2\n") +
         "[node.device.port]\nkind = \"pcie-root-port\"\nregisters = 0x10000000000\nmessages = "
         "0x20000000000\n"
         "rdma = 0x30000000000\ndevice_ports = true\n[node.device.disk]\nkind = \"nvme\"\n"
         "capacity = \"1MiB\"\n";
}

/// Mostly what could work.
std::vector<std::uint8_t> work(Input& input, bool rdma, std::uint64_t here, std::uint64_t there) {
  std::vector<std::uint8_t> out(rdma ? RequesterPages::kRdmaHeader : RequesterPages::kMessageHeader);
  Descriptor d;
  d.operation = static_cast<Operation>(input.below(8) ? 2 + input.below(6) : input.below(256));
  d.flags = input.below(4) ? input.below(8) : input.take<std::uint16_t>();
  d.node = input.below(5);
  d.port = input.below(5);
  d.length = input.below(8) ? input.below(130) : input.take<std::uint64_t>();
  d.local_key = input.below(4) ? here : input.take<std::uint64_t>();
  d.remote_key = input.below(4) ? there : input.take<std::uint64_t>();
  d.remote_offset = input.below(4) ? 0 : input.take<std::uint64_t>();
  if (rdma) {
    std::memcpy(out.data(), &d, out.size());
  } else {
    const auto length = static_cast<std::uint16_t>(d.length);
    std::memcpy(out.data(), &d.node, 12);
    std::memcpy(out.data() + 12, &length, 2);
    std::memcpy(out.data() + 14, &d.flags, 2);
  }
  out.resize(out.size() + input.below(160));
  if (input.below(4) == 0) out.resize(1 + input.below(static_cast<unsigned>(out.size())));
  return out;
}

void run(Input input) {
  test::Bench bench(description(), 4, "ideal", kMemory);
  // What may be read and written is the first part of each memory; the rest is nobody's.
  for (auto& memory : bench.host.memory) std::fill(memory.begin(), memory.end(), std::uint8_t{0x5a});
  const std::uint64_t here = bench.region(0, 0, kGiven), there = bench.region(1, 0, kGiven);
  OnChip& chip = bench.fabric->on_chip(0);
  const node::DeviceId disk = bench.fabric->site(0).find("disk");
  std::vector<std::uint8_t> answer;
  while (!input.empty()) {
    const unsigned unit = 1 + input.below(4);
    pcie::Tlp tlp;
    tlp.kind = input.below(8) ? pcie::TlpKind::MemoryWrite : pcie::TlpKind::MemoryRead;
    std::vector<std::uint8_t> data = work(input, unit == 3, here, there);
    tlp.address = unit * kWindow + input.below(5) * RequesterPages::kPage +
                  input.below(16) * RequesterPages::kSlot + (input.below(4) ? 0 : input.below(256));
    if (unit == 1) tlp.address = kWindow + (input.take<std::uint16_t>() & ~(input.below(4) ? 7u : 0u));
    if (unit == 1) data.resize(std::min<std::size_t>(data.size(), 8));
    tlp.bytes = static_cast<std::uint32_t>(data.size());
    const unsigned who = input.below(4);
    const NicId node = who == 3 ? 2 : who == 2 ? 1 : 0;
    const std::span<const node::DeviceId> devices(&disk, who == 1 || who == 2 ? 1 : 0);
    const std::uint8_t side = who == 0 ? kFromHost : kFromPort;
    const nic::Unit found = chip.unit_of(side, tlp);
    const bool well = chip.access(side, tlp, data, {node, devices, bench.queue.now()}, answer);
    expect(!well || found != nic::Unit::Network);
    expect(!well || tlp.is_write() || answer.size() == tlp.bytes);
    expect(!well || who != 3 || found == nic::Unit::Registers);
    if (input.below(2)) bench.fabric->advance(bench.queue.now() + Time{100'000});
  }
  expect(bench.settle());
  for (const auto& memory : bench.host.memory)
    expect(std::all_of(memory.begin() + kGiven, memory.end(), [](std::uint8_t b) { return b == 0x5a; }));
}

}  // namespace

}  // namespace weft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::run({data, size});
  return 0;
}
