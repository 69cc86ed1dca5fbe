// One verb of the command, in one file: its help, its options and what it does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "config/registry.hpp"
#include "machine/machine.hpp"

namespace weft::app {

struct Verb {
  ~Verb();
  std::string name, about;
  int order = 0;  // position in `weft help`
  /// Declares the options and returns what runs once they are read; the result is the exit code.
  std::function<std::function<int()>(CommandLine&)> declare;
  /// Its second word is a program, and what follows is the program's, with `--` or without.
  bool takes_program = false;
  /// Started by mpirun, its processes share the machine.
  bool runs_on_ranks = false;
};

using Verbs = config::Registry<Verb>;

/// MACHINE and --set, the same for every verb that takes a machine.
struct MachineOptions {
  std::string machine;
  std::vector<std::string> settings;
  void declare(CommandLine& verb);
  machine::Description describe() const { return machine::describe(machine, settings); }
};

/// Help for the words after `weft help`; throws UserError for words it does not know.
std::string help_text(const std::vector<std::string>& words);
/// The reference page: every section, kind, key and verb.
std::string reference_page();
/// Verbs as `weft help` lists them.
std::vector<const Verb*> verbs_in_order();
/// The options of one verb as its own --help prints them.
std::string verb_help(const Verb& verb);

}  // namespace weft::app

WEFT_DECLARE_REGISTRY(weft::app::Verb);
