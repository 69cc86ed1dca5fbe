// The shared memory unit of an interface: packets of PCI Express travel to another interface as packets of
// the network, and come out there as they went in. Where each goes, intervals of addresses have said
// (on_chip.hpp).
//
// Packets between two interfaces keep their order, as PCI Express asks for, on whatever way they come. One
// that the network has lost is sent again; one that cannot be delivered at all leaves a gap that the receiver
// is told of, and whoever waits for its answer gets one that says so, late.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "nic/egress.hpp"
#include "pcie/tlp.hpp"

namespace weft::nic {

/// Whoever is behind the unit: a host's bridge, or the root port of a node without a processor.
class TlpSink {
 public:
  virtual ~TlpSink() = default;
  virtual void arrived(NicId from, const pcie::Tlp& tlp, std::span<const std::uint8_t> data) = 0;
  /// One that was sent has left the interface: its room is free. `token`: as it was sent with.
  virtual void left(const pcie::Tlp& tlp, std::uint64_t token) { (void)tlp, (void)token; }
};

/// Somebody who looks at packets as they leave and come, and puts in some of his own.
class TlpWatch {
 public:
  virtual ~TlpWatch() = default;
  virtual void passed(NicId from, NicId to, bool sent, std::span<const std::uint8_t> bytes) = 0;
  /// A completion for what he asked for; nobody else sees it.
  virtual void answered(const pcie::Tlp& tlp, std::span<const std::uint8_t> data) = 0;
};
/// His number, as no function has it.
inline constexpr pcie::FunctionId kWatch{0xff, 0x1f, 7};

/// An interface may have all of them behind it. What host or port sends is for the other of the two, here or
/// elsewhere; what loads and stores of programs send is for their like.
enum class Side : std::uint8_t { Host, Port, Program };
constexpr Side other_side(Side side) {
  return side == Side::Program ? side : side == Side::Host ? Side::Port : Side::Host;
}

struct SmfuCounters {
  std::uint64_t sent = 0, received = 0, bytes = 0;  // the last: of data, both ways
  std::uint64_t again = 0;                          // that the network had lost
  std::uint64_t given_up = 0;                       // that it could not deliver
  std::uint64_t refused = 0;                        // that lay in no interval, or came from nobody who may
};

class Smfu {
 public:
  Smfu(Context& context, NicId interface, Egress& egress)
      : context_(context), interface_(interface), egress_(egress) {}

  void set_sink(Side side, TlpSink* sink) { sinks_[static_cast<std::size_t>(side)] = sink; }
  void set_watch(TlpWatch* watch) { watch_ = watch; }
  SmfuCounters& counters() { return counters_; }

  void send(Side from, NicId to, const pcie::Tlp& tlp, std::span<const std::uint8_t> data,
            std::uint64_t token = 0);
  /// A packet as it is, whether it makes sense or not.
  void inject(Side from, NicId to, std::span<const std::uint8_t> bytes);
  /// Most data of one packet.
  std::uint32_t payload() const { return static_cast<std::uint32_t>(context_.payload); }

  // What the fabric tells it.
  void go_on();
  void departed(Packet& packet);
  void delivered(std::uint32_t packet, Time when);
  void lost(std::uint32_t packet, Smfu& receiver);
  void here(std::uint32_t packet);
  void again(std::uint32_t packet);

 private:
  struct Source {
    std::uint32_t next = 0;
    std::vector<std::uint32_t> early;
  };

  void queue(std::uint32_t packet, Side from, NicId to, std::uint64_t token);
  void launch(std::uint32_t packet);
  void accept(std::uint32_t packet, Time when);
  void answer_late(const pcie::Tlp& tlp, NicId asked, Side side);

  Context& context_;
  NicId interface_;
  Egress& egress_;
  TlpSink* sinks_[3] = {};
  TlpWatch* watch_ = nullptr;
  SmfuCounters counters_;
  std::deque<std::uint32_t> waiting_;     // for room on the way out
  std::vector<std::uint32_t> sequences_;  // by receiver
  std::vector<Source> sources_;
  Time out_free_{0}, in_free_{0};
};

}  // namespace weft::nic
