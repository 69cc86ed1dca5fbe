// The machine's file system on Linux nodes: by the guest kernel's own client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "boot_fixture.hpp"
#include "json.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class BootStorage : public Boot {
 protected:
  ProgramResult mounted(const std::string& job, std::vector<std::string> more = {}) {
    std::vector<std::string> options{"torus",
                                     "--set",
                                     "topology.dims=[4,4]",
                                     "--set",
                                     "storage.targets=3",
                                     "-n",
                                     "2",
                                     "--mount",
                                     "/weft",
                                     "--engine",
                                     "ideal",
                                     "--memory",
                                     "128MiB"};
    options.insert(options.end(), more.begin(), more.end());
    return boot(job, options);
  }
};

TEST_F(BootStorage, OrdinaryProgramsWorkAndTwoRunsAreTheSame) {
  const std::string job =
      "[ $NODE = 0 ] || exit 0\n"
      "set -e\n"
      "cd /weft; mkdir src; for i in 1 2 3 4 5; do head -c ${i}000 /dev/zero | tr '\\0' $i > src/$i; done\n"
      "tar cf all.tar src; mkdir out; tar xf all.tar -C out; diff -r src out/src; ls -l --time-style=+%s "
      "out/src\n"
      "sqlite3 base 'create table t(x); insert into t values(1),(2),(3); pragma integrity_check;"
      "select sum(x) from t'\n"
      "dd if=/dev/zero of=zeros bs=100k count=7 2>/dev/null; head -c 716800 /dev/zero | cmp - zeros\n"
      "cp zeros again; cmp zeros again; mv again moved; ln moved linked; ln -s src link; cat link/1 | wc -c\n"
      "readlink link; rm -r src; ls; stat -c %h linked; truncate -s 10 moved; stat -c %s linked\n"
      "cat nothing || rmdir out || mkdir out || mkfifo pipe || echo refused\n"
      "flock lock sh -c 'flock -n lock true || echo taken; echo held'; flock -n lock echo free\n";
  ScratchFolder scratch;
  const ProgramResult r = mounted(job, {"--keep", scratch.file("kept"), "--out", scratch.file("out")});
  EXPECT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("node0: ok\nnode0: 6\n"));
  EXPECT_THAT(r.out, HasSubstr("node0: all.tar  base  link  linked  moved  out  zeros\n"));
  EXPECT_THAT(r.out, HasSubstr("node0: 2\nnode0: 10\n")) << "names and size of what has two";
  for (const char* error : {"nothing: No such file", "Directory not empty", "File exists", "not permitted"})
    EXPECT_THAT(r.out, HasSubstr(error));
  EXPECT_THAT(r.out, HasSubstr("node0: taken\nnode0: held\nnode0: free\n"));
  EXPECT_EQ(fs::file_size(scratch.file("kept/zeros")), 716'800u);
  const nlohmann::json result = parse_json(read_file(scratch.file("out/result.json")));
  EXPECT_GT(result["nodes"][0]["files"]["bytes_written"].get<double>(), 1'400'000);
  EXPECT_EQ(result["storage"]["servers"].size(), 4u);
  EXPECT_EQ(mounted(job).out, r.out) << "twice the same";
}

TEST_F(BootStorage, AReadOrWriteTakesAsLongAsARanks) {
  const std::string program = WEFT_BUILD "/test-programs/storage_time";
  const ProgramResult rank =
      run_program({"run", "torus", "--set", "topology.dims=[4,4]", "--set", "storage.targets=3", "--engine",
                   "ideal", "--quiet", "--", program, "/weft/file"});
  const ProgramResult node = mounted("[ $NODE = 1 ] || exec " + program + " /weft/file");
  ASSERT_EQ(rank.code + node.code, 0) << rank.err << node.err << node.out;
  std::istringstream ranks(rank.out), nodes(node.out);
  std::string word, name;
  double took = 0, takes = 0;
  unsigned steps = 0;
  // Each look of a node's kernel at its clock takes 256 ns, and there are a few of them about a call.
  for (; ranks >> word >> took && nodes >> name >> word >> takes; ++steps) {
    EXPECT_GE(takes, took) << word;
    EXPECT_LE(takes, took + 4 * 256) << word;
  }
  EXPECT_EQ(steps, 8u);
}

TEST_F(BootStorage, LookAheadChangesNothing) {
  const std::string job = WEFT_BUILD
      "/test-programs/storage_time /weft/own$NODE\n"
      "for k in 1 2 3 4; do echo $NODE $k >> /weft/log; done; sleep 0.1; cat /weft/log; stat -c %y /weft/log";
  const ProgramResult ahead = mounted(job), every = mounted(job, {"--no-look-ahead"});
  EXPECT_EQ(ahead.code + every.code, 0) << ahead.err << every.err;
  EXPECT_THAT(ahead.out, HasSubstr("node0: 0 4\n"));
  EXPECT_EQ(ahead.out, every.out);
}

