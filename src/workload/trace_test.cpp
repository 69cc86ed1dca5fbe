// Traces: GOAL schedules read strictly, Weft's own written and read back, and damaged files that never get
// through.
#include "workload/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "workload/goal.hpp"
#include "workload/skeleton.hpp"

namespace weft::workload {

namespace {

using testing::HasSubstr;
using Kind = Operation::Kind;

constexpr const char* kGoal = R"(num_ranks 2
/* a ping
   and its answer */
rank 0 {
l1: calc 100 cpu 0
l2: send 64b to 1 tag 7 cpu 0 nic 0
l3: recv 10b from 1 // tag 0
l2 requires l1
l3 irequires l2
}
rank 1 {
r1: recv 64b from 0 tag 7
r2: send 10b to 0
r2 requires r1
}
)";

std::string mistakes(const std::string& text) {
  try {
    parse_goal(text, "test.goal");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Goal, ReadsStepsAndDependencies) {
  Program p = parse_goal(kGoal, "test.goal");
  check(p);
  ASSERT_EQ(p.ranks(), 2u);
  ASSERT_EQ(p.operations.size(), 5u);
  EXPECT_EQ(p.operations[0].amount, 100'000u);
  EXPECT_EQ(p.operations[1].kind, Kind::Send);
  EXPECT_EQ(p.operations[1].tag, 7u);
  EXPECT_EQ(p.operations[2].peer, 1u);
  EXPECT_EQ(p.dependencies, (std::vector<Dependency>{{0, false}, {1, true}, {0, false}}));
  EXPECT_EQ(p.lines[1], 6u);
}

TEST(Goal, MistakesComeWithTheirLine) {
  EXPECT_THAT(mistakes("rank 0 {}"), HasSubstr("expected num_ranks"));
  EXPECT_THAT(mistakes("num_ranks 1\nrank 0 {\nl1: send 5b to 4\n}"),
              HasSubstr("test.goal:3:1: expected a rank, 0 to 0"));
  EXPECT_THAT(mistakes("num_ranks 1\nrank 0 {\nl1: calc 5 cpu 1\n}"), HasSubstr("not supported"));
  EXPECT_THAT(mistakes("num_ranks 1\nrank 0 {\nl1: fly 5\n}"), HasSubstr("expected calc, send, recv"));
  EXPECT_THAT(mistakes("num_ranks 1\nrank 0 {\nl1: calc 5\nl1 requires l2\n}"),
              HasSubstr("this rank has no step l2"));
  EXPECT_THAT(mistakes("num_ranks 1\nrank 0 {\nl1: calc 5\n"), HasSubstr("rank 0 is not closed"));
  EXPECT_THAT(mistakes("num_ranks 2\nrank 0 {\nl1: calc 5\n}"), HasSubstr("rank 1 is not described"));
  EXPECT_THAT(mistakes("num_ranks 1\nrank 0 {\nl1: calc 5\nl1: calc 6\n}"), HasSubstr("l1 is used twice"));
  EXPECT_THAT(mistakes("num_ranks 1 /* no end"), HasSubstr("a comment does not end"));
  EXPECT_THAT(mistakes("num_ranks 99999999999"), HasSubstr("expected a number of ranks"));
}

// Text cut or changed anywhere is read or refused; it never crashes and never hangs.
TEST(Goal, DamagedTextIsReadOrRefused) {
  std::string good = kGoal;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::string text =
        good.substr(0, seed % 3 == 0 ? random_below(1, seed, 0, static_cast<std::uint32_t>(good.size()))
                                     : static_cast<std::uint32_t>(good.size()));
    for (std::uint32_t k = 0; !text.empty() && k < 1 + seed % 4; ++k) {
      std::uint32_t at = random_below(2, seed, k, static_cast<std::uint32_t>(text.size()));
      const char pool[] = "{}:019b lr\n/*\xff";
      text[at] = pool[random_below(3, seed, k, sizeof pool - 1)];
    }
    mistakes(text);
  }
}

bool same(const Program& a, const Program& b) {
  if (a.begin != b.begin || a.dependency_begin != b.dependency_begin || a.dependencies != b.dependencies)
    return false;
  for (std::size_t i = 0; i < a.operations.size(); ++i) {
    const Operation &x = a.operations[i], &y = b.operations[i];
    if (x.kind != y.kind || x.by_interface != y.by_interface || x.peer != y.peer || x.tag != y.tag ||
        x.amount != y.amount)
      return false;
  }
  return a.operations.size() == b.operations.size();
}

TEST(Trace, WhatIsWrittenIsReadBack) {
  for (const auto& [name, kind] : Skeletons::all()) {
    Program p = make_skeleton(name, {}, {16, 1});
    std::string bytes = write_trace(p);
    EXPECT_TRUE(same(p, parse_trace(bytes, "test"))) << name;
    EXPECT_LT(bytes.size(), p.operations.size() * 16 + 100) << name;
  }
  EXPECT_TRUE(same(parse_goal(kGoal, "g"), parse_trace(write_trace(parse_goal(kGoal, "g")), "t")));
}

/// Puts the right checksum behind damaged bytes, so that the reader looks at them.
std::string sealed(std::string body) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char c : body) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  for (int i = 0; i < 8; ++i) body.push_back(static_cast<char>(hash >> (8 * i)));
  return body;
}

TEST(Trace, DamagedTracesAreRefusedOrSound) {
  std::string good = write_trace(make_skeleton("lammps", {"steps=1"}, {8, 1}));
  std::string body = good.substr(0, good.size() - 8);
  ASSERT_EQ(sealed(body), good);
  EXPECT_THROW(parse_trace(good.substr(0, good.size() / 2), "t"), UserError);
  EXPECT_THROW(parse_trace("", "t"), UserError);
  EXPECT_THROW(parse_trace("WEFTRACE", "t"), UserError);
  int refused = 0, checked = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    std::string text = body;
    if (seed % 4 == 0)
      text.resize(10 + random_below(1, seed, 0, static_cast<std::uint32_t>(text.size() - 10)));
    for (std::uint32_t k = 0; k < 1 + seed % 3; ++k)
      text[8 + random_below(2, seed, k, static_cast<std::uint32_t>(text.size() - 8))] =
          static_cast<char>(random_bits(3, seed, k));
    try {
      Program p = parse_trace(sealed(text), "t");
      ++checked;
      check(p);  // whatever it holds must be described or refused
    } catch (const UserError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10'000);
  EXPECT_GT(checked, 100);
}

}  // namespace

}  // namespace weft::workload
