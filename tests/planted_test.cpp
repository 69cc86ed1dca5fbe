// Programs with a cause planted in them: the first sentence of a run's summary names it. Healthy ones accuse
// nobody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json.hpp"
#include "mpi_programs.hpp"
#include "run_program.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

struct Planted {
  const char* name;
  unsigned ranks;
  const char* kind;  // of the worst cause; none where the program is healthy
  int rank;          // that is named; -1: any
  const char* call;  // in which others wait; "" where none is named
};

void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.name; }

class PlantedCauses : public testing::TestWithParam<Planted> {};

/// On a ring, where far pairs share links.
nlohmann::json answer_of(const Planted& planted, std::string& said) {
  const ProgramResult r =
      run_program({"run", "torus", "--set", "topology.dims=[8]", "-n", std::to_string(planted.ranks),
                   "--json", "--", kPrograms + "planted", planted.name});
  EXPECT_EQ(r.code, 0) << r.err;
  said = r.err;
  return parse_json(r.out)["answer"];
}

TEST_P(PlantedCauses, AreNamed) {
  const Planted& planted = GetParam();
  std::string said;
  const nlohmann::json answer = answer_of(planted, said);
  const auto text = answer["text"].get<std::string>();
  EXPECT_THAT(said, HasSubstr(text)) << "the terminal says it too";
  const nlohmann::json& causes = answer["causes"];
  if (!planted.kind) {
    EXPECT_EQ(causes.size(), 0u) << text;
    EXPECT_THAT(text, HasSubstr("No rank holds up the others"));
    return;
  }
  ASSERT_GT(causes.size(), 0u) << text;
  EXPECT_EQ(causes[0]["kind"].get<std::string>(), planted.kind) << text;
  if (planted.rank >= 0) {
    EXPECT_EQ(causes[0]["rank"].get<int>(), planted.rank) << text;
    EXPECT_THAT(text, testing::ContainsRegex("[Rr]ank " + std::to_string(planted.rank) + "[ ,:]"));
  }
  EXPECT_EQ(causes[0].value("call", ""), planted.call) << text;
  EXPECT_THAT(text, HasSubstr(planted.call));
  EXPECT_GT(causes[0]["share"].get<double>(), 0.1) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Of, PlantedCauses,
    testing::Values(Planted{"late_at_allreduce", 8, "late rank", 5, "MPI_Allreduce"},
                    Planted{"late_at_barrier", 8, "late rank", 2, "MPI_Barrier"},
                    Planted{"late_root", 8, "late rank", 0, "MPI_Bcast"},
                    Planted{"late_in_ring", 8, "late rank", 3, "MPI_Sendrecv"},
                    Planted{"late_sender", 2, "late rank", 1, "MPI_Recv"},
                    Planted{"late_receiver", 2, "late rank", 0, "MPI_Send"},
                    Planted{"late_wait", 8, "late rank", 4, "MPI_Wait"},
                    Planted{"late_gather", 8, "late rank", 6, "MPI_Gather"},
                    Planted{"late_alltoall", 8, "late rank", 7, "MPI_Alltoall"},
                    Planted{"late_once", 8, "late rank", 4, "MPI_Allreduce"},
                    Planted{"late_in_half", 8, "late rank", 3, "MPI_Barrier"},
                    Planted{"serial_part", 8, "late rank", 0, "MPI_Barrier"},
                    Planted{"imbalance", 8, "late rank", 7, "MPI_Allreduce"},
                    Planted{"half_loaded", 8, "late rank", 7, "MPI_Barrier"},
                    Planted{"noise", 8, "noise", -1, "MPI_Allreduce"},
                    Planted{"noise_at_barrier", 8, "noise", -1, "MPI_Barrier"},
                    Planted{"noise_in_ring", 8, "noise", -1, "MPI_Sendrecv"},
                    Planted{"chain", 8, "chain", 0, "MPI_Recv"}, Planted{"token", 8, "chain", 0, "MPI_Recv"},
                    Planted{"master_sends", 8, "serialised", 0, "MPI_Send"},
                    Planted{"master_waits", 8, "serialised", 0, "MPI_Ssend"},
                    Planted{"hot_node", 8, "serialised", 0, "MPI_Recv"},
                    Planted{"hot_link", 8, "contention", -1, "MPI_Waitall"},
                    Planted{"two", 8, "chain", -1, "MPI_Recv"}, Planted{"even", 8, nullptr, -1, ""},
                    Planted{"even_barrier", 8, nullptr, -1, ""}, Planted{"even_ring", 8, nullptr, -1, ""},
                    Planted{"even_long_ring", 8, nullptr, -1, ""}, Planted{"even_bcast", 8, nullptr, -1, ""},
                    Planted{"nearly_even", 8, nullptr, -1, ""}, Planted{"overlap", 8, nullptr, -1, ""},
                    Planted{"only_talk", 8, nullptr, -1, ""}, Planted{"pairs", 8, nullptr, -1, ""},
                    Planted{"only_sums", 8, nullptr, -1, ""}, Planted{"alone", 8, nullptr, -1, ""},
                    Planted{"even_alltoall", 8, nullptr, -1, ""}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(PlantedCause, TwoAtOnceAreBothTold) {
  std::string said;
  const nlohmann::json causes = answer_of({"two", 8, "", 0, ""}, said)["causes"];
  ASSERT_GE(causes.size(), 2u);
  EXPECT_EQ(causes[1]["kind"].get<std::string>(), "late rank");
  EXPECT_EQ(causes[1]["rank"].get<int>(), 5);
}

/// What is said to be the cause is what its absence gains.
TEST(PlantedCause, WhatIfTriesWhatWouldHelp) {
  auto change = [](const char* name, const std::string& what) {
    const ProgramResult r = run_program({"run", "torus", "--set", "topology.dims=[8]", "-n", "8", "--json",
                                         "--what-if", "--", kPrograms + "planted", name});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr("what if " + what));
    const nlohmann::json result = parse_json(r.out);
    for (const nlohmann::json& one : result["what_if"]["alternatives"])
      if (one["what"] == what) return one["change"].get<double>();
    ADD_FAILURE() << what << " was not tried";
    return 0.0;
  };
  // 300 us in each step for one rank and 20 us for seven others is 55 us for each.
  EXPECT_NEAR(change("late_at_allreduce", "all ranks compute alike"), 55.0 / 300 - 1, 0.03);
  EXPECT_NEAR(change("even", "all ranks compute alike"), 0, 0.02);
  EXPECT_LT(change("hot_link", "no message is in another's way"), -0.2);
}

TEST(PlantedCause, ACrowdedLinkIsNamed) {
  std::string said;
  const nlohmann::json causes = answer_of({"hot_link", 8, "", 0, ""}, said)["causes"];
  ASSERT_GE(causes.size(), 1u);
  EXPECT_THAT(causes[0].value("link", ""), testing::ContainsRegex("r[0-9]+")) << said;
}

}  // namespace
}  // namespace weft::test
