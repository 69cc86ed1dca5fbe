#include "nic/grants.hpp"

#include <fmt/format.h>

namespace weft::nic {

Grants::Grants(Fabric& fabric) : fabric_(fabric), ready_(fabric.nics()) {
  for (NicId nic = 0; nic < fabric.nics(); ++nic)
    if (const RootPort* port = fabric.root_port(nic)) ready_[nic] = port->ready();
}

NicId Grants::host_of(NicId device) const {
  const RootPort* port = fabric_.root_port(device);
  return port ? port->owner() : kNobody;
}

std::string Grants::assign(NicId device, NicId host, const std::vector<Interval>& memory) {
  RootPort* port = fabric_.root_port(device);
  if (!port) return fmt::format("node {} has no root port", fabric_.node(device));
  if (port->owner() != kNobody) return fmt::format("node {} has it", fabric_.node(port->owner()));
  if (fabric_.now() < ready_[device]) return "it is being reset";
  OnChip& chip = fabric_.on_chip(device);
  for (Interval interval : memory) {
    interval.target = host;
    if (chip.open(interval)) continue;
    chip.close(host);
    return fmt::format("addresses from {:#x} on lead elsewhere already", interval.first);
  }
  port->assign(host);
  return "";
}

void Grants::release(NicId device) {
  RootPort& port = *fabric_.root_port(device);
  const NicId host = port.owner();
  if (host == kNobody) return;
  port.release();
  fabric_.on_chip(device).close(host);
  fabric_.on_chip(host).close(device);
  ready_[device] = fabric_.now() + kReset;
}

void Grants::host_ended(NicId host) {
  for (NicId device = 0; device < fabric_.nics(); ++device)
    if (fabric_.root_port(device) && fabric_.root_port(device)->owner() == host) release(device);
}

}  // namespace weft::nic
