// Others that live on the fabric of a run, in the same virtual time: kernels of Linux nodes beside ranks.
//
// Ranks and neighbours have interfaces of their own, and nothing else in common but the network and the time.
// Neighbours take their turns while no rank runs. When one of them wants to go on at a time, the fabric comes
// as far as that and no further; at the same time they go before ranks.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "event/event_queue.hpp"
#include "nic/fabric.hpp"

namespace weft::host {

class StorageCalls;

class Neighbours {
 public:
  virtual ~Neighbours() = default;

  /// The nodes of the machine that are theirs; no rank is there.
  virtual std::vector<network::EndpointId> nodes() const = 0;
  /// What the fabric tells them, of their interfaces and of their memory.
  virtual nic::Host& host() = 0;
  /// The fabric has interfaces for their nodes. Their spaces of memory are numbered from `first_space` on.
  virtual void join(nic::Fabric& fabric, event::EventQueue& queue, node::SpaceId first_space) = 0;

  /// Those of them that use files of the machine's file system, each on its node.
  virtual std::vector<network::EndpointId> file_users() const { return {}; }
  /// The file system they find; the first of them has this number there.
  virtual void use_files(StorageCalls&, std::uint32_t) {}

  /// They live from now on, until they wait.
  virtual void start() = 0;
  /// When the first of them wants to go on; kForever: none does, unless the fabric tells it something.
  virtual Time first_turn() const = 0;
  /// Those whose time has come go on, until all wait again.
  virtual void take_turn() = 0;
  /// There are no ranks any more: until all of them have ended, too.
  virtual void go_on_alone() = 0;
  /// The run is over, whatever they do.
  virtual void end() = 0;
};

/// Hands on what the fabric tells to whom it concerns.
class SharedHost : public nic::Host {
 public:
  /// `nodes`: those of all interfaces, in order.
  SharedHost(nic::Host& ranks, Neighbours& neighbours, const std::vector<network::EndpointId>& nodes,
             node::SpaceId first_space)
      : ranks_(ranks), others_(neighbours.host()), nodes_(neighbours.nodes()), first_space_(first_space) {
    std::sort(nodes_.begin(), nodes_.end());
    for (network::EndpointId node : nodes) is_other_.push_back(has_node(node));
  }

 private:
  bool has_node(network::EndpointId node) const {
    return std::binary_search(nodes_.begin(), nodes_.end(), node);
  }
  nic::Host& of_space(node::SpaceId space) { return space < first_space_ ? ranks_ : others_; }
  nic::Host& of(nic::PortRef port) { return is_other_[port.nic] ? others_ : ranks_; }

  bool read(node::SpaceId space, std::uint64_t address, void* to, std::uint64_t length) override {
    return of_space(space).read(space, address, to, length);
  }
  bool write(node::SpaceId space, std::uint64_t address, const void* from, std::uint64_t length) override {
    return of_space(space).write(space, address, from, length);
  }
  bool has_space(node::NodeId node, node::SpaceId space) const override {
    return (space < first_space_ ? ranks_ : others_).has_space(node, space);
  }
  void loaded(std::uint64_t token, nic::Status status, std::uint64_t value) override {
    ranks_.loaded(token, status, value);
  }
  void register_read(std::uint64_t token, std::uint64_t value) override {
    ranks_.register_read(token, value);  // neighbours ask for none
  }
  void device_interrupt(node::NodeId node, node::DeviceId device) override {
    (has_node(node) ? others_ : ranks_).device_interrupt(node, device);
  }
  void device_copied(std::uint64_t token, bool well) override {
    ranks_.device_copied(token, well);  // others ask for none
  }
  void message(nic::PortRef port, const nic::Message& message) override { of(port).message(port, message); }
  void event(nic::PortRef port, const nic::Event& event) override { of(port).event(port, event); }
  void slot_free(nic::PortRef port, Time at) override { of(port).slot_free(port, at); }

  nic::Host &ranks_, &others_;
  std::vector<network::EndpointId> nodes_;
  node::SpaceId first_space_;
  std::vector<bool> is_other_;  // by interface
};

}  // namespace weft::host
