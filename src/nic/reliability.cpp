#include "nic/reliability.hpp"

#include <algorithm>
#include <utility>

namespace weft::nic {

bool Reliability::take_context(Outgoing& x) {
  if (x.has_context) return true;
  if (contexts_ >= context_.nic.send_contexts) {
    ++counters_.context_pauses;
    return false;  // goes on when another operation is done
  }
  ++contexts_;
  return x.has_context = true;
}

void Reliability::give_context(Outgoing& x) {
  if (std::exchange(x.has_context, false)) --contexts_;
}

void Reliability::connect(Outgoing& x, std::uint32_t index, std::uint32_t packet) {
  Time now = context_.now();
  x.connecting = true;
  if (x.d.operation == Operation::Put && x.first_data.value == 0)
    x.first_data = bus_.from_memory(
        now, static_cast<std::int64_t>(std::min(context_.payload_to(x.to), x.d.length)), x.local.space);
  egress_.launch(packet, now + context_.nic.send_latency);
  set_alarm(x, index);
}

void Reliability::connected(Outgoing& x) {
  if (x.connected) return;
  x.connected = true;
  ++x.epoch;
}

void Reliability::refused(Outgoing& x, std::uint32_t index) {
  ++x.epoch;
  context_.at(context_.now() + Time{context_.nic.timeout.value / 8 + 1}, What::Reconnect, interface_,
              new_alarm(x, index));
}

std::uint32_t Reliability::new_alarm(const Outgoing& x, std::uint32_t index) {
  std::uint32_t alarm = alarms_.take();
  alarms_[alarm] = {index, x.generation, x.epoch};
  return alarm;
}

void Reliability::set_alarm(Outgoing& x, std::uint32_t index) {
  context_.at(context_.now() + patience(context_.nic, x.attempt), What::Timeout, interface_,
              new_alarm(x, index));
}

Reliability::Verdict Reliability::time_out(std::uint32_t index, std::uint32_t& operation) {
  Alarm alarm = alarms_[index];
  alarms_.give(index);
  Outgoing& x = outgoing_[operation = alarm.operation];
  if (x.generation != alarm.generation || x.finished || x.epoch != alarm.epoch) return Verdict::Nothing;
  if (const Time due = x.heard + context_.nic.timeout; x.heard.value && due > context_.now()) {
    x.attempt = 0;  // data of a long get comes: it is not over yet
    context_.at(due, What::Timeout, interface_, new_alarm(x, operation));
    return Verdict::Nothing;
  }
  ++x.epoch;
  ++x.attempt;
  if (x.attempt > context_.nic.retries) return Verdict::GiveUp;
  ++counters_.retries;
  if (!x.connected) {
    x.connecting = false;
    return Verdict::Connect;
  }
  return x.queued ? Verdict::Nothing : Verdict::Repeat;  // not wholly sent: a later alarm sees to it
}

bool Reliability::reconnect(std::uint32_t index, std::uint32_t& operation) {
  Alarm alarm = alarms_[index];
  alarms_.give(index);
  Outgoing& x = outgoing_[operation = alarm.operation];
  if (x.generation != alarm.generation || x.finished || x.connected) return false;
  x.connecting = false;
  return true;
}

}  // namespace weft::nic
