// Programs over all processes of a cluster.
#include <algorithm>
#include <array>
#include <memory>

#include "base/random.hpp"
#include "measure/lab/benchmarks.hpp"
#include "measure/lab/messenger.hpp"

namespace weft::measure::lab {

namespace {

std::vector<network::EndpointId> first_nodes(unsigned nodes) {
  std::vector<network::EndpointId> out;
  for (unsigned i = 0; i < nodes; ++i) out.push_back(i);
  return out;
}

/// What takes this long at the processor's nominal clock.
Time at_clock(const machine::Machine& m, Time nominal) {
  const machine::ProcessorParameters& p = m.description.processor;
  if (p.clock.value == 0 || p.nominal_clock.value == 0) return nominal;
  return {static_cast<std::int64_t>(static_cast<__int128>(nominal.value) * p.nominal_clock.value /
                                    p.pace().value)};
}

/// What all processes of the random-updates benchmark share.
struct Updates {
  RandomUpdates how;
  std::vector<std::unique_ptr<Messenger>> members;
  std::uint64_t all = 0, applied = 0;
  Time quarter{0}, three_quarters{0};  // when so much had been applied
  Time computed{0};                    // by all, between the two
  bool measuring() const { return applied >= all / 4 && applied < all - all / 4; }

  void apply(Process& p, std::uint64_t updates) {
    // Half of an update's own time is making it, half applying it.
    compute(p, {how.compute.value * static_cast<std::int64_t>(updates) / 2});
    bool before = applied >= all / 4, later = applied >= all - all / 4;
    applied += updates;
    if (!before && applied >= all / 4) quarter = p.clock;
    if (!later && applied >= all - all / 4) three_quarters = p.clock;
  }
  void compute(Process& p, Time time) {
    p.compute(time);
    if (measuring()) computed = computed + time;
  }
};

/// HPCC's way: updates wait in a bucket for each process; a test for what arrived goes with every update
/// made; when too many wait, the fullest bucket is sent.
Task update(Updates& u, unsigned rank) {
  Messenger& me = *u.members[rank];
  Process& p = me.process();
  auto ranks = static_cast<std::uint32_t>(u.members.size());
  std::vector<std::uint64_t> bucket(ranks);
  std::uint64_t made = 0, pending = 0;
  while (u.applied < u.all) {
    for (bool received = true; received;) {
      co_await me.test(received);
      if (received) u.apply(p, me.last_length() / 8);
    }
    if (made < u.how.updates && pending < u.how.pending) {
      u.compute(p, {u.how.compute.value / 2});
      std::uint32_t to = random_below(u.how.seed, rank, made++, ranks);
      if (to == rank) {
        u.apply(p, 1);
      } else {
        ++bucket[to];
        ++pending;
      }
      continue;
    }
    if (pending == 0) continue;
    auto fullest = std::max_element(bucket.begin(), bucket.end());
    auto to = static_cast<std::size_t>(fullest - bucket.begin());
    pending -= *fullest;
    co_await me.send(u.members[to]->process(), std::exchange(*fullest, 0) * 8);
  }
}

struct Halo {
  HaloExchange how;
  std::vector<std::unique_ptr<Messenger>> members;
  std::array<unsigned, 2> grid{};
  Gate next_step = {};
};

Task exchange(Halo& h, unsigned rank) {
  Messenger& me = *h.members[rank];
  unsigned x = rank % h.grid[0], y = rank / h.grid[0];
  std::array<unsigned, 4> neighbours{
      (x + 1) % h.grid[0] + y * h.grid[0], (x + h.grid[0] - 1) % h.grid[0] + y * h.grid[0],
      x + (y + 1) % h.grid[1] * h.grid[0], x + (y + h.grid[1] - 1) % h.grid[1] * h.grid[0]};
  for (unsigned step = 0; step < h.how.steps; ++step) {
    me.process().compute(h.how.compute);
    co_await me.expect(4);
    for (unsigned to : neighbours)
      co_await me.send(h.members[to]->process(), static_cast<std::uint64_t>(h.how.bytes.value));
    co_await me.receive(4);
    co_await me.sent();
    co_await me.process().meet(h.next_step);
  }
}

}  // namespace

ApplicationResult random_updates(const machine::Machine& machine, const RandomUpdates& how) {
  Lab lab(machine, how.engine, first_nodes(how.nodes), how.seed);
  Updates u;
  u.how = how;
  u.how.compute = at_clock(machine, how.compute);
  unsigned ranks = how.nodes * how.per_node;
  for (unsigned r = 0; r < ranks; ++r)
    u.members.push_back(std::make_unique<Messenger>(lab.add(r / how.per_node, how.pending * 8 + 128)));
  u.all = how.updates * ranks;
  for (unsigned r = 0; r < ranks; ++r) lab.start(u.members[r]->process(), update(u, r));
  lab.run();
  double seconds = static_cast<double>((u.three_quarters - u.quarter).value) * 1e-12;
  return {seconds, static_cast<double>(u.all - u.all / 4 - u.all / 4),
          1 - static_cast<double>(u.computed.value) * 1e-12 / (seconds * ranks)};
}

ApplicationResult halo_exchange(const machine::Machine& machine, const HaloExchange& how) {
  Lab lab(machine, how.engine, first_nodes(how.nodes));
  Halo h;
  h.how = how;
  h.how.compute = at_clock(machine, how.compute);
  unsigned ranks = how.nodes * how.per_node;
  h.grid[0] = ranks;
  h.next_step.expected = ranks;
  for (unsigned w = 1; w * w <= ranks; ++w)
    if (ranks % w == 0) h.grid = {ranks / w, w};
  for (unsigned r = 0; r < ranks; ++r)
    h.members.push_back(std::make_unique<Messenger>(
        lab.add(r / how.per_node, static_cast<std::uint64_t>(how.bytes.value) + 128)));
  for (unsigned r = 0; r < ranks; ++r) lab.start(h.members[r]->process(), exchange(h, r));
  lab.run();
  Time end{0};
  for (const auto& member : h.members) end = std::max(end, member->process().clock);
  const double seconds = static_cast<double>(end.value) * 1e-12;
  auto all_steps = [&](Time one) { return static_cast<double>(one.value) * 1e-12 * how.steps; };
  return {seconds, all_steps(how.compute) * ranks * how.gflops * 1e9, 1 - all_steps(h.how.compute) / seconds};
}

}  // namespace weft::measure::lab
