// A caller that keeps its promise hears the same, whatever it promised; one that breaks it is found out. For
// each engine there is, and for any number of threads.
#include <gtest/gtest.h>

#include <tuple>

#include "base/check.hpp"
#include "base/random.hpp"
#include "event/event_queue.hpp"
#include "machines.hpp"
#include "network/network.hpp"

namespace weft::network {
namespace {

/// What the caller does and hears, in order: time, tag, and the kind of notice or kOwn.
constexpr int kOwn = 100;
using Log = std::vector<std::tuple<std::int64_t, Tag, int>>;

struct Workload {
  std::uint64_t seed = 1;
  Time least{0};  // from a notice to the answer
  unsigned packets = 300;
  std::uint32_t spacing_ps = 30'000;
};

/// An endpoint sends at times of its own, and answers most deliveries and some departures: after the least
/// time, or up to four times as late, now and then at a time at which others do something too.
class Caller {
 public:
  Caller(Network& network, const Workload& workload, std::uint32_t endpoints, Time promised)
      : network_(network), w_(workload), endpoints_(endpoints) {
    network_.set_reaction_time(promised);
    for (Tag tag = 0; tag < w_.packets / 2; ++tag)
      own_.push({random_below(w_.seed, tag, 1, w_.spacing_ps * w_.packets)}, 0, 0, made_++);
  }

