// What librma2 keeps of a port and a connection.
#pragma once

#include "lib/native/rma2.h"
#include "lib/port.hpp"

struct RMA2_Endpoint {
  weft_port* port;
  RMA2_Notification* queue;
  std::uint32_t slots, taken, written;  // counted up; a slot is the count modulo `slots`
  std::uint32_t segment_bytes;
  void* locks;
  std::uint64_t locks_key;
  RMA2_Descriptor* free_descriptors;  // by list.next
  int free_descriptor_count;
  RMA2_Replay_Buffer_Mode replay;
};

struct RMA2_Connection {
  RMA2_Nodeid node;
  RMA2_VPID vpid;
  unsigned options;
};

namespace weft::lib::rma2 {

inline constexpr std::uint32_t kQueueBytes = 256 * 1024;
inline constexpr std::uint32_t kPage = 4096;
inline constexpr std::uint32_t kLocks = 65536;
inline constexpr std::uint32_t kMostBytes = 8u << 20;
// Of an address of a register: its offset. What is above is 0 for the interface of the node, or one more than
// the number of a router.
inline constexpr unsigned kRegisterBits = 40;

/// An operation as a descriptor names it.
struct Work {
  RMA2_Command command;
  std::uint32_t count;
  unsigned spec, modifier;
  std::uint64_t read, write;  // addresses; of an immediate put value and address
  RMA2_Nodeid node;
  RMA2_VPID vpid;
  unsigned options;

  bool get() const { return command == RMA2_BT_GET || command == RMA2_QW_GET; }
};

/// What becomes of the tag of an operation that is no lock: enough to write its notifications.
struct Tag {
  static std::uint32_t pack(RMA2_Command command, unsigned mode, std::uint32_t class_number) {
    return static_cast<std::uint32_t>(command) | mode << 4 | class_number << 16;
  }
  static unsigned command(std::uint32_t tag) { return tag & 15; }
  static unsigned mode(std::uint32_t tag) { return tag >> 4 & 63; }
  static unsigned class_number(std::uint32_t tag) { return tag >> 16 & 255; }
};

/// Of a notification put that its sender alone hears of.
inline constexpr std::uint32_t kSilentAtTarget = 1u << 24;

/// And of a lock.
struct LockTag {
  static constexpr std::uint32_t kNumbers = 1u << 24;
  static std::uint32_t pack(std::uint32_t number, unsigned mode, bool tell_completer) {
    return number << 8 | (tell_completer ? 0x80u : 0) | mode;
  }
  static std::uint32_t number(std::uint32_t tag) { return tag >> 8; }
  static unsigned mode(std::uint32_t tag) { return tag & 63; }
  static bool tell_completer(std::uint32_t tag) { return tag & 0x80; }
};

/// Writes the notification an event stands for; false where it stands for none.
bool notification_of(const nic::Event& event, RMA2_Notification& out);

}  // namespace weft::lib::rma2
