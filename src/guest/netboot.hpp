// Booting over the network: what a node has before it has anything, and what the first node serves.
//
//   kernel and first stage (in place of firmware) -> DHCP -> root over HTTP, unpacked in memory -> job
//
// Everything after the first stage goes through the simulated network, by programs of busybox.
#pragma once

#include <string>
#include <vector>

namespace weft::guest {

struct NetbootOptions {
  std::string busybox;               // its file; linked statically
  std::string init;                  // file of what starts the job
  std::string image;                 // a root to serve, as cpio; empty: one with busybox and the job
  std::vector<std::string> command;  // of the job
};

/// Throws UserError where busybox is not there, or needs libraries.
std::string find_busybox();
/// A file system with which a kernel starts.
std::string first_stage(const NetbootOptions& options);
/// The root that is served.
std::string root_image(const NetbootOptions& options);
/// What the serving node runs; `folder` has dhcp.conf and what is served in www.
std::string server_script(const NetbootOptions& options, const std::string& folder);

struct NetbootClient {
  std::string mac, address;
};
/// The DHCP server's configuration.
std::string dhcp_configuration(const std::string& server, const std::vector<NetbootClient>& clients);

}  // namespace weft::guest
