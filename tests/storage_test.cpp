// The machine's file system under unmodified programs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "base/output_file.hpp"
#include "json.hpp"
#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kCalls = WEFT_BUILD "/test-programs/storage_calls",
                  kRandom = WEFT_BUILD "/test-programs/storage_random";
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
  ASSERT_EQ(
      shell("mkdir /weft/a; echo first > /weft/a/file; cd /weft/a; ln -s file link", {"--keep", keep}).code,
      0);
  EXPECT_EQ(read_file(keep + "/a/file"), "first\n");
  const ProgramResult r =
      shell("cat /weft/a/link; echo second >> /weft/a/file; ls /weft/a", {"--keep", keep});
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
  r = shell("head -c 3000000 /dev/zero > /weft/x",
            {"--set", "storage.device.capacity=1MiB", "--set", "storage.targets=2"});
  EXPECT_NE(r.code, 0);
  EXPECT_THAT(r.err, HasSubstr("No space left on device"));
  r = shell("cat /weft/../etc/hostname > /dev/null");
  EXPECT_EQ(r.code, 0) << r.err;
}

TEST(Storage, TarSqliteAndGitWork) {
  ScratchFolder scratch;
  const std::string script =
      "cd /weft; mkdir src; for i in 1 2 3 4 5 6 7 8; do head -c ${i}000 /dev/zero | tr '\\0' $i > src/$i; "
      "done;"
      "tar cf all.tar src; mkdir out; tar xf all.tar -C out; diff -r src out/src; ls -l --time-style=+%s "
      "out/src;"
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

TEST(Storage, FilesOfMpiWorkByBothOfOpenMpisWays) {
  for (const char* way : {"ompio", "romio321"}) {
    const auto prepare = [&] {
      setenv("TMPDIR", "/weft", 1);  // where the program puts its files
      setenv("OMPI_MCA_io", way, 1);
    };
    const auto command = on_torus({"-n", "4", "--engine", "ideal"}, {WEFT_BUILD "/mpi-programs/suite_io"});
    const ProgramResult r = run_program(command, 120, prepare);
    EXPECT_EQ(r.code, 0) << way << r.out << r.err;
    EXPECT_THAT(r.out, HasSubstr(" 0 failed"));
    EXPECT_EQ(run_program(command, 120, prepare).out, r.out) << "twice the same";
  }
}

TEST(Storage, TheBenchmarkOfTheExamplesReadsWhatItWrote) {
  ScratchFolder scratch;
  const std::string program = scratch.file("mpi_files");
  ASSERT_EQ(std::system(("mpicc.openmpi -O1 -o " + program + " " WEFT_ROOT "/examples/mpi_files.c").c_str()),
            0);
  // Shared or a file for each rank, in order or at random.
  for (const std::vector<std::string>& how : {std::vector<std::string>{}, {"-F"}, {"-z"}, {"-F", "-z"}}) {
    std::vector<std::string> command{program, "-b", "1m", "-t", "64k"};
    command.insert(command.end(), how.begin(), how.end());
    const ProgramResult r = run_program(on_torus({"-n", "4", "--engine", "flow"}, command), 120);
    EXPECT_EQ(r.code, 0) << r.out << r.err;
    EXPECT_THAT(r.out, HasSubstr(", all as written"));
  }
}

TEST(Storage, Hdf5AndNetcdfWorkInParallel) {
  for (const char* program : {"hdf5_parallel", "netcdf_parallel"})
    for (const char* way : {"ompio", "romio321"}) {
      const auto prepare = [&] { setenv("OMPI_MCA_io", way, 1); };
      const auto command =
          on_torus({"-n", "4", "--engine", "ideal"}, {WEFT_BUILD "/mpi-programs/" + std::string(program)});
      const ProgramResult r = run_program(command, 120, prepare);
      EXPECT_EQ(r.code, 0) << program << way << r.out << r.err;
      EXPECT_THAT(r.out, HasSubstr("0 wrong, 0.0"));
      EXPECT_EQ(r.out.find("0.000000000"), std::string::npos) << "it takes time";
      EXPECT_EQ(run_program(command, 120, prepare).out, r.out) << "twice the same";
    }
}

/// Ranks make random calls on the file system and on the host alike.
void same_as_host(const std::vector<std::string>& options, unsigned seed, unsigned steps,
                  bool alone = false) {
  ScratchFolder scratch;
  const std::string host = scratch.file("host");
  fs::create_directories(host);
  std::vector<std::string> all{"-n", "3"};
  all.insert(all.end(), options.begin(), options.end());
  std::vector<std::string> command{kRandom, "/weft", host, std::to_string(seed), std::to_string(steps)};
  if (alone) command.push_back("alone");
  const ProgramResult r = run_program(on_torus(all, command), 300);
  EXPECT_EQ(r.code, 0) << "seed " << seed << ": " << r.out << r.err;
}

bool is_long() { return std::getenv("WEFT_LONG_TESTS") != nullptr; }

TEST(Storage, RandomCallsDoTheSameAsOnTheHost) {
  const unsigned seeds = is_long() ? 500 : 3, steps = is_long() ? 10'000 : 400;
  for (unsigned seed = 1; seed <= seeds; ++seed)
    same_as_host(
        {"--engine", "ideal", "--set", seed % 2 ? "storage.stripe_unit=4KiB" : "storage.stripe_unit=1MiB"},
        seed, steps);
}

/// What a call of storage_memory took, in nanoseconds, and the first letter it read.
struct Step {
  double ns = 0;
  char letter = 0;
};
std::map<std::string, Step> memory_of_nodes(const std::string& options,
                                            const std::vector<std::string>& settings = {}) {
  std::vector<std::string> all{"-n", "2", "--engine", "ideal"};
  for (const std::string& setting : settings) all.insert(all.end(), {"--set", setting});
  if (!options.empty()) all.insert(all.end(), {"--mount-options", options});
  const ProgramResult r = run_program(on_torus(all, {WEFT_BUILD "/mpi-programs/storage_memory"}), 60);
  EXPECT_EQ(r.code, 0) << r.err;
  std::map<std::string, Step> out;
  std::istringstream lines(r.out);
  std::string name;
  long result = 0;
  for (Step step; lines >> name >> step.ns >> result >> step.letter;) out[name] = step;
  return out;
}

TEST(Storage, MemoryOfANodeKeepsDataAndOthersSeeItAtOnceOrAtClose) {
  const double copy = 4096 * 8 / 40.0, hit = 500 + copy;  // host.system_call, mpi.copy_rate
  auto plain = memory_of_nodes(""), once = memory_of_nodes("cache=1MiB"),
       close = memory_of_nodes("cache=1MiB,visible=at-close"),
       back = memory_of_nodes("cache=1MiB,visible=at-close,write=back");
  EXPECT_NEAR(plain["cached"].ns, plain["cold"].ns, 1) << "every read asks a server";
  for (auto* with : {&once, &close, &back}) {
    EXPECT_NEAR((*with)["cold"].ns, plain["cold"].ns + copy, 2);
    EXPECT_NEAR((*with)["cached"].ns, hit, 2);
  }
  // At once: a file that is written while another has it open is in nobody's memory.
  EXPECT_EQ(once["before-close"].letter, 'b');
  EXPECT_NEAR(once["before-close"].ns, plain["before-close"].ns, 1);
  EXPECT_GT(once["open-again"].ns, plain["open-again"].ns + 5000) << "the reader's node is told, and answers";
  // At close: what the reader has it may go on with until it opens the file again.
  for (auto* with : {&close, &back}) {
    EXPECT_NEAR((*with)["own"].ns, hit, 2);
    EXPECT_EQ((*with)["own"].letter, 'b');
    EXPECT_EQ((*with)["before-close"].letter, 'a');
    EXPECT_NEAR((*with)["before-close"].ns, hit, 2);
    EXPECT_EQ((*with)["after-open"].letter, 'b');
    EXPECT_NEAR((*with)["after-open"].ns, plain["cold"].ns + copy, 2);
  }
  // Through: a write waits for the server. Back: closing does.
  EXPECT_NEAR(close["write-again"].ns, plain["write-again"].ns, 1);
  EXPECT_NEAR(close["close-again"].ns, plain["close-again"].ns, 1);
  EXPECT_NEAR(back["write-again"].ns, hit, 2);
  EXPECT_NEAR(back["close-again"].ns, plain["write-again"].ns, 2);
}

TEST(Storage, ADescriptionSaysWhatNodesKeepAndOptionsOfTheMountComeBeforeIt) {
  const std::vector<std::string> described{"storage.cache.size=1MiB", "storage.cache.visible=at-close",
                                           "storage.cache.write=back"};
  auto same = [](const std::map<std::string, Step>& a, const std::map<std::string, Step>& b) {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
             return x.first == y.first && x.second.ns == y.second.ns && x.second.letter == y.second.letter;
           });
  };
  EXPECT_TRUE(
      same(memory_of_nodes("", described), memory_of_nodes("cache=1MiB,visible=at-close,write=back")));
  EXPECT_TRUE(same(memory_of_nodes("cache=0,visible=at-once,write=through", described), memory_of_nodes("")));
  const ProgramResult r = shell("true", {"--set", "storage.cache.write=back"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("storage.cache"));
  EXPECT_THAT(r.err, HasSubstr("write=back needs visible=at-close"));
}

