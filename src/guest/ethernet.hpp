// eth0 of a Linux node: a virtio-net device on the node's bus, and the driver that carries its frames through
// the node's network interface.
//
//   guest's ring -> send_cost, send_rate -> put to the other node's driver -> event there
//     -> interrupt, with others that have come meanwhile -> interrupt_cost
//     -> receive_cost, receive_rate for each -> guest's ring
//
// These costs are the kernel's work on frames: they keep the node's processor busy, one after the other.
//
// The driver has a port of the interface to itself. Frames land in memory of the receiving driver, by sender
// and turn: a sender's frames come in order, so a turn is free again long before it comes round.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "base/slab.hpp"
#include "base/virtual_time.hpp"
#include "guest/vhost_user.hpp"
#include "nic/fabric.hpp"
#include "node/device.hpp"
#include "node/kind.hpp"

namespace weft::guest {

/// [node.device.eth0], of kind "ethernet".
struct EthernetParameters {
  unsigned mtu = 9000;
  unsigned send_ring = 256;
  unsigned receive_ring = 256;
  Time send_cost{300'000}, receive_cost{300'000};
  DataRate send_rate{160'000'000'000}, receive_rate{160'000'000'000};  // 0: bytes cost nothing
  Time interrupt_cost{1'000'000};
  Frequency nominal_clock{2'500'000'000};
  Time coalesce_time{0};
  unsigned coalesce_frames = 32;
};

struct EthernetCounters {
  std::uint64_t frames_sent = 0, bytes_sent = 0;
  std::uint64_t frames_received = 0, bytes_received = 0;
  std::uint64_t no_room = 0;  // lost: the guest had no buffer, or too many frames waited
  std::uint64_t unsent = 0;   // lost: the network could not deliver them
  std::uint64_t damaged = 0;  // lost: an error that no link noticed
  std::uint64_t refused = 0;  // what the guest gave was no frame
  std::uint64_t interrupts = 0;
  TimeSum processor;  // its time for frames and interrupts
};

using MacAddress = std::array<std::uint8_t, 6>;
/// The address of a node's eth0, made of its number.
MacAddress mac_of(std::uint32_t node);

/// Where the drivers of all nodes are: what each must know to write to the others.
struct EthernetPeer {
  nic::PortRef port;
  network::EndpointId node = 0;
  std::uint64_t key = 0;  // of the driver's memory
};

class Ethernet : public node::Device {
 public:
  Ethernet(const node::Slot& slot, const EthernetParameters& parameters);

  /// Where a kernel runs on the node, as number so and so of them: opens the driver's port and hands its
  /// memory, a space of this number, to the interface. Throws UserError where there is no port or the memory
  /// does not fit.
  EthernetPeer open(nic::Fabric& fabric, nic::NicId nic, std::uint32_t number, node::SpaceId space);
  /// The drivers of all nodes, its own among them, by number. Frames for all go to the first `nodes` of them.
  void know(const std::vector<EthernetPeer>& peers, std::uint32_t nodes);
  const EthernetParameters& parameters() const { return parameters_; }
  /// The costs are those of a processor at this clock; 0: at the nominal one.
  void run_at(Frequency clock);

  VhostUser& vhost() { return vhost_; }
  const EthernetCounters& counters() const { return counters_; }

  /// A frame of a recorded boot (storm.hpp) leaves for another node, at the cost of any other.
  void play(std::uint32_t target, std::uint32_t bytes, bool tcp);
  /// One has come, instead of to the guest; `lost`: for lack of room.
  std::function<void(std::uint32_t sender, bool lost, std::uint32_t bytes, bool tcp)> on_played;

  /// Interrupts the guest's driver of a queue.
  std::function<void(unsigned queue)> interrupt_guest = [](unsigned) {};
  /// A frame as it passes between guest and driver, `sent` or received, for captures.
  std::function<void(bool sent, Time at, std::span<const std::uint8_t> frame)> on_frame;

  /// When the guest kicks; it may be ahead of the simulation.
  std::function<Time()> guest_time = [this] { return now(); };
  /// Kicks of the guest while it ran are carried out, each at its time.
  void take_kicks();
  /// From an interrupt of the device to the node's processor. Without it nothing is known of the future.
  void set_interrupt_latency(Time latency) { interrupt_latency_ = latency; }
  /// The first time at which the guest can be interrupted, where nothing happens outside before `quiet`.
  Time undisturbed_until(Time quiet) const;
  /// The guest is gone; what comes for it is lost.
  void stop();

