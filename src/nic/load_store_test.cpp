// Loads and stores to memory of other nodes: bytes, times, order, and what is refused.
#include "nic/load_store.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "nic/test_host.hpp"

namespace weft::nic {

namespace {

using By = LoadStore::By;

struct Answer {
  Status status;
  std::uint64_t value;
  Time at;
};

class LoadHost final : public test::TestHost {
 public:
  using TestHost::TestHost;
  void loaded(std::uint64_t token, Status status, std::uint64_t value) override {
    answers[token] = {status, value, queue->now()};
  }
  std::map<std::uint64_t, Answer> answers;
  event::EventQueue* queue = nullptr;
};

/// Owner i on node i, each with all of its memory registered and shared as number 0.
class Nodes {
 public:
  explicit Nodes(unsigned nodes, const std::string& nic = "", const std::string& dims = "[8]",
                 const std::string& engine = "ideal", std::uint32_t rights = kAllRights)
      : machine(machine::build(machine::describe_text(test::torus(nic, "", dims), "test", {}))),
        host(nodes, 4096) {
    host.queue = &queue;
    network = config::Registry<network::EngineKind>::find(engine)->make(machine, {1, 1, {}});
    std::vector<network::EndpointId> used;
    for (unsigned i = 0; i < nodes; ++i) used.push_back(i);
    fabric = std::make_unique<Fabric>(machine, *network, queue, host, used, 1);
    for (unsigned i = 0; i < nodes; ++i) {
      PortNo port = 0;
      EXPECT_EQ(fabric->open(i, i, false, port), Status::Ok);
      ports.push_back(port);
      keys.emplace_back();
      EXPECT_EQ(fabric->register_memory({i, port}, test::TestHost::kBase, 4096, rights, keys.back()),
                Status::Ok);
      std::uint32_t number = 0;
      EXPECT_EQ(unit(i).share(port, keys.back(), 0, 4096, number), Status::Ok);
      EXPECT_EQ(number, 0u);
    }
  }

  LoadStore& unit(unsigned node) { return fabric->load_store(node); }
  std::uint32_t map(unsigned from, const LoadStore::Window& window) {
    std::uint32_t number = ~0u;
    EXPECT_EQ(unit(from).map(ports[from], window, number), Status::Ok);
    return number;
  }
  std::uint32_t map(unsigned from, unsigned to) { return map(from, {By::Interval, to, 0, 4096}); }
  void settle() {
    while (!fabric->idle()) fabric->advance(network::kForever);
  }
  Answer load(unsigned from, std::uint32_t window, std::uint64_t offset, std::uint32_t bytes = 8) {
    const Time begin = fabric->now();
    EXPECT_EQ(unit(from).load(ports[from], window, offset, bytes, begin, ++token), Status::Ok);
    settle();
    EXPECT_TRUE(host.answers.contains(token));
    Answer answer = host.answers[token];
    answer.at = answer.at - begin;
    return answer;
  }
  Status store(unsigned from, std::uint32_t window, std::uint64_t offset, std::uint64_t value,
               std::uint32_t bytes = 8) {
    return unit(from).store(ports[from], window, offset, bytes, value, fabric->now());
  }
  std::uint64_t word(unsigned node, std::uint64_t offset) {
    std::uint64_t out = 0;
    std::memcpy(&out, host.memory[node].data() + offset, 8);
    return out;
  }

