#include "measure/validate/mpi_pairs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "base/own_files.hpp"

namespace weft::measure {

namespace {

namespace fs = std::filesystem;

/// The `weft` that runs, or the one this test belongs to.
std::string weft_program() {
  const fs::path self = own_program();
  return self.filename() == "weft" ? self.string() : own_file("weft").string();
}

struct Said {
  bool fine = false;
  std::string out, error;
};

std::string read_all(int descriptor) {
  std::string out;
  char buffer[4096];
  for (ssize_t got; (got = read(descriptor, buffer, sizeof buffer)) > 0;)
    out.append(buffer, static_cast<std::size_t>(got));
  close(descriptor);
  return out;
}

/// Both streams fit into their pipes: the program prints a line for each size, `weft run` a few where it
/// fails.
Said run(std::vector<std::string> words) {
  int out[2], error[2];
  WEFT_CHECK(pipe2(out, O_CLOEXEC) == 0 && pipe2(error, O_CLOEXEC) == 0, "a pipe can be had");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(out[1], STDOUT_FILENO);
    dup2(error[1], STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(out[1]), close(error[1]);
  Said said;
  said.out = read_all(out[0]);
  said.error = read_all(error[0]);
  int status = 0;
  waitpid(child, &status, 0);
  said.fine = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return said;
}

}  // namespace

std::vector<std::pair<double, double>> run_pairs(const Trial& trial, const MpiPairs& how,
                                                 std::vector<std::string> words,
                                                 const std::vector<std::uint64_t>& sizes) {
  std::vector<std::string> command{
      weft_program(), "run", trial.machine_name(),          "--quiet",    "--engine",
      how.engine,     "-n",  std::to_string(2 * how.pairs), "--per-node", std::to_string(how.pairs)};
  for (const auto* settings : {&how.settings, &trial.settings()})
    for (const std::string& setting : *settings) command.insert(command.end(), {"--set", setting});
  command.insert(command.end(), {"--", own_file("validation/pairs").string()});
  command.insert(command.end(), words.begin(), words.end());
  for (std::uint64_t bytes : sizes) command.push_back(std::to_string(bytes));
  Said said = run(command);
  std::vector<std::pair<double, double>> out;
  std::istringstream lines(said.out);
  for (double bytes, value; lines >> bytes >> value;) out.emplace_back(bytes, value);
  if (!said.fine || out.size() != sizes.size())
    throw UserError(fmt::format("an experiment did not run: {}\n{}", join(command, " "), said.error));
  return out;
}

std::string run_validation_program(std::vector<std::string> words, const std::string& program,
                                   const std::vector<std::string>& arguments) {
  std::vector<std::string> command{weft_program(), "run"};
  command.insert(command.end(), words.begin(), words.end());
  command.insert(command.end(), {"--quiet", "--", own_file("validation/" + program).string()});
  command.insert(command.end(), arguments.begin(), arguments.end());
  Said said = run(command);
  if (!said.fine)
    throw UserError(fmt::format("an experiment did not run: {}\n{}", join(command, " "), said.error));
  return said.out;
}

std::string run_example(const std::string& script, const std::vector<std::string>& arguments) {
  std::vector<std::string> command{"/usr/bin/env", "WEFT=" + weft_program(),
                                   own_data("examples/" + script).string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Said said = run(command);
  if (!said.fine)
    throw UserError(fmt::format("an experiment did not run: {}\n{}", join(command, " "), said.error));
  return said.out;
}

double run_barrier(const Trial& trial, unsigned ranks, const std::string& collectives) {
  std::vector<std::string> words{trial.machine_name(), "--collectives", collectives, "-n",
                                 std::to_string(ranks)};
  for (const std::string& setting : trial.settings()) words.insert(words.end(), {"--set", setting});
  std::istringstream lines(run_validation_program(words, "barrier", {"20"}));
  double rounds = 0, time = 0;
  if (!(lines >> rounds >> time)) throw UserError("a barrier was run, and no time was printed");
  return time;
}

}  // namespace weft::measure
