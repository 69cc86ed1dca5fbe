// Nodes that boot over the network: many at once, and from an image of the user's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "boot_fixture.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

class BootStorm : public Boot {
 protected:
  /// result.json of nodes that boot over the network of a torus, and do nothing then.
  nlohmann::json netboot(const std::string& nodes, std::vector<std::string> more, std::string& err) {
    std::vector<std::string> options{
        "torus", "--set", "topology.dims=[3,3]", "-n", nodes, "--netboot", "--engine",
        "ideal", "--out", folder.file("out")};
    options.insert(options.end(), more.begin(), more.end());
    ProgramResult r = boot("exit 0", options);
    EXPECT_EQ(r.code, 0) << r.err << r.out;
    err = r.err;
    return nlohmann::json::parse(read_file(folder.file("out/result.json")), nullptr, false);
  }
};

TEST_F(BootStorm, SkeletonsTakeAboutAsLongAsNodes) {
  std::string err;
  const auto real = netboot("5", {}, err);
  std::int64_t last = 0;
  for (const auto& node : real["nodes"]) last = std::max(last, node["booted_ps"].get<std::int64_t>());
  ASSERT_GT(last, 0);
  const auto storm = netboot("3", {"--storm", "4"}, err);
  EXPECT_THAT(err, HasSubstr("4 nodes had what they boot with after"));
  ASSERT_TRUE(storm.contains("storm")) << storm;
  EXPECT_EQ(storm["storm"]["nodes"], 4);
  EXPECT_EQ(storm["storm"]["skeletons"], 2);
  const double ours = storm["storm"]["last_ps"].get<double>();
  EXPECT_NEAR(ours / static_cast<double>(last), 1, 0.1);
  EXPECT_THAT(read_file(folder.file("out/report.html")), HasSubstr("The storm"));
  // More of them wait for the one that serves, and two runs are the same.
  const auto larger = netboot("3", {"--storm", "8"}, err), again = netboot("3", {"--storm", "8"}, err);
  EXPECT_GT(larger["storm"]["last_ps"].get<double>(), ours);
  EXPECT_EQ(larger, again);
}

TEST_F(BootStorm, ARootOfTheUsersIsServed) {
  // busybox, a file that only this root has, and the job under its own name.
  const std::string root = folder.file("root"), image = folder.file("root.cpio");
  const std::string make =
      "set -e; mkdir -p " + root + "/bin " + root + "/dev " + root + "/proc " + root + "/sys " + root +
      "/run " + root + "/etc " + root + "/tmp " + root + folder.file("") + "; cp $(command -v busybox) " +
      root + "/bin/busybox; ln -s busybox " + root + "/bin/sh; ln -s busybox " + root +
      "/bin/cat; echo of the image >" + root + "/etc/mine; cp " +
      script("cat /etc/mine; [ -e /bin/ls ] || echo and nothing else") + " " + root + folder.file("job.sh") +
      "; cd " + root + "; find . | busybox cpio -o -H newc >" + image + " 2>/dev/null";
  ASSERT_EQ(std::system(make.c_str()), 0) << make;
  ProgramResult r = run_program({"boot", "torus", "--set", "topology.dims=[2,2]", "-n", "2", "--netboot",
                                 "--image", image, "--engine", "ideal", "--", folder.file("job.sh")});
  EXPECT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("node1: of the image\nnode1: and nothing else\n"));
}

TEST(BootStormErrors, AreToldAllAtOnce) {
  ProgramResult r = run_program({"boot", "torus", "--set", "topology.dims=[2,2]", "-n", "3", "--storm", "2",
                                 "--ranks", "1", "--program", "true", "--", "true"});
  EXPECT_EQ(r.code, 2);
  for (const char* word :
       {"--storm: needs --netboot", "2 boot as Linux nodes already", "--storm: leaves no node for --ranks"})
    EXPECT_THAT(r.err, HasSubstr(word));
  r = run_program({"boot", "torus", "--set", "topology.dims=[2,2]", "-n", "3", "--netboot", "--storm", "4",
                   "--", "true"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("4 nodes and the one that serves; "));
}

}  // namespace
}  // namespace weft::test
