// Runs the `weft` program as a user does.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "test_paths.hpp"

namespace weft::test {

struct ProgramResult {
  int code = -1;  // exit code; 128 + signal where one ended it
  std::string out, err;
};

/// A folder of a test's own, gone when the test is.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
    path_ = mkdtemp(name.data()) ? name : "";
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Without the lines by which a run says how far it has come: only a slow machine has them.
inline std::string without_progress(const std::string& text) {
  static const std::regex progress(
      "weft: (\\d+ s: [^\n]* of virtual time so far|ranks have read their clocks )[^\n]*\n");
  return std::regex_replace(text, progress, "");
}

/// Ends the program after `seconds`, so that a hang is a failure and not a wait.
inline ProgramResult run_program(const std::vector<std::string>& arguments, unsigned seconds = 120) {
  ScratchFolder scratch;
  std::string out = scratch.file("out"), err = scratch.file("err");
  pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    if (!freopen(out.c_str(), "w", stdout) || !freopen(err.c_str(), "w", stderr)) _exit(126);
    std::vector<char*> argv{const_cast<char*>(WEFT_PROGRAM)};
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    execv(WEFT_PROGRAM, argv.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, read_file(out), without_progress(read_file(err))};
}

}  // namespace weft::test
