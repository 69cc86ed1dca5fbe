// Sequences of descriptors that wait in the interface for control packets, and run without the processor.
//
// A process writes the image of a sequence into registered memory and arms it (Operation::Arm). It has
// inputs; when the control packets of one round are there for all of them, its steps are taken: packets' data
// is combined, a waiting step is patched with data of a packet (swap), control packets go to all targets of a
// list, data and an event go to the process. Then it waits for the next round by itself. Collectives are made
// of these (collective/sequences.hpp). Plain declarations: programs link against code that includes this
// file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::nic {

enum class Element : std::uint8_t { None, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, kCount };
enum class Combine : std::uint8_t {
  None,
  Sum,
  Product,
  Minimum,
  Maximum,
  And,
  Or,
  Xor,
  LogicalAnd,
  LogicalOr,
  LogicalXor,
  Concatenate,  // one after the other, in the order of inputs
  kCount
};

constexpr unsigned element_bytes(Element type) {
  constexpr unsigned bytes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8};
  return type < Element::kCount ? bytes[static_cast<unsigned>(type)] : 1;
}
constexpr bool is_real(Element type) { return type == Element::F32 || type == Element::F64; }
/// Units add and compare numbers; bits are those of whole numbers.
constexpr bool can_combine(Combine combine, Element type) {
  if (combine == Combine::None || combine == Combine::Concatenate) return true;
  if (combine >= Combine::kCount || type == Element::None || type >= Element::kCount) return false;
  return !is_real(type) || combine <= Combine::Maximum;
}
constexpr bool needs_units(Combine combine) {
  return combine != Combine::None && combine != Combine::Concatenate;
}

/// What a round is about: packets of one round must agree on it.
struct RoundKind {
  std::uint16_t call = 0;  // of the program, for messages to people
  Combine combine{};
  Element type{};
  std::uint32_t root = 0;

  std::uint64_t packed() const {
    return std::uint64_t{root} << 32 | std::uint64_t{call} << 16 |
           std::uint64_t{static_cast<std::uint8_t>(combine)} << 8 | static_cast<std::uint8_t>(type);
  }
  static RoundKind of(std::uint64_t packed) {
    return {static_cast<std::uint16_t>(packed >> 16), static_cast<Combine>(packed >> 8 & 255),
            static_cast<Element>(packed & 255), static_cast<std::uint32_t>(packed >> 32)};
  }
};

/// Where a control packet goes: an input of a sequence of a port.
struct TriggerTarget {
  std::uint32_t node = 0, port = 0;
  std::uint16_t sequence = 0, input = 0;
  friend bool operator==(const TriggerTarget&, const TriggerTarget&) = default;
};

/// As the node of a target: the routers combine the packet with those of all who have joined under the number
/// in `port` (descriptor.hpp), and what they make together comes back to the sequence and input it names.
inline constexpr std::uint32_t kToRouters = 0xffff'ffff;

enum class TriggerAction : std::uint8_t {
  Combine = 1,  // the data of all inputs, in their order
  Swap = 2,     // the first target of step `step` for the one that the packet of input `input` carries
  Send = 3,     // the data to `count` targets from `first` on
  Deliver = 4,  // the data to memory of the process, and an event
};

struct TriggerStep {
  TriggerAction action{};
  std::uint8_t input = 0, step = 0, reserved = 0;
  std::uint16_t first = 0, count = 0;
};

inline constexpr unsigned kTriggerSteps = 6;

/// In memory, followed by its targets; the last `sources` of them are no targets but say who sends to the
/// inputs from the second on, for messages to people.
struct TriggerImage {
  std::uint64_t key = 0;                          // who does not name it cannot trigger it
  std::uint64_t context = 0;                      // handed back in events
  std::uint64_t local_key = 0, local_offset = 0;  // where rounds are delivered, `stride` bytes each
  std::uint32_t stride = 0;
  std::uint16_t inputs = 0, steps = 0, targets = 0, sources = 0;
  std::uint32_t members = 0;  // of the tree, for messages to people
  TriggerStep step[kTriggerSteps];
};
static_assert(sizeof(TriggerTarget) == 12 && sizeof(TriggerStep) == 8 && sizeof(TriggerImage) == 96);

/// A descriptor of Operation::Trigger names its target so: sequence and input in `tag`, key in `remote_key`,
/// round in `operand`, RoundKind in `compare`; the target a swap puts in place is in `spare`. Its data lies
/// in the descriptor, or in registered memory where it has a key.
constexpr std::uint32_t trigger_tag(std::uint16_t sequence, std::uint16_t input) {
  return std::uint32_t{input} << 16 | sequence;
}

}  // namespace weft::nic
