#include "nic/notifier.hpp"

#include <algorithm>
#include <utility>

namespace weft::nic {

Notifier::Queue& Notifier::queue(PortNo port) {
  if (port >= queues_.size()) queues_.resize(port + 1);
  return queues_[port];
}

void Notifier::notify(PortNo port, std::uint32_t generation, const Event& event, Time when) {
  std::uint32_t index = tellings_.take();
  tellings_[index] = {port, generation, event};
  context_.at(std::max(context_.now(), bus_.to_memory(when, 16)), What::Tell, interface_, index);
}

void Notifier::interrupt(Interrupt::Cause cause, PortNo port, Event event) {
  if (!ports_.is_open(port) || !(ports_[port].interrupts & cause)) return;
  event.kind = EventKind::Interrupt;
  event.spare[1] = cause;
  const std::uint32_t index = tellings_.take();
  tellings_[index] = {port, ports_[port].generation, event};
  const Cause entry{{cause, event.node, port, context_.now()}, index};
  if (causes_.size() < context_.nic.interrupt_slots) return write_cause(entry);
  ++counters_.interrupts_held;
  late_.push_back(entry);
}

void Notifier::write_cause(const Cause& cause) {
  causes_.push_back(cause);
  if (causes_.size() > 1) return;  // the processor has been interrupted and will find this one too
  ++counters_.interrupts;
  context_.at(context_.now() + context_.host_parameters.interrupt, What::Interrupt, interface_, 0);
}

void Notifier::handle_interrupt() {
  for (const Cause& cause : std::exchange(causes_, {})) tell(cause.telling);
  for (; !late_.empty() && causes_.size() < context_.nic.interrupt_slots; late_.pop_front()) {
    late_.front().entry.written = context_.now();
    write_cause(late_.front());
  }
}

std::vector<Interrupt> Notifier::interrupts() const {
  std::vector<Interrupt> out;
  for (const Cause& cause : causes_) out.push_back(cause.entry);
  return out;
}

void Notifier::keep_error(const ErrorPacket& packet) {
  if (!context_.nic.error_slots) return;
  if (errors_.size() == context_.nic.error_slots) errors_.pop_front();
  errors_.push_back(packet);
}

void Notifier::tell(std::uint32_t index) {
  Telling telling = tellings_[index];
  tellings_.give(index);
  if (!ports_.is_open(telling.port, telling.generation)) return;
  telling.event.time = context_.now().value;
  if (ports_[telling.port].device != kNobody) return on_device(telling.port, telling.event);
  Queue& q = queue(telling.port);
  if (q.events >= context_.nic.event_slots || !q.held.empty()) {
    ++counters_.events_held;
    if (q.held.empty()) {
      Event overflow;
      overflow.kind = EventKind::Overflow;
      overflow.node = context_.nodes[interface_];
      overflow.port = telling.port;
      q.held.push_back(overflow);
    }
    q.held.push_back(telling.event);
    return;
  }
  ++q.events;
  context_.queue.stop();
  context_.host.event({interface_, telling.port}, telling.event);
}

void Notifier::consumed(PortNo port, unsigned events) {
  Queue& q = queue(port);
  q.events -= std::min(q.events, events);
  while (!q.held.empty() && q.events < context_.nic.event_slots) {
    Event event = q.held.front();
    q.held.pop_front();
    event.time = context_.now().value;
    ++q.events;
    context_.queue.stop();
    context_.host.event({interface_, port}, event);
  }
}

void Notifier::reset(PortNo port) { queue(port) = {}; }
void Notifier::close(PortNo port) { queue(port).held.clear(); }

Event event_at_target(const Context& context, const Header& header, EventKind kind) {
  Event event;
  event.kind = kind;
  event.operation = header.operation;
  event.status = header.damaged ? Status::Damaged : Status::Ok;
  event.node = context.nodes[is_answer(header.kind) ? header.to : header.from];
  event.port = header.source_port;
  event.tag = header.tag;
  event.length = header.length;
  event.data = header.operand;
  event.spare[0] = header.compare;
  return event;
}

}  // namespace weft::nic
