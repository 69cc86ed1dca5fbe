// What a cluster's nodes say while they run: their clocks, devices and consoles.
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "guest/cluster.hpp"

namespace weft::guest {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kTimeToEnd{5};  // for a kernel that has closed its sockets

double seconds_since(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

}  // namespace

void Cluster::serve_until_stopped() {
  std::vector<pollfd> files;
  std::vector<GuestNode*> whose;
  for (;;) {
    files.clear();
    whose.clear();
    auto add = [&](GuestNode& node, int file) {
      if (file < 0) return;
      files.push_back({file, POLLIN, 0});
      whose.push_back(&node);
    };
    for (auto& node : nodes_) {
      if (!node->runs()) continue;
      add(*node, node->calendar.socket() >= 0 ? node->calendar.socket() : node->time_door.number());
      VhostUser& vhost = node->ethernet->vhost();
      add(*node, vhost.socket() >= 0 ? vhost.socket() : node->device_door.number());
      if (node->files) {
        VhostUser& share = node->files->vhost();
        add(*node, share.socket() >= 0 ? share.socket() : node->files_door.number());
      }
      for (std::size_t i = 0; i < node->pci_doors.size(); ++i) {
        VhostUser& slot = node->pci->slots()[i]->vhost();
        add(*node, slot.socket() >= 0 ? slot.socket() : node->pci_doors[i].number());
      }
      add(*node, node->process.console());
    }
    if (files.empty()) return;
    const int ready = poll(files.data(), files.size(), kLook);
    if (ready > 0)
      for (std::size_t i = 0; i < files.size(); ++i)
        if (files[i].revents && whose[i]->runs()) serve(*whose[i], files[i].fd);
    if (ready <= 0)
      for (auto& node : nodes_)
        if (node->runs()) look_after(*node);
    if (interrupted()) failure_ = "interrupted";
    if (!failure_.empty()) return;
    tell_progress();
  }
}

void Cluster::serve(GuestNode& node, int file) {
  const StillWaiting waiting = [&] { return still_waiting(node); };
  VhostUser& vhost = node.ethernet->vhost();
  if (file == node.process.console()) {
    if (!node.console.gather(file)) connection_lost(node);
  } else if (file == node.time_door.number()) {
    node.calendar.connect(File(accept4(file, nullptr, nullptr, SOCK_CLOEXEC)));
    node.time_door.close();
  } else if (file == node.device_door.number()) {
    vhost.connect(File(accept4(file, nullptr, nullptr, SOCK_CLOEXEC)));
    node.device_door.close();
  } else if (file == node.calendar.socket()) {
    if (!node.calendar.handle(now(), waiting)) connection_lost(node);
  } else if (file == node.files_door.number()) {
    node.files->vhost().connect(File(accept4(file, nullptr, nullptr, SOCK_CLOEXEC)));
    node.files_door.close();
  } else if (node.files && file == node.files->vhost().socket()) {
    serve_device(node, node.files->vhost(), "file system's");
  } else {
    for (std::size_t i = 0; i < node.pci_doors.size(); ++i) {
      VhostUser& slot = node.pci->slots()[i]->vhost();
      if (file == slot.socket()) return serve_device(node, slot, "PCI");
      if (file != node.pci_doors[i].number()) continue;
      slot.connect(File(accept4(file, nullptr, nullptr, SOCK_CLOEXEC)));
      return node.pci_doors[i].close();
    }
    serve_device(node, vhost, "network");
  }
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
