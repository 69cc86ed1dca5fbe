// Benchmarks between two nodes.
#include <algorithm>
#include <memory>

#include "base/random.hpp"
#include "measure/lab/benchmarks.hpp"
#include "measure/lab/messenger.hpp"

namespace weft::measure::lab {

namespace {

using nic::Operation;

constexpr unsigned kWarmUp = 2;
// A library makes its channels when the first messages are sent: pairs that begin later must not do so while
// others are measured.
constexpr unsigned kLibraryWarmUp = 40;

/// All nodes of an experiment: pair i has the interfaces 2i and 2i + 1.
std::vector<network::EndpointId> both_of(const PairSetup& setup) {
  std::vector<network::EndpointId> out;
  for (auto [first, second] : setup.nodes) out.insert(out.end(), {first, second});
  return out;
}

/// The processes of an experiment, the two of a pair one after the other.
std::vector<std::unique_ptr<Messenger>> open_pairs(Lab& lab, const PairSetup& setup, std::uint64_t bytes) {
  std::vector<std::unique_ptr<Messenger>> out;
  for (std::size_t n = 0; n < setup.nodes.size(); ++n)
    for (unsigned i = 0; i < setup.pairs; ++i)
      for (std::size_t side : {0, 1})
        out.push_back(std::make_unique<Messenger>(
            lab.add(2 * n + side, std::max<std::uint64_t>(4096, bytes + 128), setup.memory_queue)));
  return out;
}

/// Processes of a node do not run in step with each other: pair i begins a little later than others.
Time out_of_step(std::size_t i) {
  return {static_cast<std::int64_t>(i == 0 ? 0 : random_below(1, i, 0, 20'000'000))};
}

/// The same message there and back. `first` begins; it notes when the measured rounds began and ended.
struct PingPong {
  unsigned rounds = 8, warm_up = kWarmUp;
  Time begin{0}, end{0};
  double half_round_ns() const { return static_cast<double>((end - begin).value) / 2e3 / rounds; }
};

/// How one side sends, and how it knows that all has come.
struct Raw {
  Operation operation;
  std::uint64_t bytes;

  Task send(Process& me, Process& peer) const {
    if (operation != Operation::Message) {
      co_await me.post(me.to(peer, operation, bytes, nic::kNotifyRemote));
      co_return;
    }
    auto limit = static_cast<std::uint64_t>(me.lab().fabric().parameters().message_limit.value);
    for (std::uint64_t left = std::max<std::uint64_t>(bytes, 1); left > 0;) {
      std::uint64_t part = std::min(left, limit);
      left -= part;
      co_await me.post(me.to(peer, operation, part, left ? nic::kMore : 0));
    }
  }
  Task receive(Process& me) const {
    do {
      co_await me.next();
    } while (me.item.is_message && (me.item.message.flags & nic::kMore));
  }
};

Task raw_side(Process& me, Process& peer, Raw how, bool first, PingPong* result) {
  for (unsigned i = 0; i < result->warm_up + result->rounds; ++i) {
    if (first && i == result->warm_up) result->begin = me.clock;
    if (first) co_await how.send(me, peer);
    co_await how.receive(me);
    if (!first) co_await how.send(me, peer);
  }
  if (first) result->end = me.clock;
}

double raw_latency_ns(const machine::Machine& machine, const PairSetup& setup, Raw how) {
  Lab lab(machine, setup.engine, both_of(setup));
  Process& a = lab.add(0, 1 << 20, setup.memory_queue);
  Process& b = lab.add(1, 1 << 20, setup.memory_queue);
  PingPong result;
  lab.start(a, raw_side(a, b, how, true, &result));
  lab.start(b, raw_side(b, a, how, false, &result));
  lab.run();
  return result.half_round_ns();
}

Task library_side(Messenger& me, Process& peer, std::uint64_t bytes, bool first, PingPong* result) {
  for (unsigned i = 0; i < result->warm_up + result->rounds; ++i) {
    if (first && i == result->warm_up) result->begin = me.process().clock;
    if (first) co_await me.send(peer, bytes);
    co_await me.receive();
    if (!first) co_await me.send(peer, bytes);
  }
  if (first) result->end = me.process().clock;
  co_await me.sent();
}

/// Bursts of a window of messages; the receiver answers each burst with a short message.
struct Bursts {
  unsigned window = 64, bursts = 4;
  std::uint64_t bytes = 8;
  std::vector<Time> done;  // when each burst was answered, that of warming up included

