// Components from one file each outside src/ (tests/outside), linked with the rest into a `weft` of their
// own: everything a user sees of a component follows from its registration.
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/json.hpp"
#include "run_program.hpp"

namespace weft {
namespace {

using Arguments = std::vector<std::string>;

test::ProgramResult outside(const Arguments& arguments) {
  return test::run_program(arguments, 300, [&] {
    const char* program = WEFT_BUILD "/weft_outside";
    std::vector<char*> words{const_cast<char*>(program)};
    for (const std::string& a : arguments) words.push_back(const_cast<char*>(a.c_str()));
    words.push_back(nullptr);
    execv(program, words.data());
    _exit(127);
  });
}

TEST(Outside, ARouterKindIsOneFile) {
  test::ProgramResult help = outside({"help", "router", "crosspoint-queued"});
  EXPECT_EQ(help.code, 0) << help.err;
  EXPECT_NE(help.out.find("crosspoint_flits"), std::string::npos) << help.out;
  EXPECT_NE(help.out.find("buffer_flits"), std::string::npos) << "what every router has";
}

TEST(Outside, ARouterKindRuns) {
  auto accepted = [&](const std::string& kind) {
    test::ProgramResult run =
        outside({"traffic", "torus", "--json", "--load", "1", "--packet", "1", "--set", "topology.dims=[1]",
                 "--set", "topology.endpoints_per_router=12", "--set", "routing.kind=up-down", "--set",
                 "router.channels=1", "--set", "router.buffer_flits=16", "--set", "router.kind=" + kind});
    EXPECT_EQ(run.code, 0) << run.err;
    const Json out = *Json::parse(run.out);
    return out["points"][std::size_t{0}]["accepted"].get<double>();
  };
  EXPECT_GT(accepted("crosspoint-queued"), 0.95) << "a head blocks only its own output";
  EXPECT_LT(accepted("input-queued"), 0.7);
}

TEST(Outside, ErrorsInARouterKindAreToldAllAtOnce) {
  test::ProgramResult keys = outside({"show", "torus", "--set", "router.kind=crosspoint-queued", "--set",
                                      "router.crosspoint_flit=3", "--set", "router.chanels=2"});
  EXPECT_EQ(keys.code, 2);
  EXPECT_NE(keys.err.find("did you mean 'crosspoint_flits'"), std::string::npos) << keys.err;
  EXPECT_NE(keys.err.find("did you mean 'channels'"), std::string::npos) << keys.err;
  test::ProgramResult values =
      outside({"traffic", "torus", "--load", "0.1", "--packet", "8", "--set", "router.kind=crosspoint-queued",
               "--set", "router.crosspoint_flits=3", "--set", "router.latency=0ns", "--set",
               "routing.kind=minimal-adaptive"});
  EXPECT_EQ(values.code, 2);
  for (const char* key : {"router.crosspoint_flits", "router.latency", "router.kind"})
    EXPECT_NE(values.err.find(std::string(key) + ": "), std::string::npos) << key << "\n" << values.err;
}

TEST(Outside, BothAreShownToContributors) {
  const std::string page = test::read_file(WEFT_ROOT "/CONTRIBUTING.md");
  for (const char* file : {"crosspoint_router.cpp", "postal_engine.cpp"}) {
    const std::string text = test::read_file(WEFT_ROOT "/tests/outside/" + std::string(file));
    EXPECT_GT(text.size(), 100u);
    EXPECT_NE(page.find("```cpp\n" + text + "```"), std::string::npos) << file;
  }
}

TEST(Outside, AnEngineIsOneFile) {
  test::ProgramResult run = outside({"replay", "torus", "all-to-all", "--ranks", "4", "--engine", "postal",
                                     "--json", "--workload-set", "algorithm=at-once"});
  EXPECT_EQ(run.code, 0) << run.err;
  // Three messages of 100 ns each leave one after the other, and the last is 1 us under way.
  EXPECT_EQ((*Json::parse(run.out))["completion_ps"].get<std::int64_t>(), 3 * 100'000 + 1'000'000);
  EXPECT_NE(outside({"help", "replay"}).out.find("postal"), std::string::npos);
}

}  // namespace
}  // namespace weft
