// DMA channels, maps of global addresses, physical addresses, coherence, and who keeps the translation table.
#include <gtest/gtest.h>

#include "nic/test_host.hpp"

namespace weft::nic {
namespace {

using test::Bench;
using test::TestHost;
using test::torus;

constexpr std::uint32_t kFirst = 7, kSecond = 8;

Descriptor put(Bench& b, unsigned target, std::uint64_t local, std::uint64_t remote, std::uint64_t length,
               std::uint16_t flags = 0) {
  Descriptor d = b.to(target, Operation::Put, length, kNotifyDone | kNotifyRemote | flags);
  d.local_key = local;
  d.remote_key = remote;
  return d;
}

std::int64_t settle_time(Bench& b, unsigned from) {
  b.events(from).clear();
  Time begin = b.fabric->now();
  EXPECT_TRUE(b.settle());
  EXPECT_FALSE(b.events(from).empty());
  for (const Event& e : b.events(from)) EXPECT_EQ(e.status, Status::Ok);
  return b.events(from).empty() ? 0 : b.events(from).back().time - begin.value;
}

TEST(Channels, ComeWithADomainAndRunOut) {
  // ExaNeSt: a channel is a DMA channel and a protection domain, and who communicates has the same
  // (section 4.1).
  Bench b(torus("kind = \"exanest\"\nchannels = 2"), 2);
  PortNo others[3];
  for (PortNo& port : others) ASSERT_EQ(b.fabric->open(0, 0, false, port), Status::Ok);
  EXPECT_EQ(b.fabric->join_domain(b.ports[0], kFirst), Status::Ok);
  EXPECT_EQ(b.fabric->join_domain({0, others[0]}, kFirst), Status::Ok) << "the same channel";
  EXPECT_EQ(b.fabric->join_domain({0, others[1]}, kSecond), Status::Ok);
  EXPECT_EQ(b.fabric->join_domain({0, others[2]}, 9), Status::NoRoom) << "two channels, two domains";
  b.fabric->close({0, others[1]});
  EXPECT_EQ(b.fabric->join_domain({0, others[2]}, 9), Status::Ok) << "the last port gives it back";
  // Who has no channel has no puts; messages need none.
  auto before = b.host.memory;
  std::uint64_t local = b.region(1, 0, 4096), remote = b.region(0, 0, 4096);
  b.post(1, put(b, 0, local, remote, 100));
  ASSERT_TRUE(b.settle());
  ASSERT_EQ(b.events(1).size(), 1u);
  EXPECT_EQ(b.events(1)[0].status, Status::NoRight);
  EXPECT_EQ(b.host.memory, before);
  b.post(1, b.to(0, Operation::Message, 8));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.messages(0).size(), 1u);
  ASSERT_EQ(b.fabric->join_domain(b.ports[1], kFirst), Status::Ok);
  b.post(1, put(b, 0, local, remote, 100));
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.events(1).back().status, Status::Ok);
}

TEST(Channels, OneDoesItsTransfersOneAfterTheOther) {
  // Two long puts from two ports: of one domain they follow each other, of two they share the way.
  std::int64_t first[2], last[2];
  for (int apart = 0; apart < 2; ++apart) {
    Bench b(torus("kind = \"exanest\"\nchannels = 4"), 2);
    PortNo second = 0;
    ASSERT_EQ(b.fabric->open(0, 0, false, second), Status::Ok);
    ASSERT_EQ(b.fabric->join_domain(b.ports[0], kFirst), Status::Ok);
    ASSERT_EQ(b.fabric->join_domain({0, second}, apart ? kSecond : kFirst), Status::Ok);
    std::uint64_t remote = b.region(1, 0, 1 << 17), local[2];
    ASSERT_EQ(b.fabric->register_memory(b.ports[0], TestHost::kBase, 1 << 17, 0, local[0]), Status::Ok);
    ASSERT_EQ(b.fabric->register_memory({0, second}, TestHost::kBase + (1 << 18), 1 << 17, 0, local[1]),
              Status::Ok);
    for (int i = 0; i < 2; ++i) {
      Descriptor d = put(b, 1, local[i], remote, 1 << 17);
      d.flags = kNotifyDone;
      b.fabric->post(i ? PortRef{0, second} : b.ports[0], d);
    }
    while (!b.fabric->idle()) b.fabric->advance(network::kForever);
    b.take({0, second});
    b.take(b.ports[0]);
    std::int64_t a = b.events(0).back().time, c = b.taken[{0, second}].events.back().time;
    first[apart] = std::min(a, c);
    last[apart] = std::max(a, c);
    EXPECT_EQ(b.fabric->counters(0).channel_waits, apart ? 0u : 1u);
  }
  EXPECT_LT(first[0], last[0] * 6 / 10) << "the first is done before the second begins";
  EXPECT_GT(first[1], last[1] * 9 / 10) << "both at once";
}

