// The registers of every chip of a machine, declared once: from this list come their offsets, the fields in
// them, who may read and write each, the tables of `weft help registers`, and what programs use to take a
// value apart.
//
// A chip is an interface or a router. Each register has 64 bits, divided into fields from the lowest bit up.
// Hardware and software have rights of their own on each field: what hardware writes it reads nowhere, a
// counter say, and what software writes is what hardware is told.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::abi::registers {

/// Software that may: each has the rights of those before it.
enum class By : std::uint8_t {
  Nobody,
  Manager,  // the node that the chip's register chip.manager names
  Node,     // that, and the node of the chip
  Any,
};

enum class Hardware : std::uint8_t { None, Reads, Writes };

struct Entry {
  enum class Kind : std::uint8_t { Block, Register, Field } kind;
  std::string_view name, about;
  // Of a block: where it begins, and how far it is to the next, where it has an index. Its chips.
  std::uint64_t first = 0, stride = 0;
  bool interfaces = false, routers = false;
  // Of a field.
  unsigned bits = 0;
  By read = By::Nobody, write = By::Nobody;
  Hardware hardware = Hardware::None;
};

enum class On : std::uint8_t { Interfaces = 1, Routers = 2, Both = 3 };

constexpr Entry block(std::string_view name, std::uint64_t first, std::uint64_t stride, On on,
                      std::string_view about) {
  const auto chips = static_cast<std::uint8_t>(on);
  return {.kind = Entry::Kind::Block,
          .name = name,
          .about = about,
          .first = first,
          .stride = stride,
          .interfaces = (chips & 1) != 0,
          .routers = (chips & 2) != 0};
}
constexpr Entry one(std::string_view name, std::string_view about) {
  return {.kind = Entry::Kind::Register, .name = name, .about = about};
}
/// What hardware writes and anybody reads.
constexpr Entry status(std::string_view name, unsigned bits, std::string_view about) {
  return {.kind = Entry::Kind::Field,
          .name = name,
          .about = about,
          .bits = bits,
          .read = By::Any,
          .hardware = Hardware::Writes};
}
/// What software writes.
constexpr Entry setting(std::string_view name, unsigned bits, By write, Hardware hardware,
                        std::string_view about) {
  return {.kind = Entry::Kind::Field,
          .name = name,
          .about = about,
          .bits = bits,
          .read = By::Any,
          .write = write,
          .hardware = hardware};
}

// What a neighbour is: link.neighbour.kind.
inline constexpr std::uint64_t kNobodySeen = 0, kRouterSeen = 1, kInterfaceSeen = 2, kStrangerSeen = 3;

