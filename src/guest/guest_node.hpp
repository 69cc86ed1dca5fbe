// One Linux node: its kernel's process, the sockets to it, its console and its Ethernet.
#pragma once

#include <chrono>
#include <string>

#include "guest/calendar.hpp"
#include "guest/console.hpp"
#include "guest/ethernet.hpp"
#include "guest/file_share.hpp"
#include "guest/kernel_process.hpp"
#include "guest/pci.hpp"

namespace weft::guest {

struct GuestNode {
  GuestNode(std::string its_name, std::int64_t date) : name(its_name), calendar(date), console(its_name) {}

  std::string name;
  nic::NicId nic = 0;
  Ethernet* ethernet = nullptr;      // belongs to the node's bus
  std::unique_ptr<Pci> pci;          // where devices of other nodes are assigned to it
  std::unique_ptr<FileShare> files;  // where it mounts the machine's file system
  Calendar calendar;
  KernelProcess process;
  Console console;
  File time_door, device_door;  // sockets it has not connected to yet
  std::vector<File> pci_doors;
  File files_door;
  std::string agent_text;  // what its agent has said, and is not a line yet
  bool ended = false;
  bool ran = true;  // since consoles were passed on last
  KernelEnding ending;
  std::string failure;  // why it had to be ended; empty where it ended by itself
  std::chrono::steady_clock::time_point running_since;
  Time network_up{0}, end{0};

  /// Has it something to do, so that virtual time cannot move?
  bool runs() const { return !ended && !calendar.waiting(); }
};

}  // namespace weft::guest
