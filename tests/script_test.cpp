// The `weft` script in the root of the project, where nothing is built yet.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "run_program.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

/// What it prints, on both streams.
std::string says(const std::string& words, int& code) {
  FILE* pipe = popen(words.c_str(), "r");
  std::string text;
  char buffer[4096];
  while (std::size_t got = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
  int status = pclose(pipe);
  code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return text;
}

TEST(Script, HelpNeedsNoBuild) {
  ScratchFolder scratch;
  std::string folder = scratch.file("build");
  for (const char* words : {"help", "--help", ""}) {
    int code = -1;
    std::string text = says("WEFT_BUILD_DIR=" + folder + " " WEFT_ROOT "/weft " + words + " 2>&1", code);
    EXPECT_EQ(code, 0);
    EXPECT_THAT(text, HasSubstr("  run        run ordinary programs on a machine, in virtual time\n"));
    EXPECT_THAT(text, HasSubstr("  show       describe a machine"));
    EXPECT_FALSE(std::filesystem::exists(folder)) << "nor does it make anything";
  }
  // Every verb there is, as the built command has them.
  int code = -1;
  std::string text = says("WEFT_BUILD_DIR=" + folder + " " WEFT_ROOT "/weft help", code);
  std::istringstream lines(run_program({"help"}).out);
  for (std::string line;
       std::getline(lines, line) && line.find("A machine is described") == std::string::npos;)
    if (line.starts_with("  ") && line[2] != ' ')
      EXPECT_THAT(text, HasSubstr(line.substr(0, line.find(' ', 2)))) << line;
}

TEST(Script, HelpOfABuiltCommandBuildsNothing) {
  ScratchFolder scratch;
  std::string folder = scratch.file("build");
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/weft") << "#!/bin/sh\necho built \"$@\"\n";
  std::filesystem::permissions(folder + "/weft", std::filesystem::perms::owner_all);
  for (const char* words : {"help run", "list", "--help"}) {
    int code = -1;
    EXPECT_EQ(says("WEFT_BUILD_DIR=" + folder + " " WEFT_ROOT "/weft " + words + " 2>&1", code),
              std::string("built ") + words + "\n");
    EXPECT_EQ(code, 0);
  }
}

// The verbs that the script sends to the starter must be there, and give what the whole command gives.
TEST(Script, TheStarterHasTheVerbsThatAFirstCommandIsSentTo) {
  std::ifstream script(WEFT_ROOT "/weft");
  std::set<std::string> verbs;
  for (std::string line; std::getline(script, line);)
    if (line.find("first=weft_starter") != std::string::npos ||
        line.find("first=starter_programs") != std::string::npos) {
      std::istringstream words(line.substr(0, line.find(')')));
      for (std::string word; words >> word;)
        if (word != "|") verbs.insert(word);
    }
  EXPECT_THAT(verbs, testing::IsSupersetOf({"list", "show", "check", "traffic", "replay", "run", "demo"}));
  auto before_engines = [](const std::string& text) { return text.substr(0, text.find("\nEngines:")); };
  for (const std::string& verb : verbs) {
    int code = -1;
    const std::string text = says(WEFT_BUILD "/weft-starter help " + verb + " 2>&1", code);
    EXPECT_EQ(before_engines(text), before_engines(run_program({"help", verb}).out));
    EXPECT_EQ(code, 0) << verb;
  }
  for (std::string words :
       {"list", "check torus --set 'topology.dims=[4,4]' --set router.channels=1 | head -8"}) {
    int code = -1, all = -1;
    EXPECT_EQ(says(WEFT_BUILD "/weft-starter " + words, code), says(WEFT_PROGRAM " " + words, all));
    EXPECT_EQ(code, all);
  }
}

TEST(Script, TwoAtOnceTakeTurns) {
  ScratchFolder scratch;
  std::string folder = scratch.file("build"), err = scratch.file("err");
  std::filesystem::create_directory(folder);
  int lock = open((folder + "/.lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    setenv("WEFT_BUILD_DIR", folder.c_str(), 1);
    if (!freopen(err.c_str(), "w", stderr)) _exit(126);
    execl(WEFT_ROOT "/weft", "./weft", "show", "torus", nullptr);
    _exit(127);
  }
  std::string waits = "waiting for another ./weft that builds in " + folder;
  EXPECT_TRUE(comes_true([&] { return read_file(err).find(waits) != std::string::npos; })) << read_file(err);
  EXPECT_FALSE(std::filesystem::exists(folder + "/build.ninja")) << "and builds nothing meanwhile";
  kill(-child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(lock);
}

/// Programs of these names, in front of those there are: what the script calls, without what it takes.
class Stubs {
 public:
  explicit Stubs(const ScratchFolder& scratch)
      : folder_(scratch.file("stubs")),
        asked_(scratch.file("asked")),
        built_(scratch.file("built")),
        background_(scratch.file("background")) {
    std::filesystem::create_directory(folder_);
    add("dpkg-query", "echo \"${@: -1}\" >>" + asked_ + "; printf installed");
    add("cmake",
        "while [ \"$1\" != -B ]; do shift; done; mkdir -p \"$2\"; touch \"$2/build.ninja\" "
        "\"$2/CMakeCache.txt\"");
    add("ctest", "echo tested");
    // The kernel of Linux nodes is built in the background: for real it would go on for a quarter of an hour
    // after the test.
    add("nice", "echo \"${@: -1}\" >>" + background_);
    add("ninja",
        "echo \"${@: -1}\" >>" + built_ +
            "; echo '[0/3] first'; sleep 1; echo '[1/3] second'; echo 'a warning'; echo '[3/3] third'\n"
            "case ${@: -1} in *starter*) made=$2/weft-starter ;; *) made=$2/weft ;; esac\n"
            "printf '#!/bin/sh\\necho ran \"$@\"\\n' >\"$made\"; chmod +x \"$made\"");
  }
  void add(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << "#!/bin/bash\n" << text << "\n";
    std::filesystem::permissions(folder_ + "/" + name, std::filesystem::perms::owner_all);
  }
  std::string path() const { return "PATH=" + folder_ + ":$PATH "; }
  std::string asked() const { return read_file(asked_); }
  /// The targets that were built, a line each.
  std::string built() const { return read_file(built_); }
  std::string background() const { return read_file(background_); }

 private:
  std::string folder_, asked_, built_, background_;
};

TEST(Script, ABuildShowsHowFarItIs) {
  ScratchFolder scratch;
  Stubs stubs(scratch);
  int code = -1;
  std::string text =
      says(stubs.path() + "WEFT_BUILD_DIR=" + scratch.file("build") + " " WEFT_ROOT "/weft list 2>&1", code);
  EXPECT_EQ(code, 0) << text;
  EXPECT_THAT(
      text, testing::ContainsRegex("configuring\nweft: building [^\n]*\nweft: building: 0 of 3, [0-9]+ s\n"));
  EXPECT_THAT(text, testing::EndsWith("ran list\n"));
  // On a terminal, which `script` is: one line that is written over.
  std::string again = says(stubs.path() + "WEFT_BUILD_DIR=" + scratch.file("other") +
                               " script -qec '" WEFT_ROOT "/weft list' /dev/null 2>&1",
                           code);
  EXPECT_THAT(again, HasSubstr("\rweft: building: 3 of 3, ")) << again;
}

TEST(Script, BuildsWhatAVerbNeedsAndTheRestWithTheFirstThatNeedsIt) {
  ScratchFolder scratch;
  Stubs stubs(scratch);
  auto built_after = [&](const std::string& words) {
    int code = -1;
    std::string text = says(
        stubs.path() + "WEFT_BUILD_DIR=" + scratch.file("build") + " " WEFT_ROOT "/weft " + words + " 2>&1",
        code);
    EXPECT_EQ(code, 0) << text;
    return stubs.built();
  };
  EXPECT_EQ(built_after("list"), "weft_starter\n");
  EXPECT_EQ(built_after("show torus"), "weft_starter\n") << "nothing changed";
  EXPECT_EQ(built_after("run torus -- true"), "weft_starter\nstarter_programs\n");
  EXPECT_EQ(built_after("bench flit"), "weft_starter\nstarter_programs\nprograms\n");
  EXPECT_EQ(built_after("check torus"), "weft_starter\nstarter_programs\nprograms\n");
  EXPECT_EQ(built_after("run torus -- true"), "weft_starter\nstarter_programs\nprograms\n");
}

TEST(Script, ABuildThatFailsShowsWhy) {
  ScratchFolder scratch;
  Stubs stubs(scratch);
  stubs.add("ninja", "echo '[1/3] first'; echo 'error: no luck'; exit 1");
  int code = -1;
  std::string text =
      says(stubs.path() + "WEFT_BUILD_DIR=" + scratch.file("build") + " " WEFT_ROOT "/weft list 2>&1", code);
  EXPECT_EQ(code, 1);
  EXPECT_THAT(text, HasSubstr("error: no luck\nweft: build failed; the whole log is "));
}

TEST(Script, OnlyTestsNeedThePackagesOfTests) {
  ScratchFolder scratch;
  Stubs stubs(scratch);
  int code = -1;
  says(stubs.path() + "WEFT_BUILD_DIR=" + scratch.file("build") + " " WEFT_ROOT "/weft list 2>&1", code);
  EXPECT_THAT(stubs.asked(), HasSubstr("libfmt-dev\n"));
  for (const char* name : {"lammps", "hpcc", "slurmd", "clang", "libgtest-dev"})
    EXPECT_THAT(stubs.asked(), testing::Not(HasSubstr(name + std::string("\n"))));
  std::string text =
      says(stubs.path() + "WEFT_BUILD_DIR=" + scratch.file("build") + " " WEFT_ROOT "/weft test 2>&1", code);
  EXPECT_EQ(code, 0) << text;
  EXPECT_THAT(stubs.asked(), HasSubstr("lammps\n"));
  EXPECT_THAT(text, testing::EndsWith("tested\n"));
  EXPECT_TRUE(comes_true([&] { return !stubs.background().empty(); }));
  EXPECT_THAT(stubs.background(), testing::EndsWith("/tools/build-linux\n"));
}

}  // namespace
}  // namespace weft::test
