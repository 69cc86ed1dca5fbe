// Runs the `weft` program as a user does.
#pragma once

#include <chrono>
#include <functional>
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
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path);

/// Without the lines by which a run says how far it has come: only a slow machine has them.
std::string without_progress(const std::string& text);

/// In a folder of its own, where it may leave what it likes. Ends the program after `seconds`, so that a hang
/// is a failure and not a wait; a machine that is busy with other things takes long. `prepare` changes
/// descriptors and limits of the process before.
ProgramResult run_command(const std::string& command, const std::vector<std::string>& arguments,
                          unsigned seconds = 300, const std::function<void()>& prepare = {});
ProgramResult run_program(const std::vector<std::string>& arguments, unsigned seconds = 300,
                          const std::function<void()>& prepare = {});

/// Does it take less than that, at least once in a few times? A busy machine may be slow now and then.
bool takes_less_than(std::chrono::seconds most, const std::function<void()>& what);

/// Looks again and again, for up to two minutes, until it is so. False where it never was.
bool comes_true(const std::function<bool()>& what);

}  // namespace weft::test