TEST(GlobalMap, StaticPlacesArePhysicalAddressesAndStay) {
  Bench b(torus("kind = \"exanest\"\nglobal_map = \"static\""), 2);
  for (unsigned i = 0; i < 2; ++i) ASSERT_EQ(b.fabric->join_domain(b.ports[i], kFirst), Status::Ok);
  std::uint64_t there = 0, more = 0, length = 0;
  ASSERT_EQ(b.fabric->register_global(b.ports[1], TestHost::kBase + 5000, 9000, kAllRights, there),
            Status::Ok);
  EXPECT_EQ(b.fabric->register_global(b.ports[1], TestHost::kBase + 5000, 100, kAllRights, more),
            Status::Busy)
      << "an address has one place";
  EXPECT_LT(place_of(there), std::uint64_t{1} << 40);
  EXPECT_EQ(b.fabric->move_global(b.ports[1], there, TestHost::kBase + 5000 + 65'536, length),
            Status::NoRight);
  std::uint64_t seen = 0;
  b.fabric->on_record = [&](const Record& r) { seen = r.physical; };
  Descriptor d = put(b, 1, b.region(0, 0, 4096), there, 64, kGlobal);
  d.port = kFirst;
  d.remote_offset = 70;
  b.host.memory[0][0] = 77;
  b.post(0, d);
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.host.memory[1][5070], 77);
  EXPECT_EQ(seen, place_of(there) + 70) << "the place is the physical address";
  // Registered anew it is where it was.
  ASSERT_EQ(b.fabric->unregister_global(b.ports[1], there), Status::Ok);
  ASSERT_EQ(b.fabric->register_global(b.ports[1], TestHost::kBase + 5000, 9000, kAllRights, more),
            Status::Ok);
  EXPECT_EQ(more, there);
}

TEST(GlobalMap, WhatLiesBehindADynamicPlaceMayChange) {
  Bench b(torus("kind = \"exanest\""), 2);
  for (unsigned i = 0; i < 2; ++i) ASSERT_EQ(b.fabric->join_domain(b.ports[i], kFirst), Status::Ok);
  std::uint64_t there = 0, length = 0;
  ASSERT_EQ(b.fabric->register_global(b.ports[1], TestHost::kBase + 100, 1000, kRemoteWrite, there),
            Status::Ok);
  Descriptor d = put(b, 1, b.region(0, 0, 4096), there, 8, kGlobal);
  d.port = kFirst;
  std::fill_n(b.host.memory[0].begin(), 8, std::uint8_t{1});
  b.post(0, d);
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.fabric->move_global(b.ports[0], there, TestHost::kBase + 100, length), Status::BadKey)
      << "only who registered it";
  EXPECT_EQ(b.fabric->move_global(b.ports[1], there, TestHost::kBase + 8192, length), Status::BadRange)
      << "another offset in its page";
  ASSERT_EQ(b.fabric->move_global(b.ports[1], there, TestHost::kBase + 8292, length), Status::Ok);
  EXPECT_EQ(length, 1000u);
  std::fill_n(b.host.memory[0].begin(), 8, std::uint8_t{2});
  b.post(0, d);
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.host.memory[1][100], 1) << "the old memory is left alone";
  EXPECT_EQ(b.host.memory[1][8292], 2);
  d.remote_offset = 996;
  b.post(0, d);
  ASSERT_TRUE(b.settle());
  EXPECT_EQ(b.events(0).back().status, Status::BadRange) << "as long as it was";
}

