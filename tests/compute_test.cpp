// Compute accelerators as programs use them: kernels, memory of devices on the network and as buffers of MPI,
// staged or not, and devices that put by themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

ProgramResult run_on(unsigned ranks, std::vector<std::string> settings,
                     const std::vector<std::string>& command, const std::string& engine = "ideal") {
  std::vector<std::string> all{"run", "torus", "--engine", engine, "-n", std::to_string(ranks)};
  settings.insert(settings.begin(), {"topology.dims=[2,2]", "node.device.acc.kind=\"compute\""});
  for (const std::string& setting : settings) all.insert(all.end(), {"--set", setting});
  all.push_back("--");
  all.insert(all.end(), command.begin(), command.end());
  return run_program(all, 60);
}

const std::string kExample = WEFT_BUILD "/examples/accelerator",
                  kMemory = WEFT_BUILD "/test-programs/device_memory",
                  kBuffers = WEFT_BUILD "/native-mpi-programs/device_buffers";

TEST(ComputeDevice, AProgramOffloadsKernelsThatComputeAndTakeTheirTime) {
  const unsigned n = 96;
  ProgramResult r =
      run_on(1,
             {"node.device.acc.blocks=16", "node.device.acc.block_gflops=2",
              "node.device.acc.block_bandwidth=8Gbps", "node.device.acc.memory_bandwidth=64Gbps"},
             {kExample, std::to_string(n)});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("all results right"));
  unsigned lines = 0;
  for (std::size_t at = 0; (at = r.out.find(" blocks: multiply", at)) != std::string::npos; ++at) {
    const std::size_t begin = r.out.rfind('\n', at) + 1;
    unsigned blocks = 0;
    double multiply = 0, stream = 0, axpy = 0, dot = 0;
    ASSERT_EQ(std::sscanf(r.out.c_str() + begin,
                          "%u blocks: multiply %lf us, stream %lf us, axpy %lf us, dot %lf us", &blocks,
                          &multiply, &stream, &axpy, &dot),
              5);
    // More blocks help until eight of them have all of the memory's bandwidth.
    const double memory = 1000.0 * (blocks < 8 ? blocks : 8), all = 1.0 * n * n;  // bytes in a microsecond
    EXPECT_NEAR(stream, 16 * all / memory, 1e-5);
    EXPECT_NEAR(axpy, 24 * all / memory, 1e-5);
    EXPECT_NEAR(dot, 16 * all / memory, 1e-5);
    EXPECT_NEAR(multiply, 2 * all * n / (blocks * 2000.0), 1e-5) << "bound by what blocks compute";
    ++lines;
  }
  EXPECT_EQ(lines, 5u) << r.out;
}

TEST(ComputeDevice, MemoryOfDevicesIsPutGotLoadedAndStored) {
  std::string first;
  for (const char* engine : {"ideal", "flit", "flit"}) {
    ProgramResult r = run_on(2, {}, {kMemory}, engine);
    ASSERT_EQ(r.code, 0) << r.err << r.out;
    EXPECT_THAT(r.out, HasSubstr("got back: right"));
    EXPECT_THAT(r.out, HasSubstr("loaded what was stored: yes"));
    EXPECT_THAT(r.out, HasSubstr("the devices by themselves: 6.5"));
    EXPECT_THAT(r.out, HasSubstr("given twice: Device or resource busy"));
    EXPECT_THAT(r.out, HasSubstr("a message there and back: 6 from node 1 with tag 41, 8 bytes"));
    EXPECT_THAT(r.out, HasSubstr("from beyond its memory: status 5"));
    if (std::string(engine) == "flit" && first.empty()) {
      first = r.out;
    } else if (!first.empty()) {
      EXPECT_EQ(r.out, first) << "twice the same";
    }
  }
}

