// A boot storm: many nodes that boot over the network at once, most of them without a kernel.
//
// What one node and its server say to each other is recorded: how long each frame is, which frames its sender
// had heard by then, and how long after that it left. A skeleton plays the node's part again, and the
// server's part towards it is played at the server: each frame leaves when as many have come as had then, and
// the same time later. So frames follow each other as acknowledgements let them, and wait where real ones do:
// for the network, for the interface and for the processor of the server, which real nodes' frames want as
// well. A frame that finds no room at its receiver is lost, and sent again after as long as its protocol
// waits at least: 200 ms for TCP, 2 s for the others, as the first stage asks for DHCP.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/quantity.hpp"
#include "event/event_queue.hpp"
#include "guest/ethernet.hpp"

namespace weft::guest {

/// Notices when a node has all it boots with: the server has ended what it sends to the second of the node's
/// requests over HTTP, for the root and for the job.
class BootWatch {
 public:
  /// A frame that the node has got.
  void received(Time at, std::span<const std::uint8_t> frame);
  bool done() const { return done_; }
  Time at() const { return at_; }

 private:
  std::vector<std::uint32_t> ended_;  // ports of connections that the server has closed
  bool done_ = false;
  Time at_{0};
};

struct RecordedFrame {
  std::uint32_t bytes;
  std::uint32_t after;  // so many frames of the other side
  Time gap;             // behind the last of these, and behind the frame before
  bool tcp;
};

struct Recording {
  std::vector<RecordedFrame> client, server;
};

/// Records the boot of one node, alone with its server.
class Recorder {
 public:
  void server_frame(bool sent, Time at, std::span<const std::uint8_t> frame) {
    add(server_, sent, at, frame);
  }
  void client_frame(bool sent, Time at, std::span<const std::uint8_t> frame);
  bool done() const { return watch_.done(); }
  /// What was said until the node had all.
  Recording finish() const;

 private:
  struct Side {
    std::vector<RecordedFrame> sent;
    std::uint32_t heard = 0;
    Time last{0};
  };
  void add(Side& side, bool sent, Time at, std::span<const std::uint8_t> frame);
  Side client_, server_;
  std::uint32_t client_sent_ = 0, client_heard_ = 0;  // when it was done
  BootWatch watch_;
};

/// When nodes of a storm had all they boot with.
struct StormTimes {
  std::size_t nodes = 0, skeletons = 0;  // in all, and of these
  Time first{0}, median{0}, last{0};
};
StormTimes storm_times(const std::vector<Time>& real, const std::vector<Time>& skeletons);

class Storm : private event::EventHandler {
 public:
  /// So many skeletons, from now on.
  Storm(event::EventQueue& queue, Recording recording, std::size_t clients);

  /// A frame of the play is to leave, from a skeleton for the server or the other way.
  std::function<void(std::size_t client, bool from_server, std::uint32_t bytes, bool tcp)> send;

  /// The server's Ethernet and those of the skeletons, numbered from `first` on, send and hear.
  void play_over(Ethernet& server, const std::vector<Ethernet*>& clients, std::uint32_t first);

  void begin();
  /// A frame of the play has come.
  void heard(std::size_t client, bool at_server);
  /// One has come, and there was no room for it.
  void lost(std::size_t client, bool at_server, std::uint32_t bytes, bool tcp);
  std::size_t ended() const { return ended_; }
  bool done() const { return ended_ == clients_.size(); }
  /// When each skeleton had all.
  const std::vector<Time>& ends() const { return ends_; }

 private:
  enum Kind : std::uint32_t { kServer = 1, kAgain = 2, kTcp = 4 };  // of an event: bits
  struct Side {
    std::uint32_t next = 0, heard = 0;
    bool planned = false;
  };
  struct Client {
    Side self, server;
  };
  void handle(const event::Event& event) override;
  const std::vector<RecordedFrame>& part(bool server) const {
    return server ? recording_.server : recording_.client;
  }
  void go_on(std::size_t client, bool server);

  event::EventQueue& queue_;
  event::ComponentId component_;
  Recording recording_;
  std::vector<Client> clients_;
  std::vector<Time> ends_;
  std::size_t ended_ = 0;
};

}  // namespace weft::guest
