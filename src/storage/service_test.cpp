#include "storage/service.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "nic/test_host.hpp"

namespace weft::storage {
namespace {

using nic::test::torus;

const char* kPlainNic =
    "send_latency = \"100ns\"\nreceive_latency = \"200ns\"\ntranslation_hit = \"7ns\"\nheader = \"32B\"";
const char* kPlainHost =
    "bus = \"axi-128\"\nwrite_latency = \"150ns\"\nread_latency = \"300ns\"\ninterrupt = \"2us\"\n";

/// A fabric whose host knows nothing but the file system, and what became of each operation.
class Bench : public nic::Host, public Owner {
 public:
  Bench(const std::string& storage, const std::string& engine = "ideal", const std::string& nic = kPlainNic,
        const std::string& dims = "[4, 4]", const std::string& faults = "", std::uint64_t seed = 1,
        const std::vector<std::string>& settings = {})
      : machine(machine::build(machine::describe_text(torus(nic, kPlainHost, dims) + "[storage]\n" + storage,
                                                      "test", settings))) {
    network = config::Registry<network::EngineKind>::find(engine)->make(
        machine, {seed, 1,
                  faults.empty() ? std::vector<network::link::FaultEvent>{}
                                 : network::link::read_faults(faults, *machine.graph)});
    fabric = std::make_unique<nic::Fabric>(machine, *network, queue, *this,
                                           std::vector<network::EndpointId>{0}, seed);
    service = std::make_unique<Service>(machine, *fabric, queue, *this);
  }

  // nic::Host
  bool read(node::SpaceId, std::uint64_t, void*, std::uint64_t) override { return true; }
  bool write(node::SpaceId, std::uint64_t, const void*, std::uint64_t) override { return true; }
  bool has_space(node::NodeId, node::SpaceId) const override { return true; }
  void message(nic::PortRef port, const nic::Message& m) override { service->message(port, m); }
  void event(nic::PortRef port, const nic::Event& e) override { service->event(port, e); }
  void slot_free(nic::PortRef, Time) override {}

  // Owner
  std::int32_t carry_out(std::uint64_t token, Piece& piece) override {
    if (carried.size() <= token) carried.resize(token + 1);
    ++carried[token];
    bytes += piece.bytes;
    return 0;
  }
  void finished(std::uint64_t token, std::int32_t result, Time at) override {
    if (ends.size() <= token) ends.resize(token + 1, {0, {-1}});
    ends[token] = {result, at};
  }

  void settle() {
    while (!fabric->idle()) fabric->advance(network::kForever);
  }
  /// How long one operation takes on an idle machine.
  Time take(network::EndpointId node, const Piece& piece) {
    const Time begin = fabric->now();
    service->begin(node, begin, 0, {&piece, 1});
    settle();
    EXPECT_EQ(ends[0].first, 0);
    return ends[0].second - begin;
  }