  machine::Machine machine;
  LoadHost host;
  std::unique_ptr<network::Network> network;
  event::EventQueue queue;
  std::unique_ptr<Fabric> fabric;
  std::vector<PortNo> ports;
  std::vector<std::uint64_t> keys;
  std::uint64_t token = 0;
};

TEST(LoadStore, WordsAreReadAndWrittenWhereTheyBelong) {
  Nodes n(3);
  const std::uint32_t window = n.map(0, 2);
  EXPECT_EQ(n.store(0, window, 16, 0x1122'3344'5566'7788), Status::Ok);
  EXPECT_EQ(n.store(0, window, 33, 0xab, 1), Status::Ok);
  n.settle();
  EXPECT_EQ(n.word(2, 16), 0x1122'3344'5566'7788u);
  EXPECT_EQ(n.word(2, 32), 0xab00u);
  EXPECT_EQ(n.word(1, 16), 0u);
  EXPECT_EQ(n.load(0, window, 16).value, 0x1122'3344'5566'7788u);
  EXPECT_EQ(n.load(0, window, 20, 4).value, 0x1122'3344u);
  EXPECT_EQ(n.load(0, window, 18, 2).value, 0x5566u);
  EXPECT_EQ(n.load(0, window, 33, 1).value, 0xabu);
}

/// A request there and a word back: a constant, and twice that of a hop.
TEST(LoadStore, ALoadGrowsByTheSameWithEachHop) {
  Nodes n(4);
  std::vector<Time> taken;
  for (unsigned to = 1; to < 4; ++to) {
    const std::uint32_t window = n.map(0, to);
    taken.push_back(n.load(0, window, 0).at);
  }
  EXPECT_EQ(taken[1] - taken[0], taken[2] - taken[1]);
  EXPECT_EQ(taken[1] - taken[0], Time{2 * (60'000 + 80'000 + 0)} + Time{2 * 2 * 5'000});
}

TEST(LoadStore, NoLoadPassesAStoreAndStoresKeepTheirOrder) {
  Nodes n(4, "", "[2, 2]", "flit");
  const std::uint32_t window = n.map(0, 3);
  for (std::uint64_t i = 1; i <= 200; ++i) {
    ASSERT_EQ(n.store(0, window, 8, i), Status::Ok);
    if (i % 20 == 0) {
      EXPECT_EQ(n.load(0, window, 8).value, i);
    }
  }
  n.settle();
  EXPECT_EQ(n.word(3, 8), 200u);
}

TEST(LoadStore, AMaskNamesTheNodeByTheUpperBits) {
  Nodes n(4);
  const std::uint32_t window = n.map(1, {By::Mask, 0, 0, 4096});
  for (unsigned node = 0; node < 4; ++node)
    EXPECT_EQ(n.store(1, window, node * 4096 + 24, 100 + node), Status::Ok);
  n.settle();
  for (unsigned node = 0; node < 4; ++node) {
    EXPECT_EQ(n.word(node, 24), 100 + node);
    EXPECT_EQ(n.load(1, window, node * 4096 + 24).value, 100 + node);
  }
  EXPECT_EQ(n.store(1, window, 4 * 4096, 1), Status::BadNode);  // a node without a process
  EXPECT_EQ(n.store(1, window, 8 * 4096, 1), Status::BadRange);
  std::uint32_t number = 0;
  EXPECT_EQ(n.unit(1).map(n.ports[1], {By::Mask, 0, 0, 3000}, number), Status::BadLength);
}

TEST(LoadStore, UnchangedAddressesArePhysicalOnesAndTheKernels) {
  Nodes n(2, "kernel_ports = 1");
  std::uint32_t number = 0;
  EXPECT_EQ(n.unit(0).map(n.ports[0], {By::Unchanged, 1, 0, 1 << 30}, number), Status::NoRight);
  PortNo kernel = 0, other = 0;
  ASSERT_EQ(n.fabric->open_for_kernel(0, 0, kernel), Status::Ok);
  ASSERT_EQ(n.fabric->open_for_kernel(1, 1, other), Status::Ok);
  std::uint64_t key = 0, physical = 0;
  ASSERT_EQ(n.fabric->register_memory({1, other}, test::TestHost::kBase, 4096, kAllRights, key), Status::Ok);
  ASSERT_EQ(n.fabric->physical_address({1, other}, key, 40, physical), Status::Ok);
  ASSERT_EQ(n.unit(0).map(kernel, {By::Unchanged, 1, 0, std::uint64_t{1} << 56}, number), Status::Ok);
  ASSERT_EQ(n.unit(0).store(kernel, number, physical, 8, 4711, n.fabric->now()), Status::Ok);
  n.settle();
  EXPECT_EQ(n.word(1, 40), 4711u);
}

TEST(LoadStore, WhatIsNotSharedIsRefusedAndNothingIsWritten) {
  Nodes n(2);
  std::uint32_t part = 0;
  ASSERT_EQ(n.unit(1).share(n.ports[1], n.keys[1], 1024, 64, part), Status::Ok);
  const std::uint32_t wide = n.map(0, {By::Interval, 1, part, 4096});  // wider than what is shared
  EXPECT_EQ(n.load(0, wide, 56).status, Status::Ok);
  EXPECT_EQ(n.load(0, wide, 64).status, Status::BadRange);
  EXPECT_EQ(n.store(0, wide, 64, 1), Status::Ok);
  n.settle();
  EXPECT_EQ(n.word(1, 1024 + 64), 0u);
  const auto& events = n.host.at({0, n.ports[0]}).events;
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, EventKind::Failed);
  EXPECT_EQ(events[0].operation, Operation::Store);
  EXPECT_EQ(n.fabric->counters(1).refused, 2u);
  // Beyond the window itself, or across its words, nothing travels.
  EXPECT_EQ(n.store(0, wide, 4096, 1), Status::BadRange);
  EXPECT_EQ(n.store(0, wide, 12, 1), Status::BadLength);
  EXPECT_EQ(n.unit(0).load(n.ports[0], 99, 0, 8, n.fabric->now(), 1), Status::BadKey);
  // Shared no more, or its memory registered no more.
  EXPECT_EQ(n.unit(1).unshare(n.ports[1], part), Status::Ok);
  EXPECT_EQ(n.load(0, wide, 0).status, Status::BadRange);
  const std::uint32_t whole = n.map(0, 1);
  EXPECT_EQ(n.load(0, whole, 0).status, Status::Ok);
  EXPECT_EQ(n.fabric->unregister_memory({1, n.ports[1]}, n.keys[1]), Status::Ok);
  EXPECT_EQ(n.load(0, whole, 0).status, Status::BadRange);
  EXPECT_EQ(n.unit(0).unmap(n.ports[0], whole), Status::Ok);
  EXPECT_EQ(n.store(0, whole, 0, 1), Status::BadKey);
}

TEST(LoadStore, RightsOfTheMemoryCount) {
  Nodes n(2, "", "[8]", "ideal", kRemoteRead);
  const std::uint32_t window = n.map(0, 1);
  EXPECT_EQ(n.load(0, window, 0).status, Status::Ok);
  EXPECT_EQ(n.store(0, window, 0, 7), Status::Ok);
  n.settle();
  EXPECT_EQ(n.word(1, 0), 0u);
  EXPECT_EQ(n.host.at({0, n.ports[0]}).events.size(), 1u);
}

/// Random words of all sizes between all nodes, each from one writer, against plain memory.
TEST(LoadStore, RandomWordsAgainstAModel) {
  Nodes n(4, "", "[2, 2]", "flit");
  std::vector<std::vector<std::uint8_t>> model(4, std::vector<std::uint8_t>(4096));
  std::uint32_t windows[4][4] = {};
  for (unsigned from = 0; from < 4; ++from)
    for (unsigned to = 0; to < 4; ++to) windows[from][to] = n.map(from, to);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const std::uint64_t draw = random_bits(1, 2, i), value = random_bits(3, 4, i);
    const unsigned from = draw & 3, to = draw >> 2 & 3, bytes = 1u << (draw >> 4 & 3);
    const std::uint64_t offset = from * 1024 + (draw >> 8) % 1024 / bytes * bytes;
    ASSERT_EQ(n.store(from, windows[from][to], offset, value, bytes), Status::Ok);
    std::memcpy(model[to].data() + offset, &value, bytes);
    if (i % 100 == 0) n.settle();
  }
  n.settle();
  for (unsigned node = 0; node < 4; ++node) EXPECT_EQ(n.host.memory[node], model[node]);
}

}  // namespace

}  // namespace weft::nic
