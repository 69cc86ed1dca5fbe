// What nodes say while they run, from whichever of their files it comes.
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/diagnostics.hpp"
#include "guest/cluster.hpp"

namespace weft::guest {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kTimeToEnd{5};  // for a kernel that has closed its sockets

double seconds_since(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

/// Whoever has knocked; nobody else will.
File connected(File& door) {
  File out(accept4(door.number(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!out) throw UserError(fmt::format("a node cannot be connected: {}", std::strerror(errno)));
  door.close();
  return out;
}

}  // namespace

void Cluster::watch_files() {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    GuestNode& node = *nodes_[i];
    auto add = [&](int file) {
      if (file >= 0) sockets_->add(i, file, FileWatch::Tell::WhileThere);
    };
    add(node.time_door.number());
    add(node.device_door.number());
    add(node.files_door.number());
    for (const File& door : node.pci_doors) add(door.number());
    add(node.process.console());
  }
}

void Cluster::serve_until_stopped() {
  auto runs = [&](std::size_t node) { return nodes_[node]->runs(); };
  while (std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->runs(); })) {
    const std::span<const FileWatch::Ready> ready = sockets_->wait(kLook, runs);
    for (const FileWatch::Ready& one : ready)
      if (runs(one.node)) serve(one.node, one.file);
    if (ready.empty())
      for (auto& node : nodes_)
        if (node->runs()) look_after(*node);
    if (interrupted()) failure_ = "interrupted";
    if (!failure_.empty()) return;
    tell_progress();
  }
}

void Cluster::serve(std::uint32_t number, int file) {
  GuestNode& node = *nodes_[number];
  VhostUser& vhost = node.ethernet->vhost();
  if (file == node.process.console()) {
    if (!node.console.gather(file)) connection_lost(node);
  } else if (file == node.time_door.number()) {
    File clock = connected(node.time_door);
    sockets_->add(number, clock.number(), FileWatch::Tell::OnNews);
    node.calendar.connect(std::move(clock));
  } else if (file == node.device_door.number()) {
    connect(number, vhost, node.device_door);
  } else if (file == node.files_door.number()) {
    connect(number, node.files->vhost(), node.files_door);
  } else if (node.files && file == node.files->vhost().socket()) {
    serve_device(node, node.files->vhost(), "file system's");
  } else if (file == node.calendar.socket()) {
    if (!node.calendar.handle(now(), [&] { return still_waiting(node); })) connection_lost(node);
  } else {
    for (std::size_t i = 0; i < node.pci_doors.size(); ++i) {
      VhostUser& slot = node.pci->slots()[i]->vhost();
      if (file == slot.socket()) return serve_device(node, slot, "PCI");
      if (file == node.pci_doors[i].number()) return connect(number, slot, node.pci_doors[i]);
    }
    if (file == vhost.socket()) serve_device(node, vhost, "network");
  }
}

void Cluster::connect(std::uint32_t number, VhostUser& vhost, File& door) {
  File socket = connected(door);
  sockets_->add(number, socket.number(), FileWatch::Tell::WhileThere);
  vhost.connect(std::move(socket));
}

void Cluster::serve_device(GuestNode& node, VhostUser& vhost, const char* kind) {
  if (vhost.handle([&] { return still_waiting(node); })) return;
  // A kernel that ends closes its devices first.
  if (vhost.error().empty()) return vhost.disconnect();
  fail(node, fmt::format("its {} device was told {}", kind, vhost.error()));
}

/// Asked each second while a message of the node is waited for.
bool Cluster::still_waiting(GuestNode& node) {
  look_after(node);
  return failure_.empty() && !node.ended;
}

void Cluster::look_after(GuestNode& node) {
  if (interrupted()) failure_ = "interrupted";
  tell_progress();
  if (auto ending = node.process.ending()) return ended(node, *ending);
  const double since = seconds_since(node.running_since);
  if (since > options_.patience && node.process.processor_time() > options_.patience)
    fail(node,
         fmt::format("it has computed for {:.0f} s without waiting for anything: virtual time cannot move",
                     since));
}

/// Its sockets are closed: it ends, or is ended.
void Cluster::connection_lost(GuestNode& node) {
  const auto from = Clock::now();
  while (Clock::now() - from < kTimeToEnd) {
    if (auto ending = node.process.ending()) return ended(node, *ending);
    usleep(1000);
  }
  fail(node, "it has closed its clock and does not end");
}

void Cluster::ended(GuestNode& node, const KernelEnding& ending) {
  if (node.ended) return;
  node.ended = node.ran = true;
  node.ending = ending;
  node.end = std::max(now(), node.calendar.clock());
  node.console.gather(node.process.console());
  node.calendar.disconnect();
  node.ethernet->stop();
  if (node.pci) node.pci->stop();
  if (node.files) node.files->stop();
  if (accelerators_) accelerators_->node_ended(node);
  node.process.end();
  if (ending.signal && node.failure.empty())
    node.failure =
        fmt::format("its kernel was ended by signal {} ({})", ending.signal, strsignal(ending.signal));
}

void Cluster::fail(GuestNode& node, std::string why) {
  if (node.ended) return;
  node.failure = std::move(why);
  node.console.gather(node.process.console());
  node.process.end();
  ended(node, {0, 0});
}

void Cluster::tell_progress() {
  if (!on_progress || Clock::now() < next_progress_) return;
  next_progress_ = Clock::now() + kProgressInterval;
  on_progress(now());
}

}  // namespace weft::guest