TEST(Physical, AddressesAreFormedInBothStages) {
  Bench b(torus("kind = \"exanest\""), 2);
  std::vector<std::uint64_t> seen;
  b.fabric->on_record = [&](const Record& r) { seen.push_back(r.physical); };
  PortNo other = 0;
  ASSERT_EQ(b.fabric->open(1, 0, false, other), Status::Ok);  // another process, the same addresses
  std::uint64_t local = b.region(0, 0, 4096), keys[2];
  ASSERT_EQ(b.fabric->register_memory(b.ports[1], TestHost::kBase + 300, 4096, 7, keys[0]), Status::Ok);
  ASSERT_EQ(b.fabric->register_memory({1, other}, TestHost::kBase + 300, 4096, 7, keys[1]), Status::Ok);
  for (std::uint64_t key : keys)
    for (std::uint64_t offset : {0, 1, 4000}) {
      Descriptor d = put(b, 1, local, key, 8);
      d.port = key == keys[0] ? b.ports[1].port : other;
      d.remote_offset = offset;
      b.post(0, d);
      ASSERT_TRUE(b.settle());
    }
  ASSERT_EQ(seen.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_LT(seen[i], std::uint64_t{1} << 40);
    EXPECT_EQ(seen[i] % 4096, (300 + (i % 3 == 2 ? 4000 : i % 3)) % 4096) << "the offset in the page stays";
  }
  EXPECT_EQ(seen[1], seen[0] + 1);
  EXPECT_NE(seen[0], seen[3]) << "two processes, two frames";
}

