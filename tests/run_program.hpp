// Runs the `weft` program as a user does.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
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
      "weft: (\\d+ s: [^\n]* of virtual time so far|ranks have read their clocks |"
      "rank \\d+ \\(process \\d+\\) (has computed for 10 s|waits in read|is stuck in the system))[^\n]*\n");
  return std::regex_replace(text, progress, "");
}

/// In a folder of its own, where it may leave what it likes. Ends the program after `seconds`, so that a hang
/// is a failure and not a wait; a machine that is busy with other things takes long. `prepare` changes
/// descriptors and limits of the process before.
inline ProgramResult run_command(const std::string& command, const std::vector<std::string>& arguments,
                                 unsigned seconds = 300, const std::function<void()>& prepare = {}) {
  ScratchFolder scratch, here;
  std::string out = scratch.file("out"), err = scratch.file("err");
  pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    int files[2] = {open(out.c_str(), O_WRONLY | O_CREAT, 0666), open(err.c_str(), O_WRONLY | O_CREAT, 0666)};
    if (dup2(files[0], 1) < 0 || dup2(files[1], 2) < 0 || chdir(here.file("").c_str()) != 0) _exit(126);
    close(files[0]), close(files[1]);
    if (prepare) prepare();
    std::vector<char*> argv{const_cast<char*>(command.c_str())};
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    execvp(command.c_str(), argv.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, read_file(out), without_progress(read_file(err))};
}

inline ProgramResult run_program(const std::vector<std::string>& arguments, unsigned seconds = 300,
                                 const std::function<void()>& prepare = {}) {
  return run_command(WEFT_PROGRAM, arguments, seconds, prepare);
}

/// Does it take less than that, at least once in a few times? A busy machine may be slow now and then.
inline bool takes_less_than(std::chrono::seconds most, const std::function<void()>& what) {
  constexpr int kTimes = 5;
  for (int i = 0; i < kTimes; ++i) {
    auto begun = std::chrono::steady_clock::now();
    what();
    if (std::chrono::steady_clock::now() - begun < most) return true;
  }
  return false;
}

/// Looks again and again, for up to two minutes, until it is so. False where it never was.
inline bool comes_true(const std::function<bool()>& what) {
  for (int i = 0; i < 6000; ++i) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

}  // namespace weft::test
