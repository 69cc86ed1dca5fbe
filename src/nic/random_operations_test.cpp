// Random operations of several interfaces at once against a model that has no network: bytes, order and
// events.
#include <gtest/gtest.h>

#include "nic/test_host.hpp"

namespace weft::nic {
namespace {

using test::Bench;
using test::torus;

constexpr unsigned kNodes = 4;
constexpr std::uint64_t kArea =
    4096;  // each source writes its own part of each target, so order is that of one port

struct Setting {
  std::string engine, nic, routing;
};

class RandomOperations : public testing::TestWithParam<std::uint64_t> {
 protected:
  std::uint32_t below(std::uint32_t bound) { return random_below(GetParam(), 7, step_++, bound); }
  void agree(const std::string& machine, const std::string& engine, const std::string& faults);
  std::uint64_t step_ = 0;
};

TEST_P(RandomOperations, AgreeWithAModelOfMemory) {
  std::uint64_t seed = GetParam();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  auto engines = config::Registry<network::EngineKind>::names();
  std::string engine = engines[seed % engines.size()];
  bool small = seed / engines.size() % 2;
  std::string nic =
      small
          ? "queue_slots = 1\nmessage_slots = 1\nevent_slots = 1\nunits = 1\nwindow = 1\npayload = \"64B\"\n"
            "translation_entries = 4\ntranslation_ways = 2"
          : "payload = \"192B\"";
  bool faulty = seed / engines.size() / 2 % 2;
  // A cable that breaks and comes back while operations are under way.
  bool cut = config::Registry<network::EngineKind>::find(engine)->links_fail && seed / engines.size() / 4 % 2;
  SCOPED_TRACE(engine + (small ? ", smallest queues" : "") + (faulty ? ", bit errors" : "") +
               (cut ? ", a cable cut" : ""));
  std::string machine = torus(nic);
  const std::string coding = "coding = \"8b10b\"\n";
  if (faulty) machine.insert(machine.find(coding) + coding.size(), "bit_error_rate = 2e-5\n");
  agree(machine, engine, cut ? "at 100ns cut r0.p0; at 60us restore r0.p0; at 90us cut r3.p0" : "");
}

// The same where half of the nodes are on another network, whose packets are of other sizes: through
// gateways with little room, with bit errors on all cables and cables of both that are cut.
TEST_P(RandomOperations, AgreeAcrossGateways) {
  const std::uint64_t seed = GetParam();
  auto engines = config::Registry<network::EngineKind>::names();
  const std::string engine = engines[seed % engines.size()];
  const bool small = seed / engines.size() % 2, faulty = seed / engines.size() / 2 % 2;
  const bool cut =
      config::Registry<network::EngineKind>::find(engine)->links_fail && seed / engines.size() / 4 % 2;
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << engine << (small ? ", smallest queues" : "")
                                  << (faulty ? ", bit errors" : "") << (cut ? ", cables cut" : ""));
  const char* shares[] = {"pair", "source", "destination"};
  const std::string machine = test::two_networks(
      small ? "payload = \"64B\"\nunits = 1\nwindow = 1" : "payload = \"192B\"",
      small ? "payload = \"160B\"\nunits = 2" : "payload = \"96B\"\nheader = \"16B\"",
      faulty ? "bit_error_rate = 2e-5" : "",
      std::string("window = ") + (small ? "1" : "5") + "\nshare = \"" + shares[seed % 3] + "\"",
      small ? "queue_slots = 1\nmessage_slots = 1\nevent_slots = 1" : "");
  agree(machine, engine,
        cut ? "at 100ns cut r0.p0; at 300ns cut r6.p1; at 60us restore r0.p0; at 90us cut r3.p0" : "");
}

void RandomOperations::agree(const std::string& machine, const std::string& engine,
                             const std::string& faults) {
  Bench b(machine, kNodes, engine, kArea * kNodes, GetParam(), faults);
  std::vector<std::uint64_t> keys, short_keys;
  for (unsigned i = 0; i < kNodes; ++i) {
    keys.push_back(b.region(i, 0, kArea * kNodes));
    for (auto& byte : b.host.memory[i]) byte = static_cast<std::uint8_t>(below(256));
  }
  auto model = b.host.memory;
  // What each must see: messages by (from, to), events by kind.
  std::map<std::pair<unsigned, unsigned>, std::vector<std::uint32_t>> sent;
  std::vector<unsigned> done(kNodes), failed(kNodes), arrived(kNodes);
  unsigned operations = 40 + below(100);
  for (unsigned i = 0; i < operations; ++i) {
    unsigned from = below(kNodes), target = below(kNodes);
    // Sources read the part no other source writes, so that the model needs no clock.
    std::uint64_t part = from * kArea, length = 1 + below(700);
    std::uint64_t local = part + below(1000), remote = part + 2000 + below(1000);
    Descriptor d = b.to(target, Operation::Message, 0, kNotifyDone);
    d.local_key = keys[from];
    d.remote_key = keys[target];
    d.local_offset = local;
    d.remote_offset = remote;
    d.tag = i;
    d.context = i;
    switch (below(5)) {
      case 0:
        d.length = below(120);
        for (unsigned k = 0; k < d.length; ++k) d.data[k] = static_cast<std::uint8_t>(i + k);
        sent[{from, target}].push_back(i);
        ++done[from];
        break;
      case 1:
        d.operation = Operation::Put;
        d.flags |= kNotifyRemote;
        d.length = length;
        std::copy_n(model[from].begin() + static_cast<long>(local), length,
                    model[target].begin() + static_cast<long>(remote));
        ++done[from];
        ++arrived[target];
        break;
      case 2:
        d.operation = Operation::ImmediatePut;
        d.length = 1 + below(96);
        for (unsigned k = 0; k < d.length; ++k)
          model[target][remote + k] = d.data[k] = static_cast<std::uint8_t>(below(256));
        ++done[from];
        break;
      case 3:
        d.operation = Operation::FetchAdd;
        d.remote_offset = part + 3800;
        d.operand = below(1000);
        {
          std::uint64_t value;
          std::memcpy(&value, &model[target][d.remote_offset], 8);
          value += d.operand;
          std::memcpy(&model[target][d.remote_offset], &value, 8);
        }
        ++done[from];
        break;
      default:
        d.operation = below(2) ? Operation::Put : Operation::Get;
        d.length = length;
        d.remote_key ^= 1ull << (20 + below(44));
        ++failed[from];
    }
    b.post(from, d);
    if (below(4) == 0) b.fabric->advance(b.fabric->now() + Time{below(2'000'000)});
  }
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(!b.network->incidents().empty(), !faults.empty());
  EXPECT_EQ(b.host.memory, model);
  std::map<std::pair<unsigned, unsigned>, std::vector<std::uint32_t>> got;
  for (unsigned i = 0; i < kNodes; ++i) {
    for (const Message& m : b.messages(i)) {
      got[{m.node, i}].push_back(m.tag);
      for (unsigned k = 0; k < m.length; ++k) ASSERT_EQ(m.data[k], static_cast<std::uint8_t>(m.tag + k));
    }
    auto count = [&](EventKind kind) {
      return static_cast<unsigned>(std::count_if(b.events(i).begin(), b.events(i).end(),
                                                 [&](const Event& e) { return e.kind == kind; }));
    };
    EXPECT_EQ(count(EventKind::Done), done[i]);
    EXPECT_EQ(count(EventKind::Failed), failed[i]);
    EXPECT_EQ(count(EventKind::Arrived), arrived[i]);
  }
  EXPECT_EQ(got, sent) << "messages of one port to another come in order, each once";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomOperations, testing::Range<std::uint64_t>(0, 60));

}  // namespace
}  // namespace weft::nic