  // What the fabric tells the driver.
  bool read(std::uint64_t address, void* to, std::uint64_t length) const;
  bool write(std::uint64_t address, const void* from, std::uint64_t length);
  void event(const nic::Event& event);
  void slot_free();
  void interrupted();

  // node::Device
  std::uint64_t read_register(std::uint64_t offset) override;
  void write_register(std::uint64_t, std::uint64_t) override {}

  static constexpr unsigned kReceiveQueue = 0, kSendQueue = 1;
  static constexpr std::uint64_t kRoom = 65'536;  // for a frame, in the driver's memory

 private:
  enum Kind : std::uint32_t { kPost, kPostMore, kRaise, kDeliver, kKick };
  struct Kick {
    Time at;
    std::uint32_t frames;
  };
  struct Frame {
    std::vector<std::uint8_t> bytes;
    bool played = false;                 // it is no guest's
    std::uint16_t head = 0;              // of its chain in the guest's ring
    std::uint32_t number = 0;            // tells users of one place apart
    std::vector<std::uint32_t> targets;  // whom it is still to leave for
  };
  struct Landing {  // a frame that is coming in
    std::uint32_t turn;
    std::vector<std::uint8_t> bytes;
  };
  struct Post {
    std::uint32_t frame, target;
  };
  struct Ready {
    std::uint32_t frame;                  // kToPlay: one that is still to be made
    std::uint32_t target = 0, bytes = 0;  // of that one
    bool tcp = false;
  };
  static constexpr std::uint32_t kToPlay = ~0u;

  void act(std::uint32_t kind, std::uint64_t data) override;
  void kicked();
  std::uint32_t take_frame(const Chain& chain);
  std::uint32_t make_frame(const Ready& played);
  std::uint32_t new_frame();
  bool take_played(std::span<const std::uint8_t> frame, bool lost);
  void begin_frames();
  void give_back(std::uint32_t frame);
  void choose_targets(Frame& frame) const;
  void post_frames();
  void left(std::uint32_t frame, std::uint32_t number, std::uint32_t target);
  void arrived(const nic::Event& event);
  void want_interrupt();
  void raise();
  void begin_poll(Time cost);
  Time work(Time cost);
  void deliver(std::uint64_t frames);
  bool give_to_guest(std::span<const std::uint8_t> frame);
  std::vector<std::uint8_t> new_bytes();
  std::uint32_t peer_at(network::EndpointId node) const;

  EthernetParameters parameters_;
  nic::Fabric* fabric_ = nullptr;
  std::uint32_t number_ = 0;
  nic::PortRef port_;
  std::uint64_t key_ = 0;
  const std::vector<EthernetPeer>* peers_ = nullptr;
  std::uint32_t nodes_ = 0;                  // the first of them, that get frames for all
  std::vector<std::uint32_t> peer_of_node_;  // by the machine's nodes
  VhostUser vhost_;
  EthernetCounters counters_;
  std::vector<Kick> kicks_;  // of the sending queue, since all nodes waited last
  bool stopped_ = false;

  // The node's processor, as far as it is busy with frames.
  Time processor_free_{0};

  // Sending.
  Slab<Frame, 16> frames_;
  std::deque<std::uint32_t> offered_;                    // by the guest, in order, until their kick
  std::deque<Ready> ready_;                              // may leave
  std::uint32_t guest_frames_ = 0;                       // taken from the guest, and not given back
  std::uint32_t under_way_ = 0, made_ = 0, places_ = 0;  // the last: of frames that were ever used
  std::deque<Post> posts_;
  unsigned posted_ = 0, most_posted_ = 1;
  std::vector<std::uint32_t> turns_;  // of the next frame to each node
  unsigned completed_ = 0;            // frames given back that the guest has not heard of
  Chain chain_;

  // Receiving.
  std::vector<std::vector<Landing>> landing_;  // by sender
  std::deque<std::vector<std::uint8_t>> waiting_;
  std::vector<std::vector<std::uint8_t>> spare_;
  enum class State { Idle, Coalescing, Raised, Polling } state_ = State::Idle;
  Time interrupt_latency_{0};
  Time next_step_{0};  // when the interrupt that is raised is taken, or the poll ends
};

}  // namespace weft::guest