  Log run() {
    std::vector<Notice> notices;
    while (!own_.empty() || !network_.idle()) {
      notices.clear();
      network_.advance(own_.empty() ? network_.now() + Time{1'000'000'000} : own_.top().at, notices);
      for (const Notice& notice : notices) {
        while (!own_.empty() && own_.top().at < notice.at) send();
        hear(notice);
      }
      if (notices.empty() && !own_.empty()) send();
    }
    return std::move(log_);
  }

 private:
  void send() {
    const event::Event due = own_.pop();
    Packet packet;
    packet.tag = due.data;
    packet.source = random_below(w_.seed, packet.tag, 2, endpoints_);
    packet.destination = random_below(w_.seed, packet.tag, 3, endpoints_);
    packet.bytes =
        random_below(w_.seed, packet.tag, 4, 8) ? 1 + random_below(w_.seed, packet.tag, 5, 400) : 0;
    log_.emplace_back(due.at.value, packet.tag, kOwn);
    network_.send(packet, due.at);
  }

  void hear(const Notice& notice) {
    log_.emplace_back(notice.at.value, notice.tag, static_cast<int>(notice.kind));
    bool answers = notice.kind == Notice::Kind::Delivered ? random_below(w_.seed, notice.tag, 6, 4) > 0
                                                          : random_below(w_.seed, notice.tag, 7, 4) == 0;
    if (!answers || made_ >= w_.packets) return;
    Time wait = w_.least;
    if (random_below(w_.seed, notice.tag, 8, 2))
      wait = wait + Time{random_below(w_.seed, notice.tag, 9,
                                      static_cast<std::uint32_t>(3 * w_.least.value + 20'000))};
    own_.push(notice.at + wait, 0, 0, made_++);
  }

  Network& network_;
  const Workload w_;
  std::uint32_t endpoints_;
  event::EventHeap own_;
  Tag made_ = 0;
  Log log_;
};

/// A cycle takes 4 ns; hops take 40 or 55.
machine::Machine machine_of(bool adaptive) {
  std::string router = adaptive ? "channels = 4\nswitching = \"wormhole\"\nlatency = \"35ns\"\n"
                                : "channels = 2\nbuffer_flits = 32\nlatency = \"20ns\"\n";
  return machine::build(machine::describe_text(
      std::string("[topology]\nkind = \"torus\"\ndims = [4, 4]\n[routing]\nkind = \"") +
          (adaptive ? "minimal-adaptive" : "dimension-order") + "\"\n[router]\nflit = \"16B\"\n" + router +
          "[cable.default]\nlanes = 4\nlane_rate = \"8Gbps\"\ncoding = \"none\"\nlength = \"2m\"\ndelay = "
          "\"10ns\"\n",
      "test", {}));
}

Log run_with(const EngineKind& kind, const machine::Machine& m, const Workload& w, Time promised,
             unsigned threads = 1) {
  EngineOptions options;
  options.threads = threads;
  auto network = kind.make(m, options);
  return Caller(*network, w, m.graph->endpoints(), promised).run();
}

TEST(ReactionTime, ChangesNothingThatIsHeard) {
  for (bool adaptive : {false, true}) {
    machine::Machine m = machine_of(adaptive);
    for (const auto& [name, kind] : config::Registry<EngineKind>::all())
      for (std::uint64_t seed = 1; seed <= 12; ++seed)
        for (std::int64_t least : {1'000, 4'000, 9'000, 50'000, 700'000}) {
          Workload w{.seed = seed, .least = {least}};
          w.spacing_ps = seed % 3 == 0 ? 4'000 : 40'000;  // crowded, or not
          Log at_once = run_with(kind, m, w, Time{0});
          ASSERT_GT(at_once.size(), w.packets) << "packets were sent and told of";
          for (std::int64_t promised : {least / 2, least}) {
            SCOPED_TRACE(name + ", seed " + std::to_string(seed) + ", answers after " +
                         std::to_string(least) + " ps, promised " + std::to_string(promised));
            ASSERT_EQ(run_with(kind, m, w, Time{promised}), at_once);
          }
        }
  }
}

// Short: where there are more threads than processors they wait for each other's turn in every cycle.
TEST(ReactionTime, NorDoThreads) {
  machine::Machine m = machine_of(false);
  for (const auto& [name, kind] : config::Registry<EngineKind>::all())
    for (std::int64_t least : {0, 30'000}) {
      Workload w{.seed = 5, .least = {least}, .packets = 60, .spacing_ps = 4'000};
      Log one = run_with(kind, m, w, w.least);
      for (unsigned threads : {2u, 3u})
        ASSERT_EQ(run_with(kind, m, w, w.least, threads), one) << name << ", " << threads << " threads";
    }
}

TEST(ReactionTime, BatchesAreNoLongerThanIt) {
  machine::Machine m = machine_of(false);
  for (const auto& [name, kind] : config::Registry<EngineKind>::all()) {
    auto network = kind.make(m, {});
    network->set_reaction_time(Time{100'000});
    for (Tag tag = 0; tag < 200; ++tag)
      network->send({static_cast<EndpointId>(tag % 16), static_cast<EndpointId>(tag * 7 % 16), 64, 0, tag},
                    Time{static_cast<std::int64_t>(tag * 3'000)});
    std::size_t longest = 0, told = 0;
    std::vector<Notice> notices;
    while (!network->idle()) {
      notices.clear();
      network->advance(network->now() + Time{1'000'000'000}, notices);
      ASSERT_FALSE(notices.empty()) << name;
      EXPECT_LT(notices.back().at, notices.front().at + Time{100'000}) << name;
      longest = std::max(longest, notices.size());
      told += notices.size();
    }
    EXPECT_EQ(told, 400u) << name;
    EXPECT_GT(longest, 10u) << name << ": it hands over in batches";
  }
}

TEST(ReactionTime, APromiseThatIsBrokenIsFoundOut) {
  machine::Machine m = machine_of(false);
  for (const auto& [name, kind] : config::Registry<EngineKind>::all()) {
    auto network = kind.make(m, {});
    network->set_reaction_time(Time{50'000});
    network->send({0, 5, 64, 0, 0}, Time{0});
    std::vector<Notice> notices;
    network->advance(Time{1'000'000'000}, notices);
    ASSERT_FALSE(notices.empty()) << name;
    const Time answer = notices.front().at + Time{50'000};
    EXPECT_THROW(network->send({5, 0, 64, 0, 1}, answer - Time{1}), Defect) << name;
    EXPECT_NO_THROW(network->send({5, 0, 64, 0, 1}, answer)) << name;
  }
}

}  // namespace
}  // namespace weft::network
