// Protection domains and global addresses: who reaches what, and what a translation costs.
#include <gtest/gtest.h>

#include "nic/test_host.hpp"

namespace weft::nic {
namespace {

using test::Bench;
using test::TestHost;
using test::torus;

constexpr std::uint32_t kFirst = 7, kSecond = 0xffff;

std::uint64_t global_region(Bench& b, unsigned owner, std::uint64_t offset, std::uint64_t length,
                            std::uint32_t rights = kAllRights) {
  std::uint64_t global = 0;
  EXPECT_EQ(b.fabric->register_global(b.ports[owner], TestHost::kBase + offset, length, rights, global),
            Status::Ok);
  return global;
}

Descriptor global_put(const Bench& b, std::uint32_t domain, std::uint64_t global, std::uint64_t offset) {
  Descriptor d = b.to(1, Operation::ImmediatePut, 8, kGlobal | kNotifyRemote | kNotifyDone);
  d.node = 0xdead;  // the address says which node
  d.port = domain;
  d.remote_key = global;
  d.remote_offset = offset;
  std::fill_n(d.data, 8, std::uint8_t{0xee});
  return d;
}

TEST(Domains, AddressHasEightyBits) {
  EXPECT_EQ(kPlaceBits + kNodeBits + 16, 80u);
  std::uint64_t global = global_place((1u << kNodeBits) - 1, kPlaces - 1);
  EXPECT_EQ(global, ~std::uint64_t{0});
  EXPECT_EQ(node_of(global), (1u << kNodeBits) - 1);
  EXPECT_EQ(place_of(global), kPlaces - 1);
  EXPECT_EQ(node_of(global_place(5, 77)), 5u);
}

TEST(Domains, PutGetAndAtomicGoWhereTheGlobalAddressSays) {
  for (const std::string& engine : config::Registry<network::EngineKind>::names()) {
    SCOPED_TRACE(engine);
    Bench b(torus("kind = \"exanest\"\npayload = \"64B\""), 3, engine);
    for (unsigned i = 0; i < 3; ++i) ASSERT_EQ(b.fabric->join_domain(b.ports[i], kFirst), Status::Ok);
    for (unsigned i = 0; i < 5000; ++i) b.host.memory[0][i] = static_cast<std::uint8_t>(i * 7 + 1);
    std::uint64_t there = global_region(b, 1, 104, 9000);
    Descriptor d = b.to(2, Operation::Put, 5000, kGlobal | kNotifyRemote | kNotifyDone);
    d.port = kFirst;
    d.local_key = b.region(0, 0, 1 << 16);
    d.remote_key = there;
    d.remote_offset = 3;
    b.post(0, d);
    ASSERT_TRUE(b.settle());
    EXPECT_TRUE(std::equal(b.host.memory[0].begin(), b.host.memory[0].begin() + 5000,
                           b.host.memory[1].begin() + 107));
    ASSERT_EQ(b.events(1).size(), 1u) << "the port that registered it hears of it";
    EXPECT_EQ(b.events(1)[0].kind, EventKind::Arrived);
    d.operation = Operation::Get;
    d.local_offset = 10'000;
    d.flags |= kReliable;
    b.post(0, d);
    ASSERT_TRUE(b.settle());
    EXPECT_TRUE(std::equal(b.host.memory[0].begin(), b.host.memory[0].begin() + 5000,
                           b.host.memory[0].begin() + 10'000));
    Descriptor add = b.to(2, Operation::FetchAdd, 8, kGlobal);
    add.port = kFirst;
    add.remote_key = there;
    add.remote_offset = 8000;
    add.operand = 5;
    b.post(0, add);
    ASSERT_TRUE(b.settle());
    EXPECT_EQ(b.host.memory[1][8104], 5);
    for (const Event& e : b.events(0)) EXPECT_EQ(e.status, Status::Ok);
    EXPECT_EQ(b.events(0).size(), 3u);
  }
}

TEST(Domains, AnotherDomainIsAnErrorAndTouchesNothing) {
  Bench b(torus(), 3);
  ASSERT_EQ(b.fabric->join_domain(b.ports[0], kFirst), Status::Ok);
  ASSERT_EQ(b.fabric->join_domain(b.ports[1], kSecond), Status::Ok);
  std::uint64_t there = global_region(b, 1, 0, 4096);
  auto before = b.host.memory;
  struct Attempt {
    unsigned from;
    std::uint32_t domain;
    Status status;
  };
  for (Attempt a : {Attempt{0, kSecond, Status::NoRight},  // a domain its port is not in
                    {0, kFirst, Status::NoPort},           // its own, which nobody has over there
                    {2, kSecond, Status::NoRight},         // a port in no domain
                    {2, kNoDomain, Status::NoRight}}) {
    SCOPED_TRACE(testing::Message() << a.from << " " << a.domain);
    b.events(a.from).clear();
    b.post(a.from, global_put(b, a.domain, there, 0));
    ASSERT_TRUE(b.settle());
    ASSERT_EQ(b.events(a.from).size(), 1u);
    EXPECT_EQ(b.events(a.from)[0].kind, EventKind::Failed);
    EXPECT_EQ(b.events(a.from)[0].status, a.status);
  }
  EXPECT_EQ(b.host.memory, before);
  EXPECT_TRUE(b.events(1).empty());
}

TEST(Domains, ErrorsInsideADomain) {
  Bench b(torus(), 2);
  for (unsigned i = 0; i < 2; ++i) ASSERT_EQ(b.fabric->join_domain(b.ports[i], kFirst), Status::Ok);
  std::uint64_t there = global_region(b, 1, 0, 4096, kRemoteRead | kRemoteWrite);
  std::uint64_t locked = global_region(b, 1, 0, 4096, kRemoteRead), gone = global_region(b, 1, 0, 4096);
  ASSERT_EQ(b.fabric->unregister_global(b.ports[1], gone), Status::Ok);
  EXPECT_EQ(b.fabric->unregister_global(b.ports[1], gone), Status::BadKey);
  auto before = b.host.memory;
  struct Attempt {
    std::uint64_t global, offset;
    Status status;
  };
  for (Attempt a : {Attempt{there, 4089, Status::BadRange},
                    {there, 4096, Status::BadKey},
                    {there, ~std::uint64_t{0}, Status::BadRange},
                    {global_place(1, 0), 0, Status::BadKey},
                    {locked, 0, Status::NoRight},
                    {gone, 0, Status::BadKey},
                    {global_place(4'000'000, 0), 0, Status::BadNode}}) {
    SCOPED_TRACE(testing::Message() << a.global << " " << a.offset);
    b.events(0).clear();
    b.post(0, global_put(b, kFirst, a.global, a.offset));
    ASSERT_TRUE(b.settle());
    ASSERT_EQ(b.events(0).size(), 1u);
    EXPECT_EQ(b.events(0)[0].status, a.status);
  }
  EXPECT_EQ(b.host.memory, before);
  b.fabric->close(b.ports[1]);
  b.events(0).clear();
  b.post(0, global_put(b, kFirst, there, 0));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.events(0)[0].status, Status::NoPort) << "a closed port leaves its domain";
}

TEST(Domains, OneProcessHasADomainOnANode) {
  Bench b(torus(), 2);
  PortNo same = 0, other = 0;
  ASSERT_EQ(b.fabric->open(0, 0, false, same), Status::Ok);
  ASSERT_EQ(b.fabric->open(0, 1, false, other), Status::Ok);  // another process on the first node
  EXPECT_EQ(b.fabric->join_domain(b.ports[0], kFirst), Status::Ok);
  EXPECT_EQ(b.fabric->join_domain(b.ports[0], kSecond), Status::Busy) << "a port joins once";
  EXPECT_EQ(b.fabric->join_domain({0, same}, kFirst), Status::Ok) << "another port of that process";
  EXPECT_EQ(b.fabric->join_domain({0, other}, kFirst), Status::Busy);
  EXPECT_EQ(b.fabric->join_domain({0, other}, kDomains), Status::BadRange);
  EXPECT_EQ(b.fabric->join_domain(b.ports[1], kFirst), Status::Ok) << "another node";
  b.fabric->close(b.ports[0]);
  EXPECT_EQ(b.fabric->join_domain({0, other}, kFirst), Status::Busy);
  b.fabric->close({0, same});
  EXPECT_EQ(b.fabric->join_domain({0, other}, kFirst), Status::Ok) << "given back with the last port";
}

TEST(Domains, PlacesNeverOverlap) {
  constexpr std::uint64_t kPage = 4096;
  DomainTable table;
  ASSERT_EQ(table.join(1, 0), Status::Ok);
  std::map<std::uint64_t, std::uint64_t> used;  // place -> length
  for (std::uint64_t step = 0; step < 3000; ++step) {
    if (!used.empty() && random_below(5, 1, step, 3) == 0) {
      auto at = std::next(used.begin(), random_below(5, 2, step, static_cast<std::uint32_t>(used.size())));
      ASSERT_TRUE(table.remove(1, 0, at->first));
      used.erase(at);
    } else {
      std::uint64_t address = random_bits(5, 3, step) >> 17, length = 1 + random_below(5, 4, step, 20'000);
      std::uint64_t place = 0;
      ASSERT_EQ(table.add(1, 0, address, length, 7, kPage, place), Status::Ok);
      ASSERT_EQ(place % kPage, address % kPage);
      ASSERT_LE(place + length, kPlaces);
      auto next = used.lower_bound(place);
      ASSERT_TRUE(next == used.end() || place + length <= next->first);
      ASSERT_TRUE(next == used.begin() || std::prev(next)->first + std::prev(next)->second <= place);
      used[place] = length;
      DomainTable::Found found;
      ASSERT_EQ(table.check(1, place + length - 1, 1, 7, found), Status::Ok);
      ASSERT_EQ(found.address, address + length - 1);
    }
  }
}

TEST(Translation, SecondStageIsPaidOnAMiss) {
  std::int64_t first[2], again[2];
  for (int stages = 0; stages < 2; ++stages) {
    Bench b(torus(stages ? "second_stage = \"70ns\"" : ""), 2);
    for (unsigned i = 0; i < 2; ++i) ASSERT_EQ(b.fabric->join_domain(b.ports[i], kFirst), Status::Ok);
    std::uint64_t there = global_region(b, 1, 0, 4096);
    for (std::int64_t* time : {first, again}) {
      Time begin = b.fabric->now();
      b.post(0, global_put(b, kFirst, there, 0));
      ASSERT_TRUE(b.settle());
      time[stages] = b.events(1).back().time - begin.value;
    }
  }
  EXPECT_EQ(first[1] - first[0], 70'000);
  EXPECT_EQ(again[1], again[0]) << "both stages are in the cache";
  EXPECT_LT(again[0], first[0]);
}

TEST(Translation, RegisteredMemoryFitsInPhysicalAddresses) {
  Bench b(torus("kind = \"exanest\""), 1);
  ASSERT_EQ(b.fabric->join_domain(b.ports[0], kFirst), Status::Ok);
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 39;
  std::uint64_t key = 0, global = 0, more = 0;
  EXPECT_EQ(b.fabric->register_memory(b.ports[0], 4096, 2 * kHalf + 1, 0, key), Status::NoRoom);
  ASSERT_EQ(b.fabric->register_memory(b.ports[0], 4096, kHalf, 0, key), Status::Ok);
  ASSERT_EQ(b.fabric->register_global(b.ports[0], 4 * kHalf, kHalf, 0, global), Status::Ok);
  ASSERT_EQ(b.fabric->register_memory(b.ports[0], 4096, kHalf, 0, more), Status::Ok) << "the same frames";
  EXPECT_EQ(b.fabric->register_memory(b.ports[0], 8 * kHalf, 1, 0, more), Status::NoRoom)
      << "40 bits are used up";
  EXPECT_EQ(b.fabric->unregister_global(b.ports[0], global), Status::Ok);
  EXPECT_EQ(b.fabric->register_memory(b.ports[0], 8 * kHalf, 1, 0, more), Status::Ok);
}

}  // namespace
}  // namespace weft::nic
