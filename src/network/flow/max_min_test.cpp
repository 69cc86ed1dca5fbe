// Max-min fair rates, all at once and as flows come and go, against an exact and slow reference.
#include <gtest/gtest.h>

#include <numeric>
#include <optional>

#include "base/random.hpp"
#include "network/flow/fluid.hpp"
#include "network/flow/static_flows.hpp"

namespace weft::network::flow {

namespace {

/// A fraction in lowest terms: the cases are small enough for 128 bits.
struct Exact {
  __int128 over = 0, under = 1;
  static __int128 common(__int128 a, __int128 b) {
    while (b != 0) std::swap(a %= b, b);
    return a < 0 ? -a : a;
  }
  static Exact make(__int128 a, __int128 b) {
    __int128 c = common(a, b);
    return c == 0 ? Exact{0, 1} : Exact{a / c, b / c};
  }
  friend Exact operator+(Exact a, Exact b) {
    return make(a.over * b.under + b.over * a.under, a.under * b.under);
  }
  friend Exact operator-(Exact a, Exact b) {
    return make(a.over * b.under - b.over * a.under, a.under * b.under);
  }
  friend Exact operator*(Exact a, Exact b) { return make(a.over * b.over, a.under * b.under); }
  friend Exact operator/(Exact a, Exact b) { return make(a.over * b.under, a.under * b.over); }
  friend bool operator<(Exact a, Exact b) { return a.over * b.under < b.over * a.under; }
  double value() const { return static_cast<double>(over) / static_cast<double>(under); }
};

struct Case {
  std::vector<int> capacity;
  std::vector<std::vector<Share>> flows;
};

/// All flows grow together, step by step, until one of their links is full.
std::vector<Exact> reference(const Case& c) {
  std::vector<std::optional<Exact>> rate(c.flows.size());
  auto done = [&] {
    for (auto& r : rate)
      if (!r) return false;
    return true;
  };
  while (!done()) {
    std::optional<Exact> least;
    std::vector<Exact> share(c.capacity.size(), {-1, 1});
    for (LinkId l = 0; l < c.capacity.size(); ++l) {
      Exact left = Exact::make(c.capacity[l], 1), weight;
      for (std::size_t f = 0; f < c.flows.size(); ++f)
        for (const Share& s : c.flows[f])
          if (s.link == l) {
            Exact part = Exact::make(s.weight, kWhole);
            if (rate[f])
              left = left - *rate[f] * part;
            else
              weight = weight + part;
          }
      if (weight.over == 0) continue;
      share[l] = left / weight;
      if (!least || share[l] < *least) least = share[l];
    }
    std::vector<bool> stop(c.flows.size());
    for (std::size_t f = 0; f < c.flows.size(); ++f)
      for (const Share& s : c.flows[f])
        if (!rate[f] && share[s.link].over >= 0 && !(*least < share[s.link])) stop[f] = true;
    for (std::size_t f = 0; f < c.flows.size(); ++f)
      if (stop[f]) rate[f] = *least;
  }
  std::vector<Exact> out;
  for (auto& r : rate) out.push_back(*r);
  return out;
}

std::vector<Share> random_route(std::uint64_t seed, std::uint64_t who, std::uint32_t links) {
  std::vector<Share> route;
  std::uint32_t count = 1 + random_below(seed, who, 0, std::min(4u, links));
  bool several = random_below(seed, who, 1, 3) == 0;
  std::uint32_t first = random_below(seed, who, 2, links);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t weight = several ? kWhole / (1u << random_below(seed, who, 20 + i, 3)) : kWhole;
    route.push_back({(first + i * (1 + random_below(seed, who, 3, 2))) % links, weight});
    for (std::size_t j = 0; j + 1 < route.size(); ++j)
      if (route[j].link == route.back().link) {
        route.pop_back();
        break;
      }
  }
  return route;
}

Case random_case(std::uint64_t seed) {
  Case c;
  std::uint32_t links = 1 + random_below(seed, 1, 0, 7), flows = 1 + random_below(seed, 1, 1, 7);
  for (std::uint32_t l = 0; l < links; ++l)
    c.capacity.push_back(1 + static_cast<int>(random_below(seed, 2, l, 9)));
  for (std::uint32_t f = 0; f < flows; ++f) c.flows.push_back(random_route(seed, 100 + f, links));
  return c;
}

TEST(MaxMin, AllAtOnceEqualsTheExactReference) {
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    Case c = random_case(seed);
    FlowSet set;
    for (const auto& route : c.flows) set.add(route);
    std::vector<double> capacity(c.capacity.begin(), c.capacity.end());
    Allocation fair = max_min_fair(set, capacity);
    std::vector<Exact> expected = reference(c);
    for (std::size_t f = 0; f < c.flows.size(); ++f)
      ASSERT_NEAR(fair.rate[f], expected[f].value(), 1e-12 * expected[f].value())
          << "seed " << seed << " flow " << f;
  }
}

