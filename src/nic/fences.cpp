#include "nic/fences.hpp"

namespace weft::nic {

void Fences::count(PortNo port, NicId target) {
  if (ports_.size() <= port) ports_.resize(port + 1);
  Of& of = ports_[port];
  if (of.targets.size() <= target) of.targets.resize(context_.nodes.size());
  Unanswered& u = of.targets[target];
  if (u.sent++ == u.flushed) of.open.push_back(target);
}

void Fences::uncount(PortNo port, NicId target) {
  Of& of = ports_[port];
  Unanswered& u = of.targets[target];
  if (--u.sent == u.flushed) std::erase(of.open, target);
}

bool Fences::wait(PortNo port) {
  if (!waiting(port)) return false;
  for (NicId target : ports_[port].open) {
    Unanswered& u = ports_[port].targets[target];
    if (u.requested == u.sent) continue;
    u.requested = u.sent;
    request(port, target);
  }
  return true;
}

void Fences::request(PortNo port, NicId target) {
  std::uint32_t index = context_.new_packet();
  Header& h = context_.packets[index].header;
  h.kind = PacketKind::Flush;
  h.from = interface_;
  h.to = target;
  h.source_port = port;
  h.value = ports_[port].targets[target].sent;
  h.bytes = 16;
  egress_.launch(index, context_.now() + context_.nic.send_latency);
}

void Fences::flushed(const Header& h) {
  if (h.source_port >= ports_.size() || h.from >= ports_[h.source_port].targets.size()) return;
  Of& of = ports_[h.source_port];
  Unanswered& u = of.targets[h.from];
  auto value = static_cast<std::uint32_t>(h.value);
  if (static_cast<std::int32_t>(value - u.flushed) > 0) u.flushed = value;
  if (u.flushed == u.sent) std::erase(of.open, h.from);
}

void Fences::cut_off(PortNo port, NicId target) {
  if (port >= ports_.size() || target >= ports_[port].targets.size()) return;
  ports_[port].targets[target].flushed = ports_[port].targets[target].sent;
  std::erase(ports_[port].open, target);
}

}  // namespace weft::nic