  machine::Machine machine;
  std::unique_ptr<network::Network> network;
  event::EventQueue queue;
  std::unique_ptr<nic::Fabric> fabric;
  std::unique_ptr<Service> service;
  std::vector<unsigned> carried;
  std::uint64_t bytes = 0;
  std::vector<std::pair<std::int32_t, Time>> ends;
};

const char* kFlash =
    "[storage.device]\nchannels = 4\ndies = 2\npage = \"16KiB\"\nread_time = \"50us\"\nprogram_time = "
    "\"600us\"\n"
    "channel_rate = \"8Gbps\"\ncommand_time = \"2us\"\nbuffer = \"1MiB\"\n";

Time bus(std::int64_t bytes) { return {bytes * 8 * 1'000'000'000'000 / 19'200'000'000}; }
Time us(double t) { return {static_cast<std::int64_t>(t * 1e6)}; }

/// The place of the first byte of file 1 may lie in the middle of a page: one page is read either way.
const Piece kRead{Work::Read, 1, 1, 0, 4096}, kWrite{Work::Write, 1, 1, 0, 4096};

TEST(Service, LocalReadIsTheSumOfItsParts) {
  Bench b(std::string("targets = 1\nnodes = [0]\nrequest_time = \"3us\"\n") + kFlash);
  // Processor, command, a page read, over its channel, over the bus into memory, interrupt.
  const Time expected = us(3) + us(2) + us(50) + Time{4096 * 8 * 125} + bus(4096) + Time{150'000} + us(2);
  EXPECT_EQ(b.take(0, kRead).value, expected.value);
  EXPECT_EQ(b.fabric->counters(0).packets_sent, 0u) << "the interface is not used";
}

TEST(Service, LocalWriteWaitsForTheBufferAndAFlushForTheFlash) {
  Bench b(std::string("targets = 1\nnodes = [0]\nrequest_time = \"3us\"\nmetadata_time = \"5us\"\n") +
          kFlash);
  const Time expected = us(3) + bus(4096) + Time{300'000} + us(2) + us(2);
  EXPECT_EQ(b.take(0, kWrite).value, expected.value);
  const Time written = b.fabric->now() - us(2);  // then the flash began, over its channel
  const Piece flush{Work::Flush, 1, 0, 0, 0};
  const Time begin = b.fabric->now();
  EXPECT_EQ((begin + b.take(0, flush)).value, (written + Time{4096 * 8 * 125} + us(600) + us(2)).value);
  // Nothing is left to be written: processor, command, interrupt.
  EXPECT_EQ(b.take(0, flush).value, us(5 + 2 + 2).value);
}

/// What the same message and the same put take by themselves.
Time message_time(unsigned to, std::uint64_t bytes) {
  nic::test::Bench b(torus(kPlainNic, kPlainHost, "[4, 4]"), 16);
  b.post(0, b.to(to, nic::Operation::Message, bytes));
  EXPECT_TRUE(b.settle());
  return {b.messages(to)[0].time};
}
Time put_time(unsigned to, std::uint64_t bytes) {
  nic::test::Bench b(torus(kPlainNic, kPlainHost, "[4, 4]"), 16);
  const std::uint64_t from = b.region(0, 0, bytes), target = b.region(to, 0, bytes);
  nic::Descriptor d = b.to(to, nic::Operation::Put, bytes, nic::kNotifyRemote);
  d.local_key = from;
  d.remote_key = target;
  b.post(0, d);
  EXPECT_TRUE(b.settle());
  return {b.events(to)[0].time};
}

TEST(Service, ItsPacketsAreOfTheClassThatIsItsOwn) {
  for (unsigned own : {0u, 1u}) {
    Bench b("targets = 1\nnodes = [5]\ntraffic_class = " + std::to_string(own) + "\n", "flit", kPlainNic,
            "[4, 4]", "", 1, {"router.class_weights=[3,1]"});
    b.take(0, kWrite);
    b.take(0, kRead);
    std::array<std::uint64_t, 2> sent = {};
    for (topology::PortId p = 0; p < b.machine.graph->ports(); ++p)
      for (unsigned c : {0u, 1u}) sent[c] += b.network->port_state(p).sent_of_class[c];
    EXPECT_GT(sent[own], 4096u / 16);
    EXPECT_EQ(sent[1 - own], 0u);
  }
}

TEST(Service, RemoteReadAddsAMessageAndAPutOverItsHops) {
  Time before{0};
  for (unsigned server : {1u, 5u, 6u, 10u}) {  // one to four cables away
    Bench b("targets = 1\nrequest_time = \"3us\"\nnodes = [" + std::to_string(server) + "]\n" + kFlash);
    const Time expected = message_time(server, 64) + us(3) + us(2) + us(50) + Time{4096 * 8 * 125} +
                          bus(4096) + Time{150'000} + put_time(server, 4096) + us(2);
    const Time cold = b.take(0, kRead);
    // The first use of memory misses the interface's translation, here and in the put by itself.
    EXPECT_NEAR(static_cast<double>(cold.value), static_cast<double>(expected.value), 1000.0) << server;
    EXPECT_GT(cold, before) << "farther takes longer";
    before = cold;
  }
}

struct Stream {
  const char* name;
  std::string storage, device;
  unsigned targets;
  double expected;  // bytes a second
};

/// Many reads or writes at once over all targets, after the first and before the last: at the rate of what is
/// slowest.
double rate_of(Bench& b, Work work, unsigned targets, unsigned units) {
  std::vector<Piece> pieces;
  for (std::uint64_t i = 0; i < units; ++i)
    pieces.push_back({work, static_cast<ServerId>(1 + i % targets), 1, i * (1 << 20), 1 << 20});
  auto time_of = [&](std::size_t count) {
    const Time begin = b.fabric->now();
    b.service->begin(0, begin, 0, {pieces.data(), count});
    b.settle();
    return static_cast<double>((b.ends[0].second - begin).value) * 1e-12;
  };
  time_of(units / 4);  // translations are known from here on
  const double less = time_of(units / 2);
  const double all = time_of(units);
  return static_cast<double>(units - units / 2) * (1 << 20) / (all - less);
}

TEST(Service, StreamsAtTheRateOfTheSlowest) {
  // A device: 4 channels of 8 Gb/s, and dies that read 16 KiB in 50 us each: 8 dies give 2.6 GB/s.
  // The bus of a server and of the client: 19.2 Gb/s. A cable: 20 Gb/s, 288 of whose bytes carry 256.
  const double bus_rate = 2.4e9, link_rate = 2.5e9 * 256 / 288, die_rate = 8 * 16384 / 50e-6;
  Bench one(std::string("targets = 1\nnodes = [5]\n") + kFlash);
  EXPECT_NEAR(rate_of(one, Work::Read, 1, 32) / std::min({bus_rate, link_rate, die_rate, 4e9}), 1, 0.03);
  std::string slow = kFlash;
  slow.replace(slow.find("\"50us\""), 6, "\"200us\"");
  for (unsigned k : {1u, 2u, 3u}) {
    Bench b("targets = " + std::to_string(k) + "\nnodes = [15, 1, 4, 12]\n" + slow);
    EXPECT_NEAR(rate_of(b, Work::Read, k, 24 * k) / std::min({bus_rate, link_rate, k * die_rate / 4}), 1,
                0.03)
        << k << " slow devices";
  }
  // Writes: dies program 16 KiB in 600 us; four targets together reach 0.87 GB/s.
  for (unsigned k : {1u, 4u}) {
    Bench b("targets = " + std::to_string(k) + "\nnodes = [15, 1, 4, 12, 3]\n" + kFlash);
    EXPECT_NEAR(rate_of(b, Work::Write, k, 24 * k) / (k * 8 * 16384 / 600e-6), 1, 0.03) << k << " writes";
  }
}

TEST(Service, RepeatsWhatIsDamagedOrCutOffAndDoesItOnce) {
  for (const char* faults : {"", "at 20us cut r0.p0; at 400us restore r0.p0"}) {
    const bool cut = *faults;
    Bench b(std::string("targets = 3\nnodes = [1, 2, 3]\nretry = \"100us\"\nretries = 50\n") + kFlash,
            cut ? "flit" : "ideal", std::string(kPlainNic) + (cut ? "" : "\ncorruption = 0.02"), "[4]",
            faults, 7);
    std::uint64_t pieces = 0;
    for (std::uint64_t token = 0; token < 60; ++token) {
      const Work works[] = {Work::Read, Work::Write, Work::Change, Work::Look};
      Piece piece{works[token % 4], token % 4 < 2 ? static_cast<ServerId>(1 + token % 3) : kMetadata, token,
                  0, token % 4 < 2 ? 16384u : 0u};
      b.service->begin(0, us(static_cast<double>(token)), token, {&piece, 1});
      ++pieces;
    }
    b.settle();
    ASSERT_EQ(b.ends.size(), pieces);
    for (std::uint64_t token = 0; token < pieces; ++token) {
      EXPECT_EQ(b.ends[token].first, 0) << token;
      EXPECT_EQ(b.carried[token], 1u) << token;
    }
    // A cable that is cut is the network's affair as long as there is another way.
    if (!cut) EXPECT_GT(b.service->repeated(), 0u);
  }
}

TEST(Service, AnotherTargetHasACopyOfWhatAServerThatFailedHad) {
  for (unsigned copies : {1u, 2u}) {
    Bench b("targets = 3\nnodes = [1, 2, 3, 4]\nretry = \"10us\"\nretries = 3\nreplicas = " +
            std::to_string(copies) + "\n" + kFlash);
    const ServerId first = b.service->layout().target(1, 0, 0);
    b.service->kill(first, us(100));
    auto result_of = [&](Work work, Time at) {
      const Piece piece{work, first, 1, 0, work == Work::Flush ? 0u : 4096u};
      b.service->begin(0, at, 0, {&piece, 1});
      b.settle();
      return b.ends[0].first;
    };
    EXPECT_EQ(result_of(Work::Write, Time{0}), 0) << "before it fails";
    for (Work work : {Work::Write, Work::Read, Work::Flush})
      EXPECT_EQ(result_of(work, b.fabric->now() + us(1000)), copies == 1 ? -EIO : 0) << copies << " copies";
  }
}

TEST(Service, GivesUpInTheEnd) {
  Bench b(std::string("targets = 1\nnodes = [2, 3]\nretry = \"10us\"\nretries = 3\n") + kFlash, "flit",
          kPlainNic, "[4]", "at 0us cut r0.p0; at 0us cut r0.p1");
  const Piece piece{Work::Read, 1, 1, 0, 4096};
  b.service->begin(0, us(10), 0, {&piece, 1});
  b.settle();
  EXPECT_EQ(b.ends[0].first, -EIO);
  EXPECT_GE(b.ends[0].second, us(10 + 30));
}

TEST(Device, ADiskSeeksUnlessItGoesOn) {
  machine::StorageDeviceParameters p;
  p.medium = machine::Medium::Disk;
  p.seek = us(8000);
  p.rotation = us(8000);
  p.disk_rate = {800'000'000};
  p.command_time = us(10);
  Device d(p);
  EXPECT_EQ(d.read(Time{0}, 0, 1'000'000).value, us(10 + 8000 + 4000 + 10'000).value);
  EXPECT_EQ(d.read(us(30'000), 1'000'000, 1'000'000).value, us(30'000 + 10 + 10'000).value);
  EXPECT_EQ(d.read(us(60'000), 0, 1'000'000).value, us(60'000 + 10 + 12'000 + 10'000).value);
  EXPECT_EQ(d.write(us(90'000), 5'000'000, 1'000'000).value, us(90'010).value) << "into its buffer";
  EXPECT_EQ(d.durable(us(90'010)).value, us(90'010 + 12'000 + 10'000).value);
}

}  // namespace
}  // namespace weft::storage
