// The `weft` script in the root of the project, where nothing is built yet.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>

#include <chrono>
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

}  // namespace
}  // namespace weft::test
