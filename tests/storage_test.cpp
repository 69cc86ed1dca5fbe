// The machine's file system under unmodified programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kCalls = WEFT_BUILD "/test-programs/storage_calls";
const std::string kSmall[] = {"topology.dims=[4,4]", "storage.targets=3"};

/// On a torus of 16 nodes with three targets.
std::vector<std::string> on_torus(const std::vector<std::string>& options,
                                  const std::vector<std::string>& command) {
  std::vector<std::string> all{"run", "torus", "--set", kSmall[0], "--set", kSmall[1], "--quiet"};
  all.insert(all.end(), options.begin(), options.end());
  all.push_back("--");
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

ProgramResult shell(const std::string& script, const std::vector<std::string>& options = {}) {
  return run_program(on_torus(options, {"sh", "-ec", script}), 120);
}

TEST(Storage, CallsDoWhatAnyFileSystemDoes) {
  const ProgramResult r = run_program(on_torus({}, {kCalls}), 120);
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_THAT(r.out, HasSubstr(" 0 failed"));
  EXPECT_FALSE(fs::exists("/weft"));
}

TEST(Storage, FilesOutliveARunThatIsAskedToKeepThem) {
  ScratchFolder scratch;
  const std::string keep = scratch.file("kept");
  ASSERT_EQ(shell("mkdir /weft/a; echo first > /weft/a/file; cd /weft/a; ln -s file link", {"--keep", keep}).code, 0);
  EXPECT_EQ(read_file(keep + "/a/file"), "first\n");
  const ProgramResult r = shell("cat /weft/a/link; echo second >> /weft/a/file; ls /weft/a", {"--keep", keep});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "first\nfile\nlink\n");
  EXPECT_EQ(read_file(keep + "/a/file"), "first\nsecond\n");
}

TEST(Storage, ARunWithoutFilesHasNoneOfIt) {
  const ProgramResult r = run_program(on_torus({"--json"}, {"sh", "-c", "cat /weft/none; true"}), 60);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("No such file"));
}

TEST(Storage, MistakesAreTold) {
  ScratchFolder scratch;
  ProgramResult r = shell("true", {"--mount", "/tmp"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("/tmp exists on this computer"));
  r = shell("true", {"--mount", "weft"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("an absolute path"));
  r = shell("true", {"--mount", "none", "--keep", scratch.file("x")});
  EXPECT_EQ(r.code, 2);
  r = shell("true", {"--set", "storage.nodes=[99]"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("there is no node 99"));
  r = shell("cp /bin/sh /weft/x", {"--set", "storage.device.capacity=1MiB", "--set", "storage.stripe_count=1",
                                   "--set", "storage.targets=1"});
  EXPECT_NE(r.code, 0);
  r = shell("head -c 3000000 /dev/zero > /weft/x",
            {"--set", "storage.device.capacity=1MiB", "--set", "storage.targets=1"});
  EXPECT_NE(r.code, 0);
  EXPECT_THAT(r.err, HasSubstr("No space left on device"));
  r = shell("cat /weft/../etc/hostname > /dev/null");
  EXPECT_EQ(r.code, 0) << r.err;
}

TEST(Storage, TarSqliteAndGitWork) {
  ScratchFolder scratch;
  const std::string script =
      "cd /weft; mkdir src; for i in 1 2 3 4 5 6 7 8; do head -c ${i}000 /dev/zero | tr '\\0' $i > src/$i; done;"
      "tar cf all.tar src; mkdir out; tar xf all.tar -C out; diff -r src out/src; ls -l --time-style=+%s out/src;"
      "cd src; git init -q .; git -c user.name=a -c user.email=b add .;"
      "git -c user.name=a -c user.email=b commit -qm one; echo more >> 1; git status --short; git fsck 2>&1;"
      "cd ..; sqlite3 base 'create table t(x); insert into t values(1),(2),(3); pragma integrity_check;"
      "select sum(x) from t'";
  const ProgramResult r = shell(script);
  EXPECT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr(" M 1\n"));
  EXPECT_THAT(r.out, HasSubstr("ok\n6\n"));
  EXPECT_EQ(shell(script).out, r.out) << "twice the same";
}

}  // namespace
}  // namespace weft::test
