// What travels between two interfaces. Each end of an operation keeps its own half; all that one knows of
// the other is in the headers of packets that have arrived.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "network/packet.hpp"
#include "nic/domains.hpp"
#include "nic/host.hpp"

namespace weft::nic {

enum class PacketKind : std::uint8_t {
  Whole,       // an operation in one packet: a message, an immediate put, an atomic
  PutData,     // a piece of a put
  GetRequest,  // what a get wants; where it is repeated, with what has arrived
  GetData,     // a piece of what a get wanted
  Reply,       // how an operation ended at its target
  Missing,     // a reliable put's last packet is here and others are not: which have arrived
  Connect,     // a reliable operation wants a context
  ConnectAck,
  ConnectNack,
  Flush,  // tell me when so many operations of my port have ended at your side
  FlushAck,
  Pause,  // my rings are full, and so is the room for what waits for them
  Resume,
  OrderAck,        // so many of a port's packets have been taken in order
  GroupData,       // a piece of a put for a group
  Control,         // triggers a waiting sequence (triggered.hpp)
  ControlRefused,  // what it named does not wait there
  ControlAck,      // it has come, where such packets are repeated (control_repeater.hpp)
  Tlp,             // a packet of PCI Express (smfu.hpp)
  TlpAnswer,       // one that is a completion
};

/// Answers travel in a class of their own, where the network has one.
constexpr bool is_answer(PacketKind kind) {
  return kind == PacketKind::GetData || kind == PacketKind::Reply || kind == PacketKind::ConnectAck ||
         kind == PacketKind::ConnectNack || kind == PacketKind::Missing || kind == PacketKind::FlushAck ||
         kind == PacketKind::Pause || kind == PacketKind::Resume || kind == PacketKind::OrderAck ||
         kind == PacketKind::ControlRefused || kind == PacketKind::ControlAck ||
         kind == PacketKind::TlpAnswer;
}

constexpr bool is_tlp(PacketKind kind) { return kind == PacketKind::Tlp || kind == PacketKind::TlpAnswer; }

/// Its requester's half waits for the packet's answer, and the slot of that half stays taken meanwhile.
constexpr bool is_request(PacketKind kind) {
  return kind == PacketKind::Whole || kind == PacketKind::PutData || kind == PacketKind::GetRequest ||
         kind == PacketKind::Connect || kind == PacketKind::GroupData;
}

/// What the wire carries of an operation. An answer has the request's header with its ends exchanged.
struct Header {
  PacketKind kind{};
  Operation operation{};
  std::uint16_t flags = 0;
  Status status = Status::Ok;  // of a reply
  bool last = false;           // of the packets of its operation
  bool damaged = false;        // an error no link noticed is in data of the operation
  std::uint8_t traffic_class = 0;
  NicId from = 0, to = 0;
  PortNo source_port = 0;  // of the requester, with its generation: a later user's events are not its own
  std::uint32_t source_generation = 0;
  std::uint32_t target_port = 0;
  std::uint32_t domain = kNoDomain;                // of the global address it goes to
  network::GroupNumber group = network::kNoGroup;  // of a piece of a put for one
  std::uint32_t reduction = 0xffff'ffff;           // routers combine it (reductions.hpp)
  std::uint32_t operation_id = 0, generation = 0;  // names the operation among its requester's
  std::uint32_t sequence = 0;                      // in the order of its port's packets to this interface
  std::uint32_t tag = 0;
  std::uint64_t context = 0;
  std::uint64_t length = 0;  // of the operation
  std::uint64_t remote_key = 0, remote_offset = 0;
  std::uint64_t operand = 0, compare = 0;
  std::uint64_t value = 0;   // of a reply: the old value, or the address that is not there; of a flush: how
                             // many; of what lists packets that have arrived: the first of them
  std::uint64_t offset = 0;  // of this packet's data
  std::uint32_t bytes = 0;   // after the header
  std::uint32_t crc = 0;

  bool reliable() const { return flags & kReliable; }
  bool reduced() const { return reduction != 0xffff'ffff; }
  bool atomic() const { return is_atomic(operation); }
  /// Does its requester hear of its end where all goes well?
  bool answered() const {
    return operation == Operation::Get || atomic() || (flags & (kReliable | kNotifyDone));
  }
};

/// When an operation's steps were, for records. Measurements: no wire carries them and nothing depends on
/// them.
struct Stamps {
  Time posted{0}, at_chip{0}, first_started{0}, request_sent{0}, request_delivered{0};
  Time started{0}, sent{0}, delivered{0}, received{0}, ready{0};
  std::uint64_t physical = 0;  // address of the target's memory
  std::uint64_t mark = 0;      // a number of the process's own
};

/// Of an operation that is done at `end`. A get's request has crossed the network before its data did.
inline Breakdown breakdown_of(const Stamps& t, bool get, Time end) {
  Breakdown out;
  out.part[Breakdown::HostBus] = t.at_chip - t.posted;
  out.part[Breakdown::Queue] = (get ? t.first_started : t.started) - t.at_chip;
  out.part[Breakdown::Nic] = get ? t.request_sent - t.first_started : t.sent - t.started;
  out.part[Breakdown::Wire] = t.delivered - t.sent;
  out.part[Breakdown::RemoteQueue] = t.received - t.delivered;
  out.part[Breakdown::RemoteNic] = t.ready - t.received;
  out.part[Breakdown::RemoteBus] = end - t.ready;
  if (!get) return out;
  out.part[Breakdown::Wire] = out.part[Breakdown::Wire] + (t.request_delivered - t.request_sent);
  out.part[Breakdown::RemoteNic] = out.part[Breakdown::RemoteNic] + (t.sent - t.request_delivered);
  return out;
}

struct Packet {
  Header header;
  Stamps stamps;
  bool ordered = false;               // its place in the order of its port counts
  bool gone = false;                  // lost; only its place in the order is left
  bool in_window = false;             // of its sender: it has not left the interface yet
  std::uint32_t ring_generation = 0;  // of the port it is for: a later one's messages are not its own
  std::uint32_t copies = 0;           // of one for a group: those that have not arrived
  std::uint32_t space = 0;            // where it goes, as its receiver has found
  std::uint64_t address = 0, shift = 0;
  std::vector<std::uint8_t> data;
};

/// Which packets of an operation have arrived, as it travels: a bit each, in at most `room` bytes. Where not
/// all fit, they begin with the first packet that is missing; its number is returned.
inline std::uint64_t put_bits(std::vector<std::uint8_t>& data, const std::vector<bool>& bits,
                              std::uint64_t room) {
  std::size_t first = 0, count = bits.size();
  if (count > room * 8) {
    while (first < count && bits[first]) ++first;
    count = std::min<std::size_t>(count - first, room * 8);
  }
  data.assign((count + 7) / 8, 0);
  for (std::size_t i = 0; i < count; ++i)
    if (bits[first + i]) data[i / 8] |= static_cast<std::uint8_t>(1u << i % 8);
  return first;
}
/// Those before `first` are there. What is behind the last of these bits counts as there too until its turn
/// comes: it is asked for again.
inline void get_bits(const std::vector<std::uint8_t>& data, std::uint64_t first, std::vector<bool>& bits) {
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const std::size_t at = i - first;
    bits[i] = i < first || at / 8 >= data.size() || (data[at / 8] >> at % 8 & 1);
  }
}

}  // namespace weft::nic