// Flows start and end at random; after each change the rates are those of the reference, filled from nothing.
TEST(MaxMin, ComingAndGoingEqualsTheExactReference) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Case c = random_case(seed);
    std::vector<double> capacity(c.capacity.begin(), c.capacity.end());
    auto links = static_cast<std::uint32_t>(capacity.size());
    Fluid fluid(capacity);
    std::vector<std::pair<Fluid::FlowId, std::vector<Share>>> under_way;
    std::vector<std::uint64_t> ended;
    std::int64_t now = 0;
    for (std::uint32_t step = 0; step < 40; ++step) {
      if (under_way.size() < 7 && random_below(seed, 50, step, 3) > 0) {
        auto route = random_route(seed, 1000 + step, links);
        under_way.push_back({fluid.start(route, 1 + random_below(seed, 51, step, 1000), step, {now}), route});
      } else if (!under_way.empty()) {
        now = fluid.next_end().value;
        ended.clear();
        fluid.end_due({now}, ended);
        ASSERT_FALSE(ended.empty()) << "seed " << seed;
        std::erase_if(under_way, [&](const auto& one) {
          return std::find(ended.begin(), ended.end(), fluid.name(one.first)) != ended.end();
        });
      }
      fluid.settle({now});
      fluid.check_conservation();
      ASSERT_EQ(fluid.active(), under_way.size()) << "seed " << seed << " step " << step;
      c.flows.clear();
      for (auto& [id, route] : under_way) c.flows.push_back(route);
      std::vector<Exact> expected = reference(c);
      for (std::size_t f = 0; f < under_way.size(); ++f)
        ASSERT_NEAR(fluid.rate(under_way[f].first), expected[f].value(), 1e-9 * expected[f].value())
            << "seed " << seed << " step " << step;
    }
  }
}

// Larger than the exact reference can do: against filling all at once, which it has proved.
TEST(MaxMin, ComingAndGoingEqualsAllAtOnceWithHundredsOfFlows) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    constexpr std::uint32_t kLinks = 200;
    std::vector<double> capacity(kLinks);
    for (std::uint32_t l = 0; l < kLinks; ++l) capacity[l] = 1 + random_below(seed, 2, l, 5);
    Fluid fluid(capacity);
    std::vector<std::pair<Fluid::FlowId, std::vector<Share>>> under_way;
    std::vector<std::uint64_t> ended;
    std::int64_t now = 0;
    for (std::uint32_t step = 0; step < 300; ++step) {
      while (under_way.size() < 150) {
        auto route = random_route(seed, 1000 + step * 200 + under_way.size(), kLinks);
        under_way.push_back({fluid.start(route, 500 + random_below(seed, 51, step, 5000),
                                         step * 1000 + under_way.size(), {now}),
                             route});
      }
      fluid.settle({now});
      FlowSet set;
      for (auto& [id, route] : under_way) set.add(route);
      Allocation fair = max_min_fair(set, capacity);
      for (std::size_t f = 0; f < under_way.size(); ++f)
        ASSERT_NEAR(fluid.rate(under_way[f].first), fair.rate[f], 1e-8 * fair.rate[f]) << "seed " << seed;
      now = fluid.next_end().value;
      ended.clear();
      fluid.end_due({now}, ended);
      std::erase_if(under_way, [&](const auto& one) {
        return std::find(ended.begin(), ended.end(), fluid.name(one.first)) != ended.end();
      });
    }
  }
}

TEST(MaxMin, TheTextbookParkingLot) {
  // One long flow over three links of 1, and a short one on each: all get a half.
  FlowSet set;
  set.add({{0, kWhole}, {1, kWhole}, {2, kWhole}});
  for (LinkId l = 0; l < 3; ++l) set.add({{l, kWhole}});
  Allocation fair = max_min_fair(set, {1, 1, 1});
  for (double rate : fair.rate) EXPECT_DOUBLE_EQ(rate, 0.5);
}

}  // namespace

}  // namespace weft::network::flow