TEST(ComputeDevice, ItPostsByStoresIntoTheInterface) {
  const std::vector<std::string> settings{
      "node.device.port.kind=pcie-root-port", "node.device.port.messages=0x20000000000",
      "node.device.port.rdma=0x30000000000", "node.device.disk.kind=nvme"};
  const ProgramResult r =
      run_on(2, settings, {WEFT_BUILD "/test-programs/device_store", "0x20000000000", "0x30000000000"});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("into its page: 2\n"));
  EXPECT_THAT(r.out, HasSubstr("into that of the processor: 5\n"));
  EXPECT_THAT(r.out, HasSubstr("where nothing is: 5\n"));
  EXPECT_THAT(r.out, HasSubstr("a message of 13 bytes from port 1, tag 9: by its stores\n"));
  EXPECT_THAT(r.out, HasSubstr("a put: 2\n"));
  EXPECT_THAT(r.out, HasSubstr("a put of 32 bytes: out of its memory\n"));
  // Where no root port says where units are, the bus leads to none.
  const ProgramResult none =
      run_on(2, {}, {WEFT_BUILD "/test-programs/device_store", "0x20000000000", "0x30000000000"});
  EXPECT_THAT(none.out, HasSubstr("into its page: 5\n"));
}

TEST(ComputeDevice, MemoryThatIsStagedCannotBeRegistered) {
  ProgramResult r = run_on(2, {"node.device.acc.path=staged"}, {kMemory});
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_THAT(r.out, HasSubstr("registered: Operation not supported"));
}

/// Half a round trip by length.
std::map<unsigned, double> times(const std::string& out) {
  std::map<unsigned, double> found;
  for (std::size_t at = 0; (at = out.find(" bytes: half", at)) != std::string::npos; ++at) {
    unsigned bytes = 0;
    double time = 0;
    if (std::sscanf(out.c_str() + out.rfind('\n', at) + 1, "%u bytes: half a round trip of %lf us", &bytes,
                    &time) == 2)
      found[bytes] = time;
  }
  return found;
}

TEST(ComputeDevice, BuffersOfMpiLieOnDevicesStagedOrNot) {
  const std::vector<std::string> direct_way{"node.device.acc.copy_startup=10us",
                                            "node.device.acc.copy_rate=20Gbps"};
  std::vector<std::string> staged_way = direct_way;
  staged_way.push_back("node.device.acc.path=staged");
  ProgramResult peer = run_on(2, direct_way, {kBuffers, "window"});
  ASSERT_EQ(peer.code, 0) << peer.err << peer.out;
  EXPECT_THAT(peer.out, HasSubstr("all buffers right"));
  EXPECT_THAT(peer.out, HasSubstr("the window on the device has it"));
  EXPECT_EQ(run_on(2, direct_way, {kBuffers, "window"}).out, peer.out) << "twice the same";
  ProgramResult staged = run_on(2, staged_way, {kBuffers});
  ASSERT_EQ(staged.code, 0) << staged.err << staged.out;
  EXPECT_THAT(staged.out, HasSubstr("all buffers right"));
  auto direct = times(peer.out), copied = times(staged.out);
  ASSERT_EQ(direct.size(), 9u);
  ASSERT_EQ(copied.size(), 9u);
  EXPECT_NEAR(direct[0], copied[0], 1e-9) << "nothing to copy";
  // What the interface fetches itself is not copied at all; staged, every byte is, twice.
  auto more = [&](unsigned bytes) { return copied[bytes] - direct[bytes]; };
  EXPECT_NEAR(more(1u << 20) - more(300'000), 2.0 * ((1 << 20) - 300'000) * 8 / 20e3, 10);
  EXPECT_GT(more(65'536), 20 + 2 * 65'536 * 8 / 20e3) << "and each copy has its startup";
  // A send that gives its buffer back at once is copied out either way, and one copy in remains.
  EXPECT_NEAR(more(8), 10, 2);
}

TEST(ComputeDevice, AWindowOnADeviceIsReachedByTheInterface) {
  ProgramResult r =
      run_program({"run", "torus", "--engine", "ideal", "--windows", "rdma", "--set", "topology.dims=[2,2]",
                   "--set", "node.device.acc.kind=\"compute\"", "-n", "2", "--", kBuffers, "window"},
                  60);
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("the window on the device has it"));
}

TEST(ComputeDevice, ADescriptionsErrorsAreToldAtOnce) {
  ProgramResult r =
      run_on(1, {"node.device.acc.path=stage", "node.device.acc.blocks=0", "node.device.acc.memroy=1MiB"},
             {kExample});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("peer, staged"));
  EXPECT_THAT(r.err, HasSubstr("node.device.acc.blocks"));
  EXPECT_THAT(r.err, HasSubstr("memory"));
}

}  // namespace
}  // namespace weft::test
