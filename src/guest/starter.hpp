// Starts the kernels of nodes: their command lines, what their first process is told, the sockets they find,
// and what those that boot over the network are served.
#pragma once

#include <string>
#include <vector>

#include "guest/boot_options.hpp"
#include "guest/guest_node.hpp"
#include "guest/terminal.hpp"

namespace weft::guest {

/// What kernels need in the file system while they start: gone with this object.
class RunFolder {
 public:
  RunFolder();
  ~RunFolder() { remove(); }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  const std::string& path() const { return path_; }
  void remove();

 private:
  std::string path_;
};

class Starter {
 public:
  /// `terminal`: of the node that options.shell names.
  Starter(const BootOptions& options, std::size_t nodes, const Terminal* terminal);
  void start(GuestNode& node, std::size_t number);

 private:
  std::string start_file(std::size_t number) const;
  void prepare_netboot();

  const BootOptions& options_;
  std::size_t nodes_;
  const Terminal* terminal_;
  RunFolder folder_;
  std::vector<std::string> server_command_;  // where nodes boot over the network
};

}  // namespace weft::guest
