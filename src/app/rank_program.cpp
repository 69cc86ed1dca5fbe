#include "app/rank_program.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/diagnostics.hpp"
#include "base/own_files.hpp"
#include "base/text.hpp"
#include "config/registry.hpp"
#include "host/mpi_launch.hpp"
#include "host/processes.hpp"

namespace weft::app {

namespace fs = std::filesystem;

std::string library_path() {
  std::error_code failed;
  const fs::path library = own_file("libweft.so");
  if (!fs::exists(library, failed))
    throw UserError(fmt::format("{}: the library that programs need is not there", library.string()));
  return library.string();
}

const network::EngineKind& engine_named(const std::string& name) {
  using Engines = config::Registry<network::EngineKind>;
  // The most exact there is, unless asked otherwise.
  std::string wanted = !name.empty() ? name : Engines::find("flit") ? "flit" : "ideal";
  if (const network::EngineKind* engine = Engines::find(wanted)) return *engine;
  throw UserError(fmt::format("there is no engine '{}'{}; there are {}", wanted,
                              did_you_mean(wanted, Engines::names()), join(Engines::names(), ", ")));
}

namespace {

/// Launchers start processes of their own, which would run around the simulated network.
void refuse_launcher(const std::string& program, const std::string& instead) {
  std::string name = program.substr(program.rfind('/') + 1);
  bool launcher = name.starts_with("mpirun") || name.starts_with("mpiexec");
  for (const char* known : {"orterun", "prun", "srun"}) launcher |= name == known;
  if (launcher)
    throw UserError(
        fmt::format("{} would start processes around the simulated network; `weft {}` is the "
                    "launcher itself: {}",
                    name, split(instead, ' ').at(1), instead));
}

}  // namespace

bool wants_mpi(const std::vector<std::string>& command, const std::string& mpi, const std::string& instead) {
  std::string program = host::find_program(command.front());
  refuse_launcher(program, instead);
  if (mpi != "auto") return mpi == "yes";
  switch (host::mpi_library_of(program)) {
    case host::MpiLibrary::None:
      return false;
    case host::MpiLibrary::MpichUcx:
      throw UserError(fmt::format(
          "{} is linked with an MPICH built for UCX, as Debian's is: it cannot use the simulated network. "
          "Compile it with mpicc.openmpi, or run it with an MPICH built with --with-device=ch4:ofi "
          "(tools/build-mpich makes one) first on LD_LIBRARY_PATH",
          program));
    default:
      return true;
  }
}

std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> out;
  std::string word;
  bool inside = false;  // a word, though it may be empty
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == '\\' && quote != '\'' && i + 1 < command.size()) {
      word += command[++i];
      inside = true;
    } else if (quote ? c == quote : c == '\'' || c == '"') {
      quote = quote ? 0 : c;
      inside = true;
    } else if (quote || (c != ' ' && c != '\t' && c != '\n')) {
      word += c;
      inside = true;
    } else if (inside) {
      out.push_back(std::exchange(word, ""));
      inside = false;
    }
  }
  if (quote) throw UserError(fmt::format("{}: a quote has no end", command));
  if (inside) out.push_back(word);
  return out;
}

}  // namespace weft::app