  /// Messages sent by a time between the first and the last of these.
  double sent_by(Time at) const {
    auto next = std::upper_bound(done.begin(), done.end(), at);
    if (next == done.end()) return static_cast<double>(window) * static_cast<double>(done.size() - 1);
    Time from = *(next - 1);
    double part = static_cast<double>((at - from).value) / static_cast<double>((*next - from).value);
    return window * (static_cast<double>(next - done.begin() - 1) + part);
  }
};

Task burst_sender(Messenger& me, Process& peer, Bursts* b) {
  for (unsigned i = 0; i <= b->bursts; ++i) {
    for (unsigned k = 0; k < b->window; ++k) co_await me.send(peer, b->bytes);
    co_await me.sent();
    co_await me.receive();
    b->done.push_back(me.process().clock);
  }
}

Task burst_receiver(Messenger& me, Process& peer, Bursts* b) {
  for (unsigned i = 0; i <= b->bursts; ++i) {
    co_await me.receive(b->window);
    co_await me.send(peer, 4);
  }
}

/// Both at once: what a process receives counts towards its peer's burst.
Task burst_both(Messenger& me, Process& peer, Bursts* b) {
  for (unsigned i = 0; i <= b->bursts; ++i) {
    for (unsigned k = 0; k < b->window; ++k) co_await me.send(peer, b->bytes);
    co_await me.receive(b->window);
    co_await me.sent();
    co_await me.send(peer, 4);
    co_await me.receive();
    b->done.push_back(me.process().clock);
  }
}

}  // namespace

double put_latency_ns(const machine::Machine& machine, const PairSetup& setup, std::uint64_t bytes) {
  bool immediate = bytes <= static_cast<std::uint64_t>(machine.description.nic.immediate_limit.value);
  return raw_latency_ns(machine, setup, {immediate ? Operation::ImmediatePut : Operation::Put, bytes});
}

double message_latency_ns(const machine::Machine& machine, const PairSetup& setup, std::uint64_t bytes) {
  return raw_latency_ns(machine, setup, {Operation::Message, bytes});
}

double library_latency_ns(const machine::Machine& machine, const PairSetup& setup, std::uint64_t bytes) {
  Lab lab(machine, setup.engine, both_of(setup));
  auto sides = open_pairs(lab, setup, bytes);
  std::vector<PingPong> results(sides.size() / 2);
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].warm_up = kLibraryWarmUp;
    results[i].rounds = bytes >= 1 << 18 ? 2 : 64;
    Messenger &a = *sides[2 * i], &b = *sides[2 * i + 1];
    a.process().compute(out_of_step(i));
    lab.start(a.process(), library_side(a, b.process(), bytes, true, &results[i]));
    lab.start(b.process(), library_side(b, a.process(), bytes, false, &results[i]));
  }
  lab.run();
  double sum = 0;
  for (const PingPong& result : results) sum += result.half_round_ns();
  return sum / static_cast<double>(results.size());
}

double message_rate(const machine::Machine& machine, const PairSetup& setup, std::uint64_t bytes) {
  Lab lab(machine, setup.engine, both_of(setup));
  auto sides = open_pairs(lab, setup, bytes);
  std::uint64_t most = setup.volume / std::max<std::uint64_t>(1, bytes);
  Bursts plan;
  plan.bytes = bytes;
  plan.window = static_cast<unsigned>(std::clamp<std::uint64_t>(most / 4, 2, setup.window));
  plan.bursts = static_cast<unsigned>(std::clamp<std::uint64_t>(most / plan.window, 4, 16));
  std::vector<Bursts> all(sides.size(), plan);
  for (std::size_t i = 0; i < sides.size(); i += 2) {
    Messenger &a = *sides[i], &b = *sides[i + 1];
    a.process().compute(out_of_step(i / 2));
    if (setup.both_ways) {
      lab.start(a.process(), burst_both(a, b.process(), &all[i]));
      lab.start(b.process(), burst_both(b, a.process(), &all[i + 1]));
    } else {
      lab.start(a.process(), burst_sender(a, b.process(), &all[i]));
      lab.start(b.process(), burst_receiver(b, a.process(), &all[i]));
    }
  }
  lab.run();
  // While all of them send: from the last that began to the first that ended.
  std::erase_if(all, [](const Bursts& b) { return b.done.empty(); });
  Time begin{0}, end = network::kForever;
  for (const Bursts& b : all) {
    begin = std::max(begin, b.done.front());
    end = std::min(end, b.done.back());
  }
  double messages = 0;
  for (const Bursts& b : all) messages += b.sent_by(end) - b.sent_by(begin);
  return messages * 1e12 / static_cast<double>((end - begin).value);
}

std::uint64_t wire_bytes(const machine::Machine& machine, std::uint64_t bytes) {
  Lab lab(machine, "ideal", {0, 1});
  Messenger a(lab.add(0)), b(lab.add(1));
  PingPong result;
  result.rounds = 1;
  lab.start(a.process(), library_side(a, b.process(), bytes, true, &result));
  lab.start(b.process(), library_side(b, a.process(), bytes, false, &result));
  lab.run();
  return lab.fabric().counters(0).bytes_sent / (kWarmUp + 1);
}

}  // namespace weft::measure::lab
