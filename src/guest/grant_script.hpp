// What is asked of a running job's accelerators, in words: by a script, which says when, or over the job's
// control socket, at the time it comes.
//
//   at 2s assign nvme.1 to node0     the kernel of node0 finds it on its bus
//   at 3s release nvme.1             its kernel lets go of it first
//   at 4s reclaim nvme.1             at once, whatever its host is doing with it
//   at 5s inject from 0 into 22 ConfigRead1 01:00.0 0x0 4
//                                    a packet of PCI Express, between nodes of the machine
//   at 6s inject from port 22 into 0 MemoryWrite 0x1000 00
//                                    as if a device below its port had sent it
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.hpp"
#include "base/quantity.hpp"
#include "network/packet.hpp"

namespace weft::guest {

/// An accelerator that a job may be granted: the device of a node, and with it all that is below the same
/// root port.
struct PooledDevice {
  std::string name;  // kind and number, as "nvme.1"
  network::EndpointId node = 0;
};

struct GrantRequest {
  enum class Kind { List, Assign, Release, Reclaim, Inject } kind = Kind::List;
  Time at{0};
  std::size_t device = 0;  // number in the pool; kAny: a free one of the kind
  std::string device_kind;
  std::size_t host = 0;  // number of the Linux node
  // Of a packet that is put in:
  network::EndpointId from = 0, to = 0;
  bool from_port = false;
  std::vector<std::uint8_t> packet;
  std::string text;  // as written, without the time
  static constexpr std::size_t kAny = ~std::size_t{0};
};

/// What requests may name.
struct GrantNames {
  const std::vector<PooledDevice>& pool;
  const std::vector<network::EndpointId>& place;  // of Linux nodes
};

/// A script; `source` names it in messages. Mistakes go to `problems`, each with its line and column.
std::vector<GrantRequest> parse_grant_script(std::string_view text, const std::string& source,
                                             const GrantNames& names, Diagnostics& problems);
/// One request without a time.
GrantRequest parse_grant_request(std::string_view text, const std::string& source, const GrantNames& names,
                                 Diagnostics& problems);

/// What a program of a Linux node asks: "2 assign nvme", its number and what.
struct NodeQuestion {
  unsigned number = 0;
  GrantRequest request;
  std::string refused;  // why it is; empty: it is carried out, as far as it can be
};
/// A node asks for itself, and gives back what it has. Nothing where there is no number to answer to.
std::optional<NodeQuestion> parse_node_question(std::string_view text, std::size_t node,
                                                const GrantNames& names);

}  // namespace weft::guest
