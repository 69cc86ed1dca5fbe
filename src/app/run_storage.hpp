// The machine's file system in a run: where programs see it, and what is left of it.
#pragma once

#include <string>

#include "app/command_line.hpp"
#include "base/diagnostics.hpp"
#include "host/run.hpp"

namespace weft::app {

struct RunStorageOptions {
  std::string mount, mount_options, keep, fault;
  std::string burst_buffer, stage_in, stage_out;

  void declare(CommandLine& app);
  /// `targets`: how many the machine has. Throws UserError where it cannot be there. A note for the user
  /// where the usual place is taken.
  std::string apply(host::StorageOptions& out, unsigned targets) const;
  /// As options of the command.
  std::string text() const;

 private:
  void read_mount_options(host::StorageOptions& out, Diagnostics& problems) const;
  void apply_buffer(host::StorageOptions& out, Diagnostics& problems) const;
};

}  // namespace weft::app
