// Garbage in every structure a process shares with the simulator. Whatever is there, the simulator copies and
// checks: nothing is read or written that was not registered, others are undisturbed, and work goes on
// afterwards.
//
// An input is a list of bytes that says where garbage goes; inputs worth keeping are in tests/corpus/port.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "host/segment.hpp"
#include "nic/test_host.hpp"
#include "test_paths.hpp"

namespace weft::host {
namespace {

using nic::Descriptor;
using nic::Operation;
using nic::test::Bench;
using nic::test::TestHost;
using nic::test::torus;

using Input = std::vector<std::uint8_t>;

constexpr std::uint64_t kMemory = 64 * 1024;

/// Two hosts that exchange messages and one whose segment is spoilt.
class Victim {
 public:
  Victim()
      : bench_(torus("queue_slots = 8\nmessage_slots = 8\nevent_slots = 8\nports = 4"), 3, "ideal", kMemory),
        segment_(bench_.machine, 2, 3, 2),
        layout_(segment_.header()) {
    segment_.open(0, 8);
    for (auto& memory : bench_.host.memory) std::fill(memory.begin(), memory.end(), 0xa5);
    key_ = bench_.region(2, 4096, 8192);          // the spoiler's own memory
    shared_ = bench_.region(0, 8192, 1024);       // what host 0 has given it
    secret_ = bench_.region(0, 16'384, 1024, 0);  // what host 0 has kept
  }

  /// Eight bytes of the input: where, how many, what.
  void spoil(const Input& input) {
    auto* bytes = static_cast<std::uint8_t*>(static_cast<void*>(&segment_.header()));
    for (std::size_t i = 0; i + 8 <= input.size(); i += 8) {
      const std::uint8_t* in = &input[i];
      if (in[0] % 4 == 0) {  // anywhere
        std::uint64_t place = (in[1] | in[2] << 8 | in[3] << 16) % (layout_.bytes - 8);
        std::memset(bytes + place, in[4], 1 + in[5] % 8);
      } else if (in[0] % 4 == 1) {  // a plausible descriptor with one field wrong
        Descriptor d = plausible(in);
        std::memcpy(slot(in[6]), &d, sizeof d);
        reinterpret_cast<std::uint8_t*>(slot(in[6]))[in[3] % 96] = in[4];
      } else if (in[0] % 4 == 2) {  // a plausible descriptor
        Descriptor d = plausible(in);
        std::memcpy(slot(in[6]), &d, sizeof d);
      } else {  // an index of the process
        PortArea& area = port_area();
        std::atomic<std::uint32_t>* words[] = {&area.posted,   &area.messages_taken, &area.events_taken,
                                               &area.accepted, &area.messages,       &area.events};
        std::uint32_t value =
            in[2] & 1 ? in[3] : in[3] | in[4] << 8 | in[5] << 16 | std::uint32_t{in[6]} << 24;
        words[in[1] % 6]->store(value);
      }
    }
  }

  /// What the simulator does at the end of a turn.
  void turn() {
    std::vector<Descriptor> posted;
    segment_.take_posted(0, posted);
    EXPECT_LE(posted.size(), 8u);
    for (Descriptor& d : posted) {
      d.posted = bench_.fabric->now().value;
      bench_.fabric->post(bench_.ports[2], d);
    }
    unsigned messages = 0, events = 0;
    segment_.take_consumed(0, messages, events);
    EXPECT_LE(messages, 8u);
    EXPECT_LE(events, 8u);
    for (unsigned thread = 0; thread < kThreads; ++thread) {
      Request r = segment_.request(thread, bench_.fabric->now());
      EXPECT_GE(r.clock, bench_.fabric->now());
      EXPECT_GE(r.deadline, r.clock);
      (void)segment_.state(thread);
    }
    bench_.post(0, bench_.to(1, Operation::Message, 8));
    ASSERT_TRUE(bench_.settle());
    auto& seen = bench_.host.at(bench_.ports[2]);
    for (; slots_ < seen.slots; ++slots_) segment_.slot_free(0);
    EXPECT_FALSE(segment_.queue_full(0)) << "everything posted leaves the queue";
    for (std::size_t i = pushed_; i < bench_.events(2).size(); ++i) {
      Time ignored{0};
      if (!segment_.has_event(0, ignored)) segment_.push(0, bench_.events(2)[i]);
    }
    pushed_ = bench_.events(2).size();
  }

  void check(unsigned turns) {
    auto from_0 = std::count_if(bench_.messages(1).begin(), bench_.messages(1).end(),
                                [](const nic::Message& m) { return m.node == 0; });
    EXPECT_EQ(from_0, turns) << "the others exchange their messages";
    const auto& memory = bench_.host.memory;
    for (std::uint64_t i = 0; i < kMemory; ++i) {
      ASSERT_EQ(memory[1][i], 0xa5) << i;
      bool given = i >= 8192 && i < 9216, own = i >= 4096 && i < 12'288;
      ASSERT_TRUE(given || memory[0][i] == 0xa5) << "host 0 at " << i;
      ASSERT_TRUE(own || memory[2][i] == 0xa5) << "its own, not registered, at " << i;
    }
  }

 private:
  PortArea& port_area() { return *port_at(&segment_.header(), layout_, 0); }
  Descriptor* slot(unsigned i) { return submissions_of(&port_area()) + i % 8; }

  Descriptor plausible(const std::uint8_t* in) {
    Descriptor d = bench_.to(in[1] % 3, static_cast<Operation>(1 + in[2] % 7), 1 + in[3] * 4, in[4] & 0x1f);
    d.local_key = key_;
    d.local_offset = in[5] * 16u;
    d.remote_key = in[7] % 3 == 0 ? secret_ : shared_;
    d.remote_offset = in[7] * 4u;
    return d;
  }

  Bench bench_;
  Segment segment_;
  Layout layout_;  // before it is spoilt
  std::uint64_t key_, shared_, secret_;
  unsigned slots_ = 0;
  std::size_t pushed_ = 0;
};

void feed(const std::vector<Input>& inputs) {
  Victim victim;
  for (const Input& input : inputs) {
    victim.spoil(input);
    victim.turn();
  }
  victim.check(static_cast<unsigned>(inputs.size()));
}

TEST(PortFuzz, RandomGarbage) {
  constexpr std::uint64_t kRuns = 2000, kTurns = 12;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::vector<Input> inputs;
    for (std::uint64_t t = 0; t < kTurns; ++t) {
      Input input(8 * (1 + random_below(seed, 1, t, 24)));
      for (std::size_t i = 0; i < input.size(); ++i)
        input[i] = static_cast<std::uint8_t>(random_bits(seed, 2 + t, i));
      inputs.push_back(std::move(input));
    }
    feed(inputs);
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

TEST(PortFuzz, Corpus) {
  unsigned files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(WEFT_ROOT "/tests/corpus/port")) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream in(entry.path(), std::ios::binary);
    Input all{std::istreambuf_iterator<char>(in), {}};
    std::vector<Input> inputs;
    for (std::size_t i = 0; i < all.size(); i += 64)
      inputs.emplace_back(all.begin() + static_cast<long>(i),
                          all.begin() + static_cast<long>(std::min(i + 64, all.size())));
    feed(inputs);
    ++files;
  }
  EXPECT_GT(files, 3u);
}

}  // namespace
}  // namespace weft::host