TEST(Physical, TheKernelsOperationsAreNotTranslated) {
  // TH Express-2 section 2.2.2, EXTOLL section 2.4.6: physical addresses in a descriptor, for the kernel.
  Bench b(torus("kernel_ports = 1\ntranslation_hit = \"7ns\"\ntranslation_miss = \"300ns\""), 2);
  PortRef kernel[2];
  std::uint64_t keys[2], at[2];
  for (unsigned i = 0; i < 2; ++i) {
    kernel[i].nic = i;
    ASSERT_EQ(b.fabric->open_for_kernel(i, i, kernel[i].port), Status::Ok);
    ASSERT_EQ(b.fabric->register_memory(kernel[i], TestHost::kBase + 1000, 9000, 0, keys[i]), Status::Ok);
    ASSERT_EQ(b.fabric->physical_address(kernel[i], keys[i], 24, at[i]), Status::Ok);
  }
  PortNo more = 0;
  EXPECT_EQ(b.fabric->open_for_kernel(0, 0, more), Status::NoRoom) << "there is one";
  EXPECT_EQ(b.fabric->physical_address(b.ports[0], keys[0], 0, at[0]), Status::NoRight);
  ASSERT_EQ(b.fabric->physical_address(kernel[0], keys[0], 24, at[0]), Status::Ok);
  for (unsigned i = 0; i < 200; ++i) b.host.memory[0][1024 + i] = static_cast<std::uint8_t>(i + 1);
  Descriptor d = b.to(1, Operation::Put, 200, kPhysical | kNotifyDone);
  d.port = kernel[1].port;
  d.local_offset = at[0];
  d.remote_offset = at[1];
  auto run = [&](PortRef from, Descriptor x) {
    x.posted = b.fabric->now().value;
    b.fabric->post(from, x);
    EXPECT_TRUE(b.settle());
    b.take(from);
    Event e = b.taken[{from.nic, from.port}].events.back();
    EXPECT_EQ(b.fabric->counters(0).translation_misses + b.fabric->counters(1).translation_misses > 0, false);
    return std::pair{e.status, e.time - x.posted};
  };
  auto [status, time] = run(kernel[0], d);
  EXPECT_EQ(status, Status::Ok);
  EXPECT_TRUE(std::equal(b.host.memory[0].begin() + 1024, b.host.memory[0].begin() + 1224,
                         b.host.memory[1].begin() + 1024));
  EXPECT_EQ(b.fabric->counters(0).untranslated, 1u);
  EXPECT_EQ(b.fabric->counters(0).translations, 0u);
  auto before = b.host.memory;
  EXPECT_EQ(run(b.ports[0], d).first, Status::NoRight) << "a process may not";
  d.remote_offset = at[1] + 9000 - 24 + 4096;
  EXPECT_EQ(run(kernel[0], d).first, Status::BadKey) << "nothing is registered there";
  d.remote_offset = at[1] + 12'000 - 24 - 1000;
  d.length = 8192;
  EXPECT_NE(run(kernel[0], d).first, Status::Ok) << "beyond what is";
  d.length = 8;
  d.flags |= kGlobal;
  EXPECT_EQ(run(kernel[0], d).first, Status::BadOperation);
  EXPECT_EQ(b.host.memory, before);
  // The same by keys pays a miss and a hit at either end.
  std::uint64_t key = 0;
  ASSERT_EQ(b.fabric->register_memory(kernel[1], TestHost::kBase + 1000, 9000, kRemoteWrite, key),
            Status::Ok);
  Descriptor keyed = b.to(1, Operation::Put, 200, kNotifyDone);
  keyed.port = kernel[1].port;
  keyed.local_key = keys[0];
  keyed.remote_key = key;
  keyed.local_offset = keyed.remote_offset = 24;
  keyed.posted = b.fabric->now().value;
  b.fabric->post(kernel[0], keyed);
  ASSERT_TRUE(b.settle());
  b.take(kernel[0]);
  Event e = b.taken[{kernel[0].nic, kernel[0].port}].events.back();
  EXPECT_EQ(e.status, Status::Ok);
  EXPECT_EQ(e.time - keyed.posted, time + 2 * 307'000);
}

TEST(Coherence, RemoteAccessAsksTheCachesOnce) {
  // A put pays the snoop at its target, a get where it is answered, neither on its own node.
  std::int64_t put_time[2], get_time[2], own_time[2];
  for (int coherent = 0; coherent < 2; ++coherent) {
    Bench b(torus("", coherent ? "snoop = \"33ns\"" : ""), 2);
    std::uint64_t local = b.region(0, 0, 4096), remote = b.region(1, 0, 4096), own = b.region(0, 8192, 4096);
    for (std::int64_t* time : {&put_time[coherent], &get_time[coherent], &own_time[coherent]}) {
      Descriptor d =
          put(b, time == &own_time[coherent] ? 0 : 1, local, time == &own_time[coherent] ? own : remote, 64);
      if (time == &get_time[coherent]) d.operation = Operation::Get;
      b.post(0, d);
      *time = settle_time(b, 0);
    }
  }
  EXPECT_EQ(put_time[1] - put_time[0], 33'000);
  EXPECT_EQ(get_time[1] - get_time[0], 33'000);
  EXPECT_EQ(own_time[1], own_time[0]);
}

TEST(Microcontroller, KeepsTheTableOneEntryAfterTheOther) {
  machine::NicParameters p;
  p.registration = {100};
  p.translation_hit = {1};
  p.translation_miss = {1000};
  for (bool one : {false, true}) {
    p.microcontroller = one;
    TranslationCache cache(p);
    EXPECT_EQ(cache.translate(0, 0, 1, Time{0}), Time{1001});
    EXPECT_EQ(cache.translate(1, 0, 1, Time{0}), Time{one ? 2001 : 1001}) << "the second waits for the first";
    EXPECT_EQ(cache.translate(0, 0, 1, Time{0}), Time{1}) << "a hit needs nobody";
    EXPECT_EQ(cache.update(Time{500}, Time{300}), Time{one ? 1801 : 300});
    EXPECT_EQ(cache.update(Time{10'000}, Time{300}), Time{300}) << "idle by then";
    EXPECT_EQ(cache.table().waits(), one ? 2u : 0u);
    EXPECT_EQ(cache.table().busy(), Time{one ? 2600 : 0});
  }
}

TEST(Microcontroller, RegistrationsWaitForEachOtherAndForMisses) {
  // APEnet+: the translation table is the work of an embedded processor (section 4).
  Bench b(torus("kind = \"apenet\"\nregistration = \"1us\"\nregistration_page = \"2us\""), 2);
  EXPECT_EQ(b.fabric->registration_time(0, Time{0}, 0, 8192), Time{5'000'000});
  EXPECT_EQ(b.fabric->registration_time(0, Time{0}, 0, 4096), Time{7'000'000}) << "behind the other's pages";
  EXPECT_EQ(b.fabric->registration_time(1, Time{0}, 0, 4096), Time{3'000'000}) << "another interface";
  EXPECT_EQ(b.fabric->unregistration_time(0, Time{0}, 4096), Time{9'000'000});
  EXPECT_EQ(b.fabric->counters(0).table_waits, 2u);
  // A put that misses while the table is written waits until it is.
  std::uint64_t local = b.region(0, 0, 4096), remote = b.region(1, 0, 4096);
  std::int64_t times[2];
  for (std::int64_t& time : times) {
    b.post(0, put(b, 1, local, remote, 64));
    time = settle_time(b, 0);
  }
  EXPECT_GT(times[0], 9'000'000);
  EXPECT_LT(times[1], 9'000'000);
  Bench host(
      torus(
          "kind = \"apenet\"\nmicrocontroller = false\nregistration = \"1us\"\nregistration_page = \"2us\""),
      2);
  EXPECT_EQ(host.fabric->registration_time(0, Time{0}, 0, 8192), Time{5'000'000});
  EXPECT_EQ(host.fabric->registration_time(0, Time{0}, 0, 4096), Time{3'000'000})
      << "the driver writes it itself";
  EXPECT_EQ(host.fabric->unregistration_time(0, Time{0}, 4096), Time{0});
}

}  // namespace
}  // namespace weft::nic
