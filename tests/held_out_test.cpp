// Programs with planted causes that were written after the finder of causes, to see what it says of programs
// it was not made for. Each names what must be said first; two at once name both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json.hpp"
#include "mpi_programs.hpp"
#include "run_program.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

struct HeldOut {
  const char* name;
  Words options;  // what the machine is short of
  const char* kind;
  int rank;  // that is named; -1: any
  const char* says;
  const char* second = nullptr;  // the kind of the other cause
};

void PrintTo(const HeldOut& one, std::ostream* out) { *out << one.name; }

class HeldOutCauses : public testing::TestWithParam<HeldOut> {};

TEST_P(HeldOutCauses, AreNamed) {
  const HeldOut& one = GetParam();
  Words words{"run", "torus", "--set", "topology.dims=[8]", "-n", "8", "--json"};
  words.insert(words.end(), one.options.begin(), one.options.end());
  words.insert(words.end(), {"--", kPrograms + "held_out", one.name});
  const ProgramResult r = run_program(words);
  ASSERT_EQ(r.code, 0) << r.err;
  const nlohmann::json answer = parse_json(r.out)["answer"];
  const auto text = answer["text"].get<std::string>();
  const nlohmann::json& causes = answer["causes"];
  ASSERT_GT(causes.size(), one.second ? 1u : 0u) << text;
  EXPECT_EQ(causes[0]["kind"].get<std::string>(), one.kind) << text;
  if (one.rank >= 0) EXPECT_EQ(causes[0]["rank"].get<int>(), one.rank) << text;
  EXPECT_THAT(text, HasSubstr(one.says));
  if (one.second) EXPECT_EQ(causes[1]["kind"].get<std::string>(), one.second) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Of, HeldOutCauses,
    testing::Values(
        HeldOut{"late_at_reduce", {}, "late rank", 6, "in MPI_Reduce"},
        HeldOut{"late_root_scatters", {}, "late rank", 0, "in MPI_Scatter"},
        HeldOut{"late_every_other_step", {}, "late rank", 1, "in each of 5 steps"},
        HeldOut{"chain_backwards", {}, "chain", 7, "from rank 7 to rank 0"},
        HeldOut{"rendezvous", sets({"mpi.eager_limit=1KiB"}), "chain", -1, "longer than mpi.eager_limit"},
        HeldOut{"far_neighbours", {"--place", "0,4,1,5,2,6,3,7"}, "contention", -1, "on the link r"},
        HeldOut{"many_small", sets({"nic.occupancy=1us", "nic.queue_slots=2"}), "full queues", -1,
                "nic.queue_slots"},
        HeldOut{"many_pages",
                sets({"nic.translation_entries=4", "nic.translation_ways=1", "nic.translation_miss=5us"}),
                "translation misses", -1, "nic.translation_entries"},
        HeldOut{"noise_at_reduce", {}, "noise", -1, "in MPI_Allreduce"},
        HeldOut{"late_and_serial", {}, "late rank", 3, "Rank 3 computes", "serialised"},
        HeldOut{"late_and_crowded", {}, "late rank", 2, "Rank 2 computes", "contention"},
        HeldOut{"unexpected", sets({"mpi.credits=1", "mpi.credits_most=1"}), "late rank", 0,
                "wait for credit (mpi.credits is 1)", "credits"}),
    [](const auto& info) { return std::string(info.param.name); });

/// A third set, written later again, on other machines and with other numbers of ranks.
struct Fresh {
  const char* name;
  unsigned ranks;
  Words machine;
  const char* kind;  // none where the program is healthy
  int rank;          // -1: any
  const char* says;
  const char* second = nullptr;
};

void PrintTo(const Fresh& one, std::ostream* out) { *out << one.name; }

class FreshCauses : public testing::TestWithParam<Fresh> {};

TEST_P(FreshCauses, AreNamed) {
  const Fresh& one = GetParam();
  Words words{"run"};
  words.insert(words.end(), one.machine.begin(), one.machine.end());
  words.insert(words.end(),
               {"-n", std::to_string(one.ranks), "--json", "--", kPrograms + "fresh_causes", one.name});
  const ProgramResult r = run_program(words);
  ASSERT_EQ(r.code, 0) << r.err;
  const nlohmann::json answer = parse_json(r.out)["answer"];
  const auto text = answer["text"].get<std::string>();
  const nlohmann::json& causes = answer["causes"];
  EXPECT_THAT(text, HasSubstr(one.says));
  if (!one.kind) {
    EXPECT_EQ(causes.size(), 0u) << text;
    return;
  }
  ASSERT_GT(causes.size(), one.second ? 1u : 0u) << text;
  EXPECT_EQ(causes[0]["kind"].get<std::string>(), one.kind) << text;
  if (one.rank >= 0) EXPECT_EQ(causes[0]["rank"].get<int>(), one.rank) << text;
  if (one.second) EXPECT_EQ(causes[1]["kind"].get<std::string>(), one.second) << text;
}

constexpr const char* kNobody = "No rank holds up the others";
Words square() { return {"torus", "--set", "topology.dims=[4,4]"}; }
Words ring(const char* dims) { return {"torus", "--set", dims}; }
Words ring_with_places() {
  return {"torus", "--set", "topology.dims=[16]", "--place", "0,5,10,15,3,6,9,12,1,7,8,14,2,4,11,13"};
}

INSTANTIATE_TEST_SUITE_P(
    Of, FreshCauses,
    testing::Values(
        Fresh{"late_at_scan", 12, {"tianhe2"}, "late rank", 7, "in MPI_Scan"},
        Fresh{"later_each_step", 6, {"dragonfly"}, "late rank", 2, "in MPI_Allgather"},
        Fresh{"two_late", 16, square(), "late rank", 3, "Rank 11 computes", "late rank"},
        Fresh{"slow_stage", 6, {"extoll-tourmalet"}, "late rank", 3, "in MPI_Recv"},
        Fresh{"slow_halo",
              16,
              {"extoll-tourmalet", "--slow", "rank=9:2.5"},
              "slow rank",
              9,
              "for the same calls of MPI"},
        Fresh{"sweep", 9, {"mesh"}, "chain", 0, "from rank 0 to rank 8"},
        Fresh{"towards_one", 12, {"fat-tree"}, "serialised", 2, "on the link r0.p2 -> e2", "contention"},
        Fresh{"between_groups",
              16,
              {"dragonfly", "--set", "routing.mode=minimal", "--place", "0-7,32-39"},
              "contention",
              -1,
              "on the link r0.p7 -> r15"},
        Fresh{"scattered_halo", 16, ring_with_places(), "contention", -1, "on the link r"},
        Fresh{"noisy", 12, {"tianhe2", "--noise", "80us@1ms"}, "noise", -1, "in MPI_Allreduce"},
        Fresh{"late_and_gathered", 8, {"fat-tree"}, "late rank", 5, "Rank 0 talks to 7 ranks", "serialised"},
        Fresh{"chain_and_crowd", 8, ring("topology.dims=[8]"), "chain", 0, "on the link r", "contention"},
        Fresh{"even_halo", 16, square(), nullptr, -1, kNobody},
        Fresh{"jittery", 16, {"extoll-tourmalet"}, nullptr, -1, kNobody},
        Fresh{"even_reduce", 12, {"tianhe2"}, nullptr, -1, kNobody},
        Fresh{"full_pipeline", 6, {"dragonfly"}, nullptr, -1, kNobody},
        Fresh{"early_sends", 9, {"mesh"}, nullptr, -1, kNobody}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weft::test
