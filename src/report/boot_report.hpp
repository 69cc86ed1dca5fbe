// The report of Linux nodes: JSON and a page of HTML.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "guest/cluster.hpp"
#include "guest/traffic.hpp"
#include "host/run.hpp"
#include "machine/machine.hpp"
#include "network/network.hpp"

namespace weft::report {

struct BootReport {
  const machine::Machine& machine;
  const guest::BootResult& result;
  const host::RunResult& ranks;  // that ran beside the nodes
  const guest::Traffic& traffic;
  std::string engine, command, version;
  std::uint64_t seed = 1;
  std::vector<std::size_t> captured;  // nodes whose frames are in nodeN.pcapng beside the page
  std::vector<network::Network::Incident> incidents;
};

Json boot_json(const BootReport& report);
std::string boot_page(const BootReport& report);

}  // namespace weft::report
