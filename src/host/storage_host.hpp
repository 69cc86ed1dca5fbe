// What the fabric tells, for the agents of the machine's file system or for ranks.
#pragma once

#include "host/storage_calls.hpp"

namespace weft::host {

class StorageHost final : public nic::Host {
 public:
  explicit StorageHost(nic::Host& ranks) : ranks_(ranks) {}

  /// From now on; its servers are made when somebody uses it.
  void add(StorageCalls& storage) { storage_ = &storage; }

 private:
  storage::Service* service_of(nic::PortRef port) {
    storage::Service* service = storage_ ? storage_->service() : nullptr;
    return service && service->has_port(port) ? service : nullptr;
  }

  // Data of files goes another way: what is read and written there stands for it.
  bool read(node::SpaceId space, std::uint64_t address, void* to, std::uint64_t length) override {
    return space == storage::Service::kSpace || ranks_.read(space, address, to, length);
  }
  bool write(node::SpaceId space, std::uint64_t address, const void* from, std::uint64_t length) override {
    return space == storage::Service::kSpace || ranks_.write(space, address, from, length);
  }
  bool has_space(node::NodeId node, node::SpaceId space) const override {
    return ranks_.has_space(node, space);
  }
  void loaded(std::uint64_t token, nic::Status status, std::uint64_t value) override {
    ranks_.loaded(token, status, value);
  }
  void register_read(std::uint64_t token, std::uint64_t value) override {
    ranks_.register_read(token, value);
  }
  void device_interrupt(node::NodeId node, node::DeviceId device) override {
    ranks_.device_interrupt(node, device);
  }
  void device_copied(std::uint64_t token, bool well) override {
    ranks_.device_copied(token, well);  // others ask for none
  }
  void message(nic::PortRef port, const nic::Message& message) override {
    if (storage::Service* service = service_of(port)) return service->message(port, message);
    ranks_.message(port, message);
  }
  void event(nic::PortRef port, const nic::Event& event) override {
    if (storage::Service* service = service_of(port)) return service->event(port, event);
    ranks_.event(port, event);
  }
  void slot_free(nic::PortRef port, Time at) override {
    if (!service_of(port)) ranks_.slot_free(port, at);
  }

  nic::Host& ranks_;
  StorageCalls* storage_ = nullptr;
};

}  // namespace weft::host
