// ExaNeSt: FPGAs on quad boards (QFDBs), QFDBs on mezzanines, mezzanines in chassis, chassis in racks (F58).
//
// Every FPGA is a router with one endpoint of the same number. FPGAs are numbered rack by rack, chassis by
// chassis, mezzanine by mezzanine, QFDB by QFDB (x fastest); after them come the top-of-rack switches, one
// for each rack. FPGA 0 of a QFDB, its network FPGA, owns all links that leave the QFDB.
#pragma once

#include "topology/graph.hpp"

namespace weft::topology {

class ExanestShape : public Shape {
 public:
  /// Ports side by side that lead to the same place; a count of 0: no route there.
  struct Ports {
    PortIndex first = 0, count = 0;
  };
  /// In the chassis: x and y within the mezzanine, z from one mezzanine to the next.
  enum class Direction : std::uint8_t { PlusX, MinusX, PlusY, MinusY, PlusZ, MinusZ };
  static constexpr Direction kDirections[] = {Direction::PlusX,  Direction::MinusX, Direction::PlusY,
                                              Direction::MinusY, Direction::PlusZ,  Direction::MinusZ};

  std::uint32_t racks = 1, chassis_per_rack = 1, mezzanines = 1;  // mezzanines in a chassis
  std::uint32_t grid_x = 1, grid_y = 1;                           // QFDBs on a mezzanine
  std::uint32_t fpgas_per_qfdb = 1;
  bool lvds = false;                                // a low-latency link beside each high-throughput one
  std::uint32_t square_cables = 1, sfp_cables = 1;  // side by side: along x and y; along z
  std::uint32_t uplinks = 0;      // from each chassis to the switch; 0: there are no switches
  std::uint32_t rack_cables = 1;  // between every two switches, side by side

  std::uint32_t qfdbs_per_mezzanine() const { return grid_x * grid_y; }
  std::uint32_t chassis_fpgas() const { return mezzanines * qfdbs_per_mezzanine() * fpgas_per_qfdb; }
  std::uint32_t rack_fpgas() const { return chassis_per_rack * chassis_fpgas(); }
  std::uint32_t fpgas() const { return racks * rack_fpgas(); }
  std::uint32_t switches() const { return uplinks ? racks : 0; }

  bool is_switch(RouterId r) const { return r >= fpgas(); }
  std::uint32_t rack(RouterId r) const { return is_switch(r) ? r - fpgas() : r / rack_fpgas(); }
  RouterId switch_of(std::uint32_t rack) const { return fpgas() + rack; }

  // Where an FPGA is.
  std::uint32_t chassis(RouterId r) const {
    return r / chassis_fpgas() % chassis_per_rack;
  }                                                                    // within its rack
  std::uint32_t fpga(RouterId r) const { return r % fpgas_per_qfdb; }  // within its QFDB
  std::uint32_t qfdb(RouterId r) const {
    return r / fpgas_per_qfdb % qfdbs_per_mezzanine();
  }  // within its mezzanine
  std::uint32_t x(RouterId r) const { return qfdb(r) % grid_x; }
  std::uint32_t y(RouterId r) const { return qfdb(r) / grid_x; }
  std::uint32_t z(RouterId r) const { return r / fpgas_per_qfdb / qfdbs_per_mezzanine() % mezzanines; }
  bool is_network_fpga(RouterId r) const { return fpga(r) == 0; }
  RouterId network_fpga(RouterId r) const { return r - fpga(r); }  // of the same QFDB
  bool same_qfdb(RouterId a, RouterId b) const { return network_fpga(a) == network_fpga(b); }
  /// Is it the same chassis of the same rack?
  bool same_chassis(RouterId a, RouterId b) const { return a / chassis_fpgas() == b / chassis_fpgas(); }
  /// The network FPGA that owns uplink k of a chassis: QFDB k of its mezzanine 0.
  RouterId uplink_fpga(std::uint32_t rack, std::uint32_t chassis, std::uint32_t k) const {
    return rack * rack_fpgas() + chassis * chassis_fpgas() + k * fpgas_per_qfdb;
  }
  /// The network FPGA next to this one in a direction, or kNone at the edge.
  RouterId neighbour(RouterId network_fpga, Direction direction) const;

  // Ports of an FPGA, in this order: low-latency links to the others of its QFDB, high-throughput links to
  // them; on a network FPGA the six directions, as far as there is a neighbour, and the uplink; the endpoint.
  Ports lvds_ports(RouterId from, RouterId to) const {
    return {other(from, to), static_cast<PortIndex>(lvds)};
  }
  Ports hss_ports(RouterId from, RouterId to) const {
    return {static_cast<PortIndex>(lvds * (fpgas_per_qfdb - 1) + other(from, to)), 1};
  }
  Ports direction_ports(RouterId network_fpga, Direction direction) const;
  Ports uplink_ports(RouterId fpga) const;
  PortIndex endpoint_port(RouterId fpga) const;

  // Ports of a switch: to each chassis of its rack, port k to the chassis' uplink k; to each other switch.
  Ports chassis_ports(std::uint32_t chassis) const {
    return {static_cast<PortIndex>(chassis * uplinks), static_cast<PortIndex>(uplinks)};
  }
  Ports rack_ports(std::uint32_t from_rack, std::uint32_t to_rack) const;

  std::uint32_t port_count(RouterId r) const;
  static constexpr std::uint32_t kQfdbLinks = 10;  // on the connector of a QFDB
  /// Links that leave the QFDB of a network FPGA; no more than these.
  std::uint32_t external_links(RouterId network_fpga) const;

  std::string router_label(RouterId r) const override;

 private:
  // The place of another FPGA of the QFDB among those that are not `from`.
  PortIndex other(RouterId from, RouterId to) const {
    return static_cast<PortIndex>(fpga(to) < fpga(from) ? fpga(to) : fpga(to) - 1);
  }
  std::uint32_t first_external() const { return (1 + lvds) * (fpgas_per_qfdb - 1); }
  std::uint32_t cables_toward(RouterId network_fpga, Direction direction) const {
    if (neighbour(network_fpga, direction) == kNone) return 0;
    return direction < Direction::PlusZ ? square_cables : sfp_cables;
  }
};

}  // namespace weft::topology
