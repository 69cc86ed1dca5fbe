// What is asked of Linux nodes, and how they are called.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "guest/grant_script.hpp"
#include "guest/storm.hpp"
#include "host/run.hpp"
#include "network/packet.hpp"
#include "nic/backdoor.hpp"

namespace weft::guest {

/// An accelerator that a Linux node has from the start.
struct Assignment {
  std::size_t device = 0;  // number in the pool
  std::size_t host = 0;    // number of the Linux node
};

/// Nodes mount it only where somebody asks for it.
inline host::StorageOptions no_files() {
  host::StorageOptions out;
  out.mount.clear();
  return out;
}

struct BootOptions {
  std::string kernel, init;          // their files
  std::vector<std::string> command;  // of the job, run on every node
  std::vector<network::EndpointId> place;
  std::vector<std::string> accelerator_of;  // what runs each of these where no processor does: "knc0"
  DataSize memory{64 << 20};                // of a node
  std::uint64_t seed = 1;
  std::int64_t date = 1'767'225'600;           // when virtual time begins: 1 January 2026
  double patience = 60;                        // seconds a node may compute without letting time move
  bool look_ahead = true;                      // false: a node asks for every step of its clock
  std::optional<std::size_t> shell;            // the node whose console is the user's terminal
  bool netboot = false;                        // the first node serves the others their roots
  std::string image;                           // the root it serves; empty: busybox and the job
  std::vector<network::EndpointId> skeletons;  // nodes without a kernel that boot by a recording
  Recording recording;                         // for these
  bool record = false;                         // the boot of node 1, which is alone with node 0
  std::vector<PooledDevice> pool;              // accelerators that the job may be granted
  std::vector<Assignment> accelerators;
  std::vector<GrantRequest> grants;  // a script of them
  std::string tlp_dump;              // file for packets of PCI Express; empty: none
  nic::TlpFilter tlp_filter;
  host::StorageOptions files = no_files();  // the machine's file system, where nodes mount it
  bool control = false;                     // others may ask for them while the job runs

  std::string accelerator(std::size_t node) const {
    return node < accelerator_of.size() ? accelerator_of[node] : std::string();
  }
};

inline std::string node_name(std::size_t node) { return fmt::format("node{}", node); }

/// "10.0.0.1" for the first.
inline std::string node_address(std::size_t node) {
  const std::size_t number = node + 1;
  return fmt::format("10.{}.{}.{}", number >> 16 & 255, number >> 8 & 255, number & 255);
}

}  // namespace weft::guest