inline constexpr Entry kDeclaration[] = {
    block("chip", 0x0, 0, On::Both, "What the chip is, and whose"),
    one("identity", "Which chip"),
    status("node", 32, "Of an interface its node; of a router the node that answers for it"),
    status("router", 32, "Of a router its number; of an interface that of the router it is on"),
    one("kind", "What it has"),
    status("router", 1, "It is a router; else an interface"),
    status("counts", 1, "Its links count flits; where not, their counters stay at 0"),
    status("links", 16, "Ports it has"),
    status("connected", 16, "Ports at which something is"),
    one("machine", "How large the machine is"),
    status("endpoints", 32, "Nodes"),
    status("routers", 32, "Routers"),
    one("manager", "Who has the rights of the manager here"),
    setting("node", 32, By::Manager, Hardware::Reads,
            "Its node; written to hand them over; 0xffffffff: nobody yet, and whoever writes it is"),
    setting("successor", 32, By::Manager, Hardware::Reads,
            "One more than the node that may write this register too, when the manager is dead; 0: none"),
    one("mark", "For the manager's own use"),
    setting("value", 64, By::Manager, Hardware::None, "Any: which sweep has been here, say"),
    one("scratch", "For the software of the node"),
    setting("value", 64, By::Node, Hardware::None, "Any"),
    one("accesses", "Of this file by software"),
    status("done", 32, "Registers read and written"),
    status("refused", 32, "Requests refused"),
    one("clear", "Starts counters anew"),
    setting("counters", 1, By::Manager, Hardware::Reads,
            "1: those of the chip and its links count from 0 again; reads as 0"),
    one("number", "By which a router is reached while there are no routes"),
    setting("value", 32, By::Manager, Hardware::Reads, "A manager's own; 0xffffffff: it has none"),
    status("home", 16, "Port by which it came: answers go back there; 0xffff: none"),

    block("interface", 0x1000, 0, On::Interfaces, "What an interface has done"),
    one("ports", "For processes"),
    status("available", 16, "There are"),
    status("open", 16, "In use"),
    one("limits", "Of its packets"),
    status("payload", 32, "Bytes of data in one"),
    status("message", 32, "Bytes of a small message"),
    one("packets_sent", "Packets handed to the network"),
    status("count", 64, ""),
    one("packets_received", "Packets from the network"),
    status("count", 64, ""),
    one("bytes_sent", "With headers"),
    status("count", 64, ""),
    one("bytes_received", "With headers"),
    status("count", 64, ""),
    one("failed", "Operations of its processes that failed"),
    status("count", 64, ""),
    one("refused", "Packets of others that it refused"),
    status("count", 64, ""),
    one("retries", "Reliable operations sent again"),
    status("count", 64, ""),
    one("corrupted", "Packets with an error that no link noticed"),
    status("count", 64, ""),
    one("node", "Whose interface it is"),
    setting("number", 32, By::Manager, Hardware::Reads, "Of the node"),
    one("sending", "By which of its router's two tables its packets go"),
    setting("held", 1, By::Manager, Hardware::Reads, "It sends nothing"),
    setting("table", 1, By::Manager, Hardware::Reads, "0: route, 1: standby"),

    block("link", 0x10000, 0x10, On::Both, "A port and its cable, by the number of the port"),
    one("state", "How it is"),
    status("up", 1, "It carries packets"),
    status("lanes", 15, "In use"),
    status("rate", 16, "In thousandths of the full one"),
    one("neighbour", "Who is at the other end, as heard over the cable; nobody where it is not up"),
    status("kind", 2, "0: nobody, 1: a router, 2: an interface, 3: a device of another kind"),
    status("port", 16, "Of the other chip"),
    status("number", 32, "Of the other chip: of its node or router"),

    block("traffic", 0x20'0000, 0x40, On::Routers, "What a port has carried, by the number of the port"),
    one("sent", "Flits that left by it"),
    status("count", 64, ""),
    one("received", "Flits that the router at the other end has sent by its cable"),
    status("count", 64, ""),
    one("damaged", "Flits that arrived with an error"),
    status("count", 64, ""),
    one("sent_again", "Flits sent again"),
    status("count", 64, ""),
    one("trainings", "Times its lanes were tested"),
    status("count", 64, ""),

    block(
        "route", 0x1000'0000, 0x8, On::Routers,
        "The routing table: by row times chip.machine.endpoints plus the node that a packet is for. Row 0 is "
        "that of the router's own nodes; the others are by port, and for each port by the class of channels "
        "that a packet came by, as many as the routing tells apart"),
    one("entry", "Where a packet may go from here"),
    setting("valid", 1, By::Manager, Hardware::Reads, "There is a way"),
    setting("choices", 15, By::Manager, Hardware::Reads, "Outputs it may take"),
    setting("port", 16, By::Manager, Hardware::Reads, "The first of them"),
    setting("channel_class", 8, By::Manager, Hardware::Reads, "And its class of virtual channels"),

    block("standby", 0x40'0000'0000, 0x8, On::Routers, "The second routing table, as the first"),
    one("entry", "Where a packet may go from here"),
    setting("valid", 1, By::Manager, Hardware::Reads, "There is a way"),
    setting("choices", 15, By::Manager, Hardware::Reads, "Outputs it may take"),
    setting("port", 16, By::Manager, Hardware::Reads, "The first of them"),
    setting("channel_class", 8, By::Manager, Hardware::Reads, "And its class of virtual channels"),

    block("copy", 0x7f'0000'0000, 0, On::Routers, "One table from the other, at once"),
    one("tables", "Written to copy; reads as 0"),
    setting("into", 2, By::Manager, Hardware::Reads,
            "1: route becomes what standby is; 2: the other way round"),

    block("way", 0x80'0000'0000, 0x8, On::Routers,
          "How requests go on while there are no routes, by the number of the chip they are for"),
    one("port", "Where to"),
    setting("valid", 1, By::Manager, Hardware::Reads, "There is a way"),
    setting("number", 16, By::Manager, Hardware::Reads, "Of the port"),
};

/// A register, or a field of one.
struct Spot {
  std::uint64_t offset = 0, stride = 0;
  unsigned low = 0, bits = 64;

  /// Where it is in the block of that index.
  constexpr std::uint64_t at(std::uint64_t index = 0) const { return offset + index * stride; }
  constexpr std::uint64_t mask() const {
    return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  }
  /// Its value in a register's.
  constexpr std::uint64_t of(std::uint64_t word) const { return word >> low & mask(); }
  /// A register's value with this one in it.
  constexpr std::uint64_t in(std::uint64_t word, std::uint64_t value) const {
    return (word & ~(mask() << low)) | (value & mask()) << low;
  }
};

namespace detail {

/// Takes a name and what follows it off the front of a path; false where another stands there.
constexpr bool take(std::string_view& path, std::string_view name) {
  if (path.size() < name.size()) return false;
  for (std::size_t i = 0; i < name.size(); ++i)
    if (path[i] != name[i]) return false;
  if (path.size() > name.size() && (path[name.size()] != '.' || path.size() == name.size() + 1)) return false;
  path.remove_prefix(path.size() > name.size() ? name.size() + 1 : name.size());
  return true;
}

void there_is_no_register_of_that_name();  // nowhere defined: calling it is what the compiler refuses

}  // namespace detail

/// By "block.register" or "block.register.field"; false where there is none of that name.
constexpr bool find(std::string_view path, Spot& spot) {
  std::string_view left = path;
  bool in_block = false, in_register = false;
  std::uint64_t next = 0;
  for (const Entry& entry : kDeclaration) {
    switch (entry.kind) {
      case Entry::Kind::Block:
        if (in_block) return false;
        in_block = detail::take(left, entry.name) && !left.empty();
        next = entry.first;
        spot = {.offset = 0, .stride = entry.stride, .low = 0, .bits = 64};
        break;
      case Entry::Kind::Register:
        if (in_register) return false;  // a field that it does not have
        if (in_block && detail::take(left, entry.name)) {
          in_register = true;
          spot.offset = next;
          if (left.empty()) return true;
        }
        next += 8;
        break;
      case Entry::Kind::Field:
        if (!in_register) break;
        if (detail::take(left, entry.name) && left.empty()) {
          spot.bits = entry.bits;
          return true;
        }
        spot.low += entry.bits;
        break;
    }
  }
  return false;
}

/// The same of a name that is known when the program is compiled, and that it is not compiled without.
consteval Spot spot(std::string_view path) {
  Spot out;
  if (!find(path, out)) detail::there_is_no_register_of_that_name();
  return out;
}

/// No register has more than 64 bits, no block reaches into the next.
consteval bool is_sound() {
  std::uint64_t begins = 0, next = 0, stride = 0;
  unsigned bits = 1;
  for (const Entry& entry : kDeclaration) {
    if (entry.kind != Entry::Kind::Field && bits == 0) return false;  // a register without a field
    if (entry.kind == Entry::Kind::Block) {
      if (entry.first < next || (stride && next - begins > stride)) return false;
      begins = next = entry.first;
      stride = entry.stride;
    } else if (entry.kind == Entry::Kind::Register) {
      next += 8;
      bits = 0;
    } else {
      bits += entry.bits;
      if (bits > 64 || entry.bits == 0) return false;
    }
  }
  return bits > 0 && !(stride && next - begins > stride);
}
static_assert(is_sound());

}  // namespace weft::abi::registers
