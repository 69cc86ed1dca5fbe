#include "node/node.hpp"

#include <algorithm>

namespace weft::node {

DeviceKind::~DeviceKind() = default;

namespace {

constexpr std::int64_t kRegisterBytes = 8;
constexpr std::int64_t kCommandBytes = 64;  // of a copy: a descriptor and its doorbell

}  // namespace

DeviceId Node::find(std::string_view name) const {
  auto at = std::find_if(devices_.begin(), devices_.end(),
                         [&](const std::unique_ptr<Device>& device) { return device->name() == name; });
  return static_cast<DeviceId>(at - devices_.begin());
}

std::uint32_t Node::new_access(const Access& access) {
  std::uint32_t index = accesses_.take();
  accesses_[index] = access;
  return index;
}

void Node::read(DeviceId device, std::uint64_t offset, Time from, std::uint64_t token) {
  queue_.at(std::max(queue_.now(), bus_.to_device(from, 0)), component_, Read,
            new_access({device, offset, 0, token}));
}

void Node::write(DeviceId device, std::uint64_t offset, std::uint64_t value, Time from) {
  queue_.at(std::max(queue_.now(), bus_.to_device(from, kRegisterBytes)), component_, Write,
            new_access({device, offset, value, 0}));
}

void Node::copy(DeviceId device, const Copy& copy, Time from) {
  const std::uint32_t index = copies_.take();
  copies_[index] = {device, copy};
  queue_.at(std::max(queue_.now(), bus_.to_device(from, kCommandBytes)), component_, StartCopy, index);
}

void Node::copied(std::uint64_t token, bool well) {
  queue_.stop();
  processor_.device_copied(token, well);
}

void Node::raise(DeviceId device) { queue_.at(queue_.now() + interrupt_, component_, Interrupt, device); }

void Node::handle(const event::Event& event) {
  if (event.kind == Interrupt) {
    queue_.stop();
    return processor_.device_interrupt(id_, static_cast<DeviceId>(event.data));
  }
  auto index = static_cast<std::uint32_t>(event.data);
  if (event.kind == StartCopy) {
    const Asked asked = copies_[index];
    copies_.give(index);
    if (!devices_[asked.device]->copy(asked.copy)) copied(asked.copy.token, false);
    return;
  }
  Access& access = accesses_[index];
  if (event.kind == Read) {
    access.value = devices_[access.device]->read_register(access.offset);
    return queue_.at(bus_.to_processor(queue_.now(), kRegisterBytes), component_, Answer, index);
  }
  Access done = access;
  accesses_.give(index);
  if (event.kind == Write) return devices_[done.device]->write_register(done.offset, done.value);
  queue_.stop();
  processor_.register_read(done.token, done.value);
}

}  // namespace weft::node

WEFT_REGISTRY(weft::node::DeviceKind);