TEST(Storage, RandomCallsDoTheSameWithMemoryOfNodes) {
  const unsigned seeds = is_long() ? 100 : 1, steps = is_long() ? 5'000 : 400;
  for (unsigned seed = 1; seed <= seeds; ++seed)
    for (const char* size : {"16MiB", "64KiB"}) {
      same_as_host({"--engine", "ideal", "--mount-options", std::string("cache=") + size}, 800 + seed, steps);
      for (const char* write : {"through", "back"})
        same_as_host({"--engine", "ideal", "--mount-options",
                      fmt::format("cache={},visible=at-close,write={}", size, write)},
                     900 + seed, steps, true);
    }
}

TEST(Storage, MistakesAboutMountOptionsAreTold) {
  ProgramResult r = shell("true", {"--mount-options", "cache=1MiB,write=back,visible=later"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("got \"visible=later\""));
  EXPECT_THAT(r.err, HasSubstr("write=back needs visible=at-close"));
  r = shell("true", {"--mount-options", "visible=at-close"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("without cache=SIZE"));
  r = shell("true", {"--mount-options", "cache=1MiB", "--burst-buffer", "1MiB"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("not both"));
}

TEST(Storage, DamageAndCutCablesChangeNothing) {
  const unsigned seeds = is_long() ? 100 : 1, steps = is_long() ? 2'000 : 300;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    same_as_host({"--engine", "ideal", "--set", "nic.corruption=0.001", "--set", "storage.retries=100"},
                 100 + seed, steps);
    same_as_host({"--fault", "at 1ms cut r0.p0; at 3ms cut r1.p0; at 9ms restore r0.p0"}, 200 + seed,
                 steps / 4);
  }
}

TEST(Storage, WithCopiesNothingIsLostWhenAServerFails) {
  const unsigned seeds = is_long() ? 100 : 2, steps = is_long() ? 2'000 : 200;
  for (unsigned seed = 1; seed <= seeds; ++seed)
    same_as_host({"--engine", "ideal", "--set", "storage.replicas=2", "--storage-fault",
                  "at 4ms kill target " + std::to_string(1 + seed % 3)},
                 300 + seed, steps);
}

TEST(Storage, WithoutCopiesAServerThatFailsIsAnError) {
  const std::string script = "head -c 100000 /dev/zero > /weft/x; sleep 1; cat /weft/x > /dev/null";
  ProgramResult r =
      shell(script, {"--storage-fault", "at 500ms kill target 1", "--set", "storage.targets=1"});
  EXPECT_NE(r.code, 0);
  EXPECT_THAT(r.err, HasSubstr("Input/output error"));
  r = shell(script, {"--storage-fault", "at 500ms kill metadata"});
  EXPECT_NE(r.code, 0);
  EXPECT_THAT(r.err, HasSubstr("Input/output error"));
  r = shell("true", {"--storage-fault", "at 3ms kill target 9; at 3ms kill target 1x; at x kill metadata"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("there is no target 9"));
  EXPECT_THAT(r.err, HasSubstr("there is no target 1x"));
  EXPECT_THAT(r.err, HasSubstr("expected \"at 3ms kill target 1\""));
}

/// Two ranks work until the power is cut. What is left of what each line of their log says?
struct Remains {
  std::map<std::string, unsigned> said, kept;  // by word: files it was said of; of these, those it is true of
};

Remains after_power_cut(const std::string& at, const std::vector<std::string>& options,
                        const std::string& other_faults = "") {
  ScratchFolder scratch;
  const std::string keep = scratch.file("kept"), log = scratch.file("log");
  std::vector<std::string> all{"-n",     "2",  "--engine",        "ideal",
                               "--keep", keep, "--storage-fault", other_faults + "at " + at + " cut power"};
  all.insert(all.end(), options.begin(), options.end());
  const ProgramResult r =
      run_program(on_torus(all, {WEFT_BUILD "/test-programs/storage_power", "/weft", log}), 120);
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_THAT(r.err, HasSubstr("the power was cut, at "));
  Remains out;
  std::istringstream lines(read_file(log));
  for (std::string word, file; lines >> word >> file;) {
    int rank = 0, number = 0;
    std::sscanf(file.c_str(), "%d-%d", &rank, &number);
    const std::string done = keep + "/f" + file, temporary = keep + "/t" + file;
    const bool renamed = fs::exists(done);
    EXPECT_FALSE(renamed && fs::exists(temporary)) << file;
    std::string data = renamed ? read_file(done) : fs::exists(temporary) ? read_file(temporary) : "";
    const bool whole = data == std::string(12000, static_cast<char>('a' + (rank * 7 + number) % 26));
    ++out.said[word];
    out.kept[word] += word == "renamed" || word == "named" ? renamed : whole;
  }
  for (const auto& each : fs::directory_iterator(keep))
    EXPECT_NE(each.path().filename().string().substr(0, 1), ".") << "nothing of ours is left";
  return out;
}

TEST(Storage, APowerCutTakesWhatWasNotOnADevice) {
  const std::vector<std::string> own_node{"--burst-buffer", "64MiB", "--set",
                                          "storage.burst_buffer.flush_at=1"};
  for (const std::vector<std::string>& options : {std::vector<std::string>{}, own_node})
    for (const char* at : {"5ms", "7.77ms", "20ms"}) {
      const Remains r = after_power_cut(at, options);
      EXPECT_GT(r.said.at("synced"), 0u) << at;
      EXPECT_EQ(r.kept.at("synced"), r.said.at("synced")) << at << ": what fsync acknowledged is there";
      EXPECT_EQ(r.kept.at("named"), r.said.at("named")) << at;
    }
  // The same with errors in packets and a server that has failed before.
  const Remains r = after_power_cut("15ms",
                                    {"--set", "storage.replicas=2", "--set", "nic.corruption=0.001", "--set",
                                     "storage.retries=100", "--set", "storage.retry=100us"},
                                    "at 2ms kill target 2; ");
  EXPECT_GT(r.said.at("synced"), 0u);
  EXPECT_EQ(r.kept.at("synced"), r.said.at("synced"));
}

TEST(Storage, APowerCutTakesNothingElse) {
  // Where devices' own memory outlives it, all that servers have taken is there.
  const Remains all = after_power_cut("5ms", {"--set", "storage.device.durable_buffer=true"});
  for (const char* word : {"written", "renamed"}) EXPECT_EQ(all.kept.at(word), all.said.at(word)) << word;
  // Where programming takes a second, nothing is that was written in the last.
  const Remains none = after_power_cut("500ms", {"--set", "storage.device.program_time=1s"});
  EXPECT_EQ(none.kept.at("written"), 0u);
  EXPECT_EQ(none.said.count("synced"), 0u);
  // What is in a node's memory alone is lost, what was synchronised from there is not.
  const Remains memory =
      after_power_cut("10ms", {"--mount-options", "cache=16MiB,visible=at-close,write=back"});
  EXPECT_EQ(memory.kept.at("synced"), memory.said.at("synced"));
}

TEST(Storage, AFullDiskOfThisComputerIsToldToProgramAndUser) {
  ScratchFolder scratch;
  const std::string small = scratch.file("small");
  fs::create_directories(small);
  const auto prepare = [&] {  // a disk of one MiB, in this process alone
    const bool own = unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    if (!own || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("weft-test", small.c_str(), "tmpfs", 0, "size=1m") != 0)
      _exit(77);
  };
  const ProgramResult r = run_program(
      on_torus({"--keep", small}, {"sh", "-ec", "head -c 3000000 /dev/zero > /weft/x"}), 60, prepare);
  if (r.code == 77) GTEST_SKIP() << "the system lets no process have mounts of its own";
  EXPECT_EQ(r.code, 1) << r.out << r.err;
  EXPECT_THAT(r.err, HasSubstr("No space left on device"));
  EXPECT_THAT(r.err, HasSubstr("this computer cannot hold the files"));
}

TEST(Storage, AHandleOfAServerThatIsGoneIsStale) {
  const ProgramResult r = shell("exec 3> /weft/x; echo one >&3; sleep 1; python3 -c 'import os; os.fstat(3)'",
                                {"--storage-fault", "at 500ms kill metadata"});
  EXPECT_NE(r.code, 0);
  EXPECT_THAT(r.err, HasSubstr("Stale file handle"));
}

TEST(Storage, APathThatLeavesTheMountPointIsTheHosts) {
  const ProgramResult r = shell(
      "cd /weft; mkdir a; cd a; test \"$(cat ../../etc/hostname)\" = \"$(cat /etc/hostname)\";"
      "ls /weft/a/../../ | grep -x etc; ls /weftx || true");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("etc\n"));
  EXPECT_THAT(r.err, HasSubstr("No such file"));
}

/// A job of four ranks that reads a file of its own, writes another, and reads its neighbour's.
const std::string kTiers = WEFT_BUILD "/mpi-programs/storage_tiers";

ProgramResult tiers(const std::string& keep, const std::vector<std::string>& options) {
  std::vector<std::string> all{"-n", "4", "--keep", keep, "--json"};
  all.insert(all.end(), options.begin(), options.end());
  return run_program(on_torus(all, {kTiers}), 120);
}

TEST(Storage, ABurstBufferChangesTimesAndNothingElse) {
  ScratchFolder scratch;
  const std::string keep = scratch.file("kept");
  fs::create_directories(keep + "/in");
  for (char rank = 0; rank < 4; ++rank) {
    std::string data(1 << 20, 0);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(rank + static_cast<int>(i));
    write_file(keep + "/in/" + std::to_string(rank), data);
  }
  const ProgramResult plain = tiers(keep, {});
  ASSERT_EQ(plain.code, 0) << plain.err;
  EXPECT_FALSE(parse_json(plain.out)["storage"].contains("burst_buffer"));
  for (const char* policy : {"write=back", "write=through", "placement=spread", "sync=files", "flush_at=0"}) {
    const std::vector<std::string> options{"--burst-buffer", "32MiB", "--set",
                                           std::string("storage.burst_buffer.") + policy};
    const ProgramResult r = tiers(keep, options);
    ASSERT_EQ(r.code, 0) << policy << r.err;
    const nlohmann::json buffer = parse_json(r.out)["storage"]["burst_buffer"];
    EXPECT_EQ(buffer["bytes_flushed"], 4u << 20) << policy;
    EXPECT_EQ(buffer["bytes_no_server_took"], 0) << policy;
    EXPECT_EQ(tiers(keep, options).out, r.out) << "twice the same";
    std::uint64_t written = 0;
    const nlohmann::json result = parse_json(r.out);
    for (const nlohmann::json& server : result["storage"]["servers"])
      if (server["name"].get<std::string>().starts_with("target"))
        written += server["bytes_written"].get<std::uint64_t>();
    EXPECT_EQ(written, 4u << 20) << policy << ": all of it is with the servers";
  }
  // What was staged in is found, on the node of the rank that reads it.
  const ProgramResult staged = tiers(keep, {"--burst-buffer", "32MiB", "--stage-in", "/weft/in"});
  ASSERT_EQ(staged.code, 0) << staged.err;
  const nlohmann::json buffer = parse_json(staged.out)["storage"]["burst_buffer"];
  EXPECT_EQ(buffer["reads"]["servers"], 0);
  EXPECT_EQ(buffer["bytes_read"]["own_node"], 4u << 20);
  EXPECT_EQ(buffer["bytes_read"]["other_node"], 4u << 20);
  EXPECT_GT(buffer["stage_in_ns"], 0);
  // Who waits for nothing but an empty folder ends earlier than who waits for all.
  fs::create_directories(keep + "/none");
  const ProgramResult early = tiers(keep, {"--burst-buffer", "32MiB", "--stage-out", "/weft/none", "--set",
                                           "storage.burst_buffer.flush_at=1"});
  const ProgramResult whole =
      tiers(keep, {"--burst-buffer", "32MiB", "--set", "storage.burst_buffer.flush_at=1"});
  EXPECT_LT(parse_json(early.out)["virtual_time_ns"], parse_json(whole.out)["virtual_time_ns"]);
  EXPECT_EQ(parse_json(early.out)["storage"]["burst_buffer"]["bytes_flushed"], 0);
}

TEST(Storage, RandomCallsDoTheSameWithABurstBuffer) {
  const unsigned seeds = is_long() ? 100 : 2, steps = is_long() ? 5'000 : 300;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    const std::string placement = seed % 2 ? "local" : "spread", write = seed % 4 < 2 ? "back" : "through";
    same_as_host({"--engine", "ideal", "--burst-buffer", "256KiB", "--set",
                  "storage.burst_buffer.block=16KiB", "--set", "storage.burst_buffer.placement=" + placement,
                  "--set", "storage.burst_buffer.write=" + write},
                 400 + seed, steps);
    same_as_host({"--engine", "ideal", "--burst-buffer", "512KiB", "--set",
                  "storage.burst_buffer.block=16KiB", "--set", "nic.corruption=0.001", "--set",
                  "storage.retries=100", "--set", "storage.burst_buffer.sync=files"},
                 600 + seed, steps);
    same_as_host({"--engine", "ideal", "--burst-buffer", "512KiB", "--set",
                  "storage.burst_buffer.block=16KiB", "--set", "storage.replicas=2", "--storage-fault",
                  "at 4ms kill target " + std::to_string(1 + seed % 3)},
                 700 + seed, steps);
  }
}

TEST(Storage, MistakesAboutBurstBuffersAreTold) {
  ProgramResult r = shell("true", {"--stage-in", "/weft"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("there is no burst buffer without --burst-buffer"));
  r = shell("true", {"--burst-buffer", "many", "--stage-out", "/tmp"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("expected a folder below /weft"));
  r = shell("true", {"--burst-buffer", "1MiB", "--stage-in", "/weft/none"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("--keep DIR"));
  r = shell("true", {"--set", "storage.burst_buffer.block=24KiB"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("divides storage.stripe_unit"));
}

}  // namespace
}  // namespace weft::test
