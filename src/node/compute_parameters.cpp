#include "node/compute_parameters.hpp"

namespace weft::node {

namespace {

using config::Range;
using P = ComputeParameters;

const Range<DataRate> kAnyRate{{0}, {1'000'000'000'000'000}}, kRate{{1'000'000}, {1'000'000'000'000'000}};
const Range<Time> kTime{{0}, {1'000'000'000'000}};

config::Schema<P> kernels() {
  return config::Schema<P>()
      .field(&P::memory, "memory", "Its own memory", Range<DataSize>{{4096}, {std::int64_t{1} << 40}})
      .field(&P::blocks, "blocks", "Blocks that a kernel is spread over", Range<unsigned>{1, 65'536})
      .field(&P::block_gflops, "block_gflops", "What a block computes, GFLOP/s", Range<double>{1e-6, 1e6})
      .field(&P::block_bandwidth, "block_bandwidth",
             "What a block reads and writes of the memory; 0: as much as all of them", kAnyRate)
      .field(&P::memory_bandwidth, "memory_bandwidth",
             "What all blocks together read and write of the memory", kRate)
      .field(&P::launch, "launch", "From a kernel's command to its beginning", kTime)
      .field(&P::queue_slots, "queue_slots", "Commands that wait behind the one being worked on",
             Range<unsigned>{1, 4096});
}

config::Schema<P> copies(config::Schema<P>&& schema) {
  return std::move(schema)
      .field(&P::copy_rate, "copy_rate", "What its own copies move over the bus, each way", kRate)
      .field(&P::copy_startup, "copy_startup", "From a copy's command to its first burst", kTime)
      .field(&P::burst, "burst", "What a copy reads and writes at once", Range<DataSize>{{64}, {1 << 20}})
      .field(&P::buffers, "buffers", "Bursts of a copy under way at a time", Range<unsigned>{1, 64})
      .field(&P::post, "post", "From the command of a put or get to its descriptor at the interface's port",
             kTime);
}

config::Schema<P> peers(config::Schema<P>&& schema) {
  return std::move(schema)
      .choice(&P::path, "path",
              "How its memory gets to the network: read and written by the interface itself, or staged, "
              "copied to "
              "and from the processor's memory",
              {"peer", "staged"})
      .field(&P::peer_rate, "peer_rate", "Of its own link, each way; 0: as the bus", kAnyRate)
      .field(&P::peer_read_request, "peer_read_request",
             "Most that one request of others for its memory names", Range<DataSize>{{8}, {4096}})
      .field(&P::peer_reads, "peer_reads", "Such requests that may be open", Range<unsigned>{1, 4096})
      .field(&P::peer_read_latency, "peer_read_latency", "From such a request to its data", kTime)
      .field(&P::peer_write_latency, "peer_write_latency",
             "From the end of a write of others on the bus to its data in the memory", kTime)
      .choice(
          &P::os, "os",
          "An operating system of its own: the accelerator is its node's processor then, and programs and "
          "Linux nodes that are placed there run on its cores and in its memory, which the interface "
          "reaches over its link (peer_rate and what follows it); processor.sockets is 0 there",
          {"none", "linux"});
}

}  // namespace

config::Section compute_section() { return peers(copies(kernels())).section(); }

const ComputeParameters* with_own_system(const DeviceDescription& device) {
  if (!device.kind || device.kind->name != "compute") return nullptr;
  const auto* p = static_cast<const ComputeParameters*>(device.parameters.get());
  return p->os == DeviceSystem::None ? nullptr : p;
}

}  // namespace weft::node
