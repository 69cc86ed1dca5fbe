// Reads and writes registers of a machine's chips from one of its nodes, over its network, as a program on
// that node would: for those who manage a machine from inside of this process.
//
//   RegisterClient client(machine, network, 0);
//   Answer answer = client.read({.node = 5}, spot("link.neighbour").at(2));
//   if (answer.status == Status::Ok) ... spot("link.neighbour.number").of(answer.values[0])
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nic/chips.hpp"
#include "nic/fabric.hpp"

namespace weft::nic {

/// An interface by its node, or a router.
struct Chip {
  network::EndpointId node = 0;
  ChipNumber router = kInterfaceChip;  // router_chip(...) in place of a node
};

class RegisterClient : private Host {
 public:
  struct Request {
    Chip chip;
    std::uint64_t offset = 0;
    unsigned registers = 1;
  };
  struct Answer {
    Status status = Status::Ok;
    std::vector<std::uint64_t> values = {};
    Time asked{0}, answered{0};
  };

  RegisterClient(const machine::Machine& machine, network::Network& network, network::EndpointId node,
                 std::uint64_t seed = 1);

  Answer read(const Chip& chip, std::uint64_t offset, unsigned registers = 1);
  Answer write(const Chip& chip, std::uint64_t offset, std::uint64_t value);
  /// Asks for all of them side by side, as many at a time as there is room for; answers are in their order.
  std::vector<Answer> read_all(std::span<const Request> requests);

  Time now() const { return fabric_.now(); }
  Fabric& fabric() { return fabric_; }

 private:
  Descriptor descriptor(const Chip& chip, Operation operation, std::uint64_t offset,
                        unsigned registers) const;
  /// Posts the work of a slot and runs until it has ended.
  void post(const Descriptor& descriptor, std::size_t slot);
  void run_until_one_has_ended();

  bool read(node::SpaceId, std::uint64_t address, void* to, std::uint64_t length) override;
  bool write(node::SpaceId, std::uint64_t address, const void* from, std::uint64_t length) override;
  bool has_space(node::NodeId, node::SpaceId) const override { return false; }
  void message(PortRef, const Message&) override {}
  void event(PortRef, const Event& event) override { events_.push_back(event); }
  void slot_free(PortRef, Time) override {}

  event::EventQueue queue_;
  Fabric fabric_;
  std::uint64_t slot_bytes_;
  std::vector<std::uint8_t> memory_;  // a place for each answer under way
  PortRef port_;
  std::uint64_t key_ = 0;
  std::vector<Event> events_;
};

}  // namespace weft::nic