TEST_F(BootStorage, NodesAndARankShareFiles) {
  const std::string rank = folder.file("rank.sh");
  std::ofstream(rank)
      << "sleep 0.1; echo 'of a rank' > /weft/from_rank\n"
         "for k in $(seq 50); do echo \"rank $k\" >> /weft/log; done\n"
         "while [ ! -e /weft/from_node ]; do sleep 0.01; done; sleep 0.02; cat /weft/from_node\n";
  const std::string job =
      "if [ $NODE = 0 ]; then while [ ! -e /weft/from_rank ]; do sleep 0.01; done; sleep 0.05\n"
      "cat /weft/from_rank; echo 'of a node' > /weft/from_node; fi\n"
      "for k in $(seq 50); do echo node$NODE $k >> /weft/log; done; sleep 1\n"
      "[ $NODE = 1 ] || for who in rank node0 node1; do grep -c \"^$who [0-9]*$\" /weft/log; done\n";
  const std::vector<std::string> beside{"--ranks", "1", "--program", "sh " + rank, "--quiet"};
  const ProgramResult r = mounted(job, beside);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("node0: of a rank\n"));
  EXPECT_THAT(r.out, HasSubstr("[0] of a node\n"));
  EXPECT_THAT(r.out, HasSubstr("node0: 50\nnode0: 50\nnode0: 50\n")) << "every line that was appended";
  EXPECT_EQ(mounted(job, beside).out, r.out);
}

TEST_F(BootStorage, AServerThatFailsIsAnErrorUnlessThereAreCopies) {
  const std::string job =
      "[ $NODE = 0 ] || exit 0\n"
      "head -c 300000 /dev/zero > /weft/file; sleep 1; head -c 300000 /dev/zero | cmp - /weft/file && echo "
      "whole\n"
      "head -c 50000 /dev/zero > /weft/new && echo written\n"
      "stat /weft/file > /dev/null && echo named";
  const std::string one = "at 500ms kill target 1; at 500ms kill target 2; at 500ms kill target 3";
  ProgramResult r = mounted(job, {"--storage-fault", one, "--set", "storage.retry=1ms"});
  EXPECT_THAT(r.out, HasSubstr("Input/output error"));
  EXPECT_THAT(r.out, testing::Not(HasSubstr("whole")));
  EXPECT_THAT(r.out, HasSubstr("named"));
  r = mounted(job, {"--storage-fault", "at 500ms kill target 1", "--set", "storage.replicas=2"});
  EXPECT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_THAT(r.out, HasSubstr("node0: whole\nnode0: written\nnode0: named\n"));
  r = mounted(job, {"--storage-fault", "at 500ms kill metadata", "--set", "storage.retry=1ms"});
  EXPECT_NE(r.code, 0);
  EXPECT_THAT(r.out, HasSubstr("Input/output error"));
}

TEST_F(BootStorage, AFullDeviceAndAPowerCutAreTold) {
  ProgramResult r = mounted("[ $NODE = 1 ] || head -c 9000000 /dev/zero > /weft/large",
                            {"--set", "storage.device.capacity=1MiB"});
  EXPECT_NE(r.code, 0);
  EXPECT_THAT(r.out, HasSubstr("No space left on device"));
  const std::string kept = folder.file("kept");
  r = mounted("[ $NODE = 1 ] || { echo durable > /weft/a; sync /weft/a; echo lost > /weft/b; sleep 100; }",
              {"--keep", kept, "--storage-fault", "at 2s cut power"});
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_THAT(r.err, HasSubstr("the power was cut"));
  EXPECT_EQ(read_file(kept + "/a"), "durable\n");
}

TEST(BootStorageErrors, AreToldAllAtOnce) {
  auto boot = [](std::vector<std::string> more) {
    std::vector<std::string> words{"boot", "torus", "--set", "topology.dims=[2,2]"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "true"});
    const ProgramResult r = run_program(words);
    EXPECT_EQ(r.code, 2) << r.err;
    return r.err;
  };
  const std::string err =
      boot({"--mount", "/tmp", "--mount-options", "cache=x,write=back", "--storage-fault", "at"});
  for (const char* part :
       {"/tmp exists on this computer", "got \"cache=x\"", "visible=at-close", "expected \"at 3ms"})
    EXPECT_THAT(err, HasSubstr(part));
  EXPECT_THAT(boot({"--keep", "/tmp/x"}),
              HasSubstr("--keep: Linux nodes have no file system of the machine"));
}

}  // namespace
}  // namespace weft::test
