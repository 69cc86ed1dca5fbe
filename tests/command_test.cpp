// The command as a user meets it: what it prints, and with which code it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/text.hpp"
#include "base/version.hpp"
#include "json.hpp"
#include "machine/profiles.hpp"
#include "run_program.hpp"

namespace weft::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

ProgramResult expect_success(const std::vector<std::string>& arguments) {
  ProgramResult result = run_program(arguments);
  EXPECT_EQ(result.code, 0) << join(arguments, " ") << "\n" << result.err;
  EXPECT_EQ(result.err, "");
  return result;
}

/// The message of a command that the user got wrong.
std::string expect_mistake(const std::vector<std::string>& arguments) {
  ProgramResult result = run_program(arguments);
  EXPECT_EQ(result.code, 2) << join(arguments, " ");
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, StartsWith("error: "));
  return result.err;
}

TEST(Command, HelpListsVerbsSectionsAndKinds) {
  std::string out = expect_success({"help"}).out;
  for (const char* word :
       {"check", "list", "help", "test", "topology", "torus", "routing", "cable", "router"})
    EXPECT_THAT(out, HasSubstr(word));
  EXPECT_EQ(expect_success({}).out, out) << "no verb at all asks for help";
  EXPECT_EQ(expect_success({"--help"}).out, out);
}

TEST(Command, HelpOnAKindGivesEveryParameterWithRangeAndDefault) {
  std::string out = expect_success({"help", "topology", "torus"}).out;
  EXPECT_THAT(out, StartsWith("[topology] kind = \"torus\": "));
  EXPECT_THAT(out, ContainsRegex("dims +Routers in each dimension"));
  EXPECT_THAT(out, HasSubstr("must be given"));
  EXPECT_THAT(out, HasSubstr("a whole number, 1 to 256; default 1"));
}

TEST(Command, HelpOnASectionListsItsKinds) {
  std::string out = expect_success({"help", "routing"}).out;
  EXPECT_THAT(out, AllOf(HasSubstr("dimension-order"), HasSubstr("up-down"), HasSubstr("minimal-adaptive")));
  EXPECT_THAT(expect_success({"help", "router", "input-queued"}).out, HasSubstr("Virtual channels"));
}

TEST(Command, HelpOnAVerbIsItsOwnHelp) {
  std::string out = expect_success({"help", "check"}).out;
  EXPECT_THAT(out, HasSubstr("--set"));
  EXPECT_EQ(expect_success({"check", "--help"}).out, out);
}

TEST(Command, UnknownWordsGetAHint) {
  EXPECT_THAT(expect_mistake({"chekc"}), HasSubstr("there is no `weft chekc` (did you mean 'check'?)"));
  EXPECT_THAT(expect_mistake({"help", "toplogy"}), HasSubstr("did you mean 'topology'?"));
  EXPECT_THAT(expect_mistake({"help", "topology", "tours"}), HasSubstr("did you mean 'torus'?"));
  EXPECT_THAT(expect_mistake({"check", "tours"}),
              HasSubstr("there is no machine 'tours' (did you mean 'torus'?)"));
  EXPECT_THAT(expect_mistake({"check", "torus", "--smaple", "3"}), HasSubstr("see `weft help check`"));
  EXPECT_THAT(expect_mistake({"check"}), HasSubstr("machine is required"));
}

TEST(Command, ListNamesEveryProfile) {
  std::string out = expect_success({"list"}).out;
  auto json = parse_json(expect_success({"list", "--json"}).out);
  EXPECT_EQ(json.size(), machine::profile_names().size());
  for (const auto& profile : json) EXPECT_THAT(out, HasSubstr(profile["name"].get<std::string>() + " "));
}

TEST(Command, CheckProvesATorus) {
  ProgramResult result = expect_success({"check", "torus", "--set", "topology.dims=[8,8,8]"});
  EXPECT_THAT(result.out, HasSubstr("connected  yes: 261,632 pairs"));
  EXPECT_THAT(result.out, HasSubstr("the longest crosses 12 cables"));
  EXPECT_THAT(result.out, HasSubstr("proof      exact: "));
  EXPECT_EQ(last_line(result.out), "torus is connected and deadlock-free");
}

TEST(Command, CheckPrintsTheCircleOfATorusWithOneChannel) {
  ProgramResult result =
      run_program({"check", "torus", "--set", "topology.dims=[4,4]", "--set", "router.channels=1"});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("TOO FEW: the routing asks for 2, the router has 1"));
  EXPECT_THAT(result.out, HasSubstr("POSSIBLE: 4 channels wait for each other in a cycle"));
  for (const char* hop :
       {"\n    1. r", "\n    2. r", "\n    3. r", "\n    4. r", "\n       the first again\n"})
    EXPECT_THAT(result.out, HasSubstr(hop));
  EXPECT_THAT(result.out, Not(HasSubstr("\n    5. ")));
  EXPECT_EQ(last_line(result.out), "torus FAILS the check: it can deadlock");
}

TEST(Command, CheckAnswersInJson) {
  ProgramResult result =
      run_program({"check", "torus", "--json", "--set", "topology.dims=[4,4]", "--set", "router.channels=1"});
  EXPECT_EQ(result.code, 1);
  auto json = parse_json(result.out);
  EXPECT_EQ(json["deadlock_free"], false);
  EXPECT_EQ(json["connected"], true);
  ASSERT_EQ(json["cycle"].size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    auto router = [](std::string port) { return port.substr(0, port.find('.')); };
    EXPECT_EQ(router(json["cycle"][i]["to"]), router(json["cycle"][(i + 1) % 4]["from"]));
  }
}

