#include "app/compare_slurm.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/diagnostics.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"

namespace weft::app {

namespace {

namespace fs = std::filesystem;

std::string shell_word(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

/// 0,1,2,5 as "0-2,5".
std::string ranges(const std::vector<std::size_t>& points) {
  std::string out;
  for (std::size_t i = 0; i < points.size();) {
    std::size_t last = i;
    while (last + 1 < points.size() && points[last + 1] == points[last] + 1) ++last;
    out += (out.empty() ? "" : ",") + std::to_string(points[i]);
    if (last > i) out += fmt::format("-{}", points[last]);
    i = last + 1;
  }
  return out;
}

}  // namespace

void run_slurm(const std::string& spec, const std::string& folder, const std::vector<std::size_t>& points,
               const std::string& options) {
  if (points.empty()) return;
  std::string program = fs::read_symlink("/proc/self/exe").string();
  std::string script = folder + "/points.sbatch";
  std::string lines =
      fmt::format("#!/bin/sh\n#SBATCH --job-name=weft-compare\n#SBATCH --output={}/slurm-%a.log\n",
                  fs::absolute(folder).string());
  // Profiles are found beside the program, or where this shell was told to look.
  if (const char* profiles = std::getenv("WEFT_PROFILES"))
    lines += fmt::format("export WEFT_PROFILES={}\n", shell_word(profiles));
  write_file(script,
             lines + fmt::format("cd {} && exec {} compare {} --out {} --point \"$SLURM_ARRAY_TASK_ID\"\n",
                                 shell_word(fs::current_path().string()), shell_word(program),
                                 shell_word(spec), shell_word(folder)));
  std::vector<std::string> words{"sbatch", "--wait", "--array=" + ranges(points)};
  for (const std::string& word : split(options, ' '))
    if (!word.empty()) words.push_back(word);
  words.push_back(script);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  std::fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    dup2(STDERR_FILENO, STDOUT_FILENO);  // what sbatch says is no result
    execvp("sbatch", arguments.data());
    _exit(errno == ENOENT ? 127 : 126);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child < 0) throw UserError(fmt::format("sbatch cannot be started: {}", std::strerror(errno)));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    throw UserError("--slurm: there is no sbatch here; without --slurm the points run on this machine");
  // A task that failed makes sbatch fail too; which ones, and why, the results say.
  if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
    throw UserError(fmt::format("sbatch failed; the points' own words are in {}/slurm-*.log", folder));
}

}  // namespace weft::app
