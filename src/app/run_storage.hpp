// The machine's file system in a run: where programs see it, and what is left of it.
#pragma once

#include <string>

#include "app/command_line.hpp"
#include "host/run.hpp"

namespace weft::app {

struct RunStorageOptions {
  std::string mount, keep;

  void declare(CommandLine& app);
  /// Throws UserError where it cannot be there. A note for the user where the usual place is taken.
  std::string apply(host::StorageOptions& out) const;
  /// As options of the command.
  std::string text() const;
};

}  // namespace weft::app
