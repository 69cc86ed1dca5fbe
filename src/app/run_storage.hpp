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
  /// Options of a mount that `weft boot` has as well; where nothing is mounted without --mount, `always` is
  /// false.
  void declare_mount(CommandLine& app, bool always);
  /// On a machine with these servers. Throws UserError where it cannot be there. A note for the user where
  /// the usual place is taken.
  std::string apply(host::StorageOptions& out, const machine::StorageParameters& machine) const;
  std::string apply(host::StorageOptions& out, const machine::StorageParameters& machine,
                    Diagnostics& problems) const;
  /// As options of the command.
  std::string text() const;

 private:
  void read_mount_options(host::StorageOptions& out, Diagnostics& problems) const;
  void apply_buffer(host::StorageOptions& out, Diagnostics& problems) const;
};

/// The file system on Linux nodes, where --mount asks for one.
void mount_files(const RunStorageOptions& options, const machine::StorageParameters& machine, bool storm,
                 host::StorageOptions& out, Diagnostics& problems);

}  // namespace weft::app
