// What nodes say while they run, from whichever of their files it comes.
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/diagnostics.hpp"
#include "guest/cluster.hpp"

namespace weft::guest {

namespace {

constexpr int kLook = 1000;  // milliseconds between looks at processes

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
      if (file >= 0) files_->add(i, file, FileWatch::Tell::WhileThere);
    };
    add(node.time_door.number());
    add(node.device_door.number());
    for (const File& door : node.pci_doors) add(door.number());
    add(node.process.console());
  }
}

void Cluster::serve_until_stopped() {
  auto runs = [&](std::size_t node) { return nodes_[node]->runs(); };
  while (std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->runs(); })) {
    const std::span<const FileWatch::Ready> ready = files_->wait(kLook, runs);
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
    files_->add(number, clock.number(), FileWatch::Tell::OnNews);
    node.calendar.connect(std::move(clock));
  } else if (file == node.device_door.number()) {
    connect(number, vhost, node.device_door);
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
  files_->add(number, socket.number(), FileWatch::Tell::WhileThere);
  vhost.connect(std::move(socket));
}

void Cluster::serve_device(GuestNode& node, VhostUser& vhost, const char* kind) {
  if (vhost.handle([&] { return still_waiting(node); })) return;
  // A kernel that ends closes its devices first.
  if (vhost.error().empty()) return vhost.disconnect();
  fail(node, fmt::format("its {} device was told {}", kind, vhost.error()));
}

}  // namespace weft::guest