TEST(Command, ASampleIsNoProof) {
  ProgramResult result = expect_success({"check", "torus", "--sample", "3"});
  EXPECT_THAT(result.out, HasSubstr("NO PROOF: 3 of 512 targets sampled"));
  EXPECT_THAT(last_line(result.out), EndsWith("nothing proved"));
}

TEST(Command, SettingsThatAreNoneAreRefused) {
  auto with = [](const std::string& setting) { return expect_mistake({"check", "torus", "--set", setting}); };
  for (const char* shapeless : {"topology.dims", "dims=[4]", "=4", "topology dims=[4]", ""})
    EXPECT_THAT(with(shapeless), HasSubstr("expected section.key=value")) << shapeless;
  EXPECT_THAT(with("topology.dims=[4,"), HasSubstr("is not valid TOML"));
  EXPECT_THAT(with("topology.dims=4"), HasSubstr("expected a list"));
  EXPECT_THAT(with("topology.dims=[0]"), HasSubstr("0 is outside 1 to "));
  EXPECT_THAT(with("toplogy.dims=[4]"), HasSubstr("unknown section (did you mean 'topology'?)"));
  EXPECT_THAT(with("router.latency=60"), HasSubstr("expected a time with its unit"));
  EXPECT_THAT(with("machine.name.first=x"), HasSubstr("machine.name"));
}

TEST(Command, MistakesInSettingsAreReportedTogether) {
  std::string err =
      expect_mistake({"check", "torus", "--set", "router.chanels=2", "--set", "cable.default.lane_rate=14m"});
  EXPECT_THAT(err,
              AllOf(HasSubstr("router.chanels: unknown key (did you mean 'channels'?)"),
                    HasSubstr("cable.default.lane_rate: 'm' is not a unit"), EndsWith("2 errors found\n")));
}

class Written : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.file(name)) << text;
    return folder_.file(name);
  }
  ScratchFolder folder_;
};

TEST_F(Written, ADescriptionIsFoundByItsPath) {
  std::string path = write("ring.toml",
                           "[machine]\nname = \"my ring\"\n[topology]\nkind = \"torus\"\ndims = [6]\n"
                           "[routing]\nkind = \"dimension-order\"\n");
  EXPECT_EQ(last_line(expect_success({"check", path}).out), "my ring is connected and deadlock-free");
  EXPECT_THAT(expect_mistake({"check", folder_.file("absent.toml")}), HasSubstr("there is no such file"));
}

TEST_F(Written, ABaseMayBeAProfileAndItsKindMayChange) {
  // dims and the profile's sources mean nothing to a jellyfish; they go with the kind.
  std::string path = write("mine.toml",
                           "base = \"torus\"\n[machine]\nname = \"mine\"\n[topology]\nkind = \"jellyfish\"\n"
                           "routers = 20\ndegree = 3\n[routing]\nkind = \"up-down\"\n");
  ProgramResult result = expect_success({"check", path});
  EXPECT_THAT(result.out, StartsWith("mine: "));
  EXPECT_THAT(result.out, HasSubstr("on 20 routers, routing up-down"));
}

TEST_F(Written, KeysOfAnotherKindAreMistakesWithinOneFile) {
  std::string path =
      write("mixed.toml", "[topology]\nkind = \"hypercube\"\ndims = [4]\n[routing]\nkind = \"up-down\"\n");
  EXPECT_THAT(expect_mistake({"check", path}), HasSubstr("mixed.toml:3:1: topology.dims: unknown key"));
}

TEST(Command, DeadPartsAreRoutedAround) {
  const std::vector<std::string> broken{
      "check", "torus", "--set", "topology.dims=[4,4]", "--set", "faults.dead_cables=[\"r0.p0\"]"};
  ProgramResult result = run_program(broken);
  EXPECT_EQ(result.code, 1) << "dimension order has one way and it is dead";
  EXPECT_THAT(result.out, HasSubstr("connected  NO: "));
  std::vector<std::string> avoiding = broken;
  avoiding.insert(avoiding.end(), {"--set", "routing.kind=fault-avoiding", "--set", "router.channels=3"});
  result = expect_success(avoiding);
  EXPECT_THAT(result.out, HasSubstr("faults     1 cable and 0 routers dead"));
  EXPECT_EQ(last_line(result.out), "torus is connected and deadlock-free");
}

TEST(Command, SaysItsVersionAndWhatItWasBuiltWith) {
  const std::string text = expect_success({"--version"}).out;
  EXPECT_EQ(text.find("weft " + std::string(version()) + "\n"), 0u) << text;
  EXPECT_THAT(text, testing::HasSubstr("GNU " + std::to_string(__GNUC__)));
  EXPECT_THAT(text, testing::HasSubstr("libfabric "));
}

class ProfileCheck : public ::testing::TestWithParam<std::string> {};

TEST_P(ProfileCheck, Holds) {
  ProgramResult result = expect_success({"check", GetParam()});
  EXPECT_EQ(last_line(result.out), GetParam() + " is connected and deadlock-free");
}

INSTANTIATE_TEST_SUITE_P(Profiles, ProfileCheck, ::testing::ValuesIn(machine::profile_names()),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace weft::test
