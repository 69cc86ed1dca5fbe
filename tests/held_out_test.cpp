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
                "Rank 0 computes"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weft::test
