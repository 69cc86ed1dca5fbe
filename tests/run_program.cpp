#include "run_program.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <thread>

namespace weft::test {

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
  path_ = mkdtemp(name.data()) ? name : "";
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string without_progress(const std::string& text) {
  static const std::regex progress(
      "weft: (\\d+ s: [^\n]* of virtual time so far|ranks have read their clocks |"
      "rank \\d+ \\(process \\d+\\) (has computed for 10 s|waits in read|is stuck in the system))[^\n]*\n");
  return std::regex_replace(text, progress, "");
}

ProgramResult run_command(const std::string& command, const std::vector<std::string>& arguments,
                          unsigned seconds, const std::function<void()>& prepare) {
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

ProgramResult run_program(const std::vector<std::string>& arguments, unsigned seconds,
                          const std::function<void()>& prepare) {
  return run_command(WEFT_PROGRAM, arguments, seconds, prepare);
}

bool takes_less_than(std::chrono::seconds most, const std::function<void()>& what) {
  constexpr int kTimes = 5;
  for (int i = 0; i < kTimes; ++i) {
    auto begun = std::chrono::steady_clock::now();
    what();
    if (std::chrono::steady_clock::now() - begun < most) return true;
  }
  return false;
}

bool comes_true(const std::function<bool()>& what) {
  for (int i = 0; i < 6000; ++i) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

}  // namespace weft::test
