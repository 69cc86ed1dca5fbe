#include "nic/register_client.hpp"

#include <algorithm>
#include <cstring>

namespace weft::nic {

namespace {

constexpr std::uint64_t kBase = 0x1000'0000;  // of its memory, as the interface sees it

}  // namespace

RegisterClient::RegisterClient(const machine::Machine& machine, network::Network& network,
                               network::EndpointId node, std::uint64_t seed)
    : fabric_(machine, network, queue_, *this, {node}, seed),
      slot_bytes_(static_cast<std::uint64_t>(machine.description.nic.payload.value)),
      memory_(slot_bytes_ * std::max(1u, std::min(machine.description.nic.queue_slots, 64u))) {
  PortNo number = 0;
  const Status opened = fabric_.open(0, 0, false, number);
  WEFT_CHECK(opened == Status::Ok, "the first port of an interface can be opened");
  port_ = {0, number};
  fabric_.register_memory(port_, kBase, memory_.size(), kAllRights, key_);
}

bool RegisterClient::read(node::SpaceId, std::uint64_t address, void* to, std::uint64_t length) {
  if (address < kBase || length > memory_.size() || address - kBase > memory_.size() - length) return false;
  std::memcpy(to, memory_.data() + (address - kBase), length);
  return true;
}

bool RegisterClient::write(node::SpaceId, std::uint64_t address, const void* from, std::uint64_t length) {
  if (address < kBase || length > memory_.size() || address - kBase > memory_.size() - length) return false;
  std::memcpy(memory_.data() + (address - kBase), from, length);
  return true;
}

Descriptor RegisterClient::descriptor(const Chip& chip, Operation operation, std::uint64_t offset,
                                      unsigned registers) const {
  Descriptor d;
  d.operation = operation;
  d.flags = kRegisters | kNotifyDone;
  d.node = chip.node;
  d.remote_key = chip.router;
  d.remote_offset = offset;
  d.length = std::uint64_t{registers} * 8;
  d.posted = fabric_.now().value;
  return d;
}

void RegisterClient::post(const Descriptor& descriptor, std::size_t slot) {
  Descriptor d = descriptor;
  d.context = slot;
  d.local_key = key_;
  d.local_offset = slot * slot_bytes_;
  fabric_.post(port_, d);
}

void RegisterClient::run_until_one_has_ended() {
  while (events_.empty()) {
    WEFT_CHECK(!fabric_.idle(), "a request for registers ends");
    fabric_.advance(network::kForever);
  }
}

RegisterClient::Answer RegisterClient::read(const Chip& chip, std::uint64_t offset, unsigned registers) {
  const Request request{chip, offset, registers};
  return read_all({&request, 1}).front();
}

RegisterClient::Answer RegisterClient::write(const Chip& chip, std::uint64_t offset, std::uint64_t value) {
  Answer out{.asked = now()};
  Descriptor d = descriptor(chip, Operation::ImmediatePut, offset, 1);
  std::memcpy(d.data, &value, 8);
  post(d, 0);
  run_until_one_has_ended();
  out.status = events_.front().status;
  out.answered = Time{events_.front().time};
  events_.clear();
  fabric_.consumed(port_, 0, 1);
  return out;
}

std::vector<RegisterClient::Answer> RegisterClient::read_all(std::span<const Request> requests) {
  std::vector<Answer> out(requests.size());
  std::vector<std::size_t> request_of(memory_.size() / slot_bytes_), free;
  for (std::size_t slot = request_of.size(); slot-- > 0;) free.push_back(slot);
  for (std::size_t asked = 0, answered = 0; answered < requests.size();) {
    for (; asked < requests.size() && !free.empty(); ++asked) {
      const Request& r = requests[asked];
      out[asked].asked = now();
      request_of[free.back()] = asked;
      post(descriptor(r.chip, Operation::Get, r.offset, r.registers), free.back());
      free.pop_back();
    }
    run_until_one_has_ended();
    for (const Event& event : events_) {
      Answer& answer = out[request_of[event.context]];
      answer.status = event.status;
      answer.answered = Time{event.time};
      if (event.status == Status::Ok) {
        answer.values.resize(event.length / 8);
        std::memcpy(answer.values.data(), memory_.data() + event.context * slot_bytes_, event.length);
      }
      free.push_back(event.context);
      ++answered;
    }
    fabric_.consumed(port_, 0, static_cast<unsigned>(events_.size()));
    events_.clear();
  }
  return out;
}

}  // namespace weft::nic
