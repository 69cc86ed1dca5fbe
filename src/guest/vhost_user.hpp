// The device's end of vhost-user: how a kernel hands its memory and rings to a device in another process.
// Kicks and interrupts travel as messages too, so that both ends know when they are dealt with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "guest/guest_memory.hpp"
#include "guest/socket.hpp"
#include "guest/virtqueue.hpp"

namespace weft::guest {

class VhostUser {
 public:
  static constexpr unsigned kMostQueues = 4;

  VhostUser(std::uint64_t features, unsigned queues) : features_(features), queues_(queues) {}
  /// What the driver reads as the device's configuration.
  void set_config(std::vector<std::uint8_t> config) { config_ = std::move(config); }

  void connect(File socket) { socket_ = std::move(socket); }
  int socket() const { return socket_.number(); }
  /// Where interrupts go, once the kernel has said so; -1 before.
  int interrupt_socket() const { return interrupts_.number(); }
  void disconnect();

  GuestMemory& memory() { return memory_; }
  Virtqueue& queue(unsigned index) { return rings_[index]; }
  unsigned queues() const { return queues_; }
  /// Changes whenever memory and rings do: where something was in them before is nobody's business any more.
  std::uint32_t generation() const { return generation_; }

  /// A kernel has said that a queue has something for the device.
  std::function<void(unsigned queue)> on_kick;

  /// Reads one message and answers it; false where the kernel is gone, or says what no kernel says: then
  /// error() is not empty.
  bool handle(const StillWaiting& still_waiting);
  const std::string& error() const { return error_; }

  /// The message that interrupts the driver of a queue; its answer is read by whoever waits for it.
  bool send_interrupt(unsigned queue, const StillWaiting& still_waiting);
  bool read_interrupt_answer(const StillWaiting& still_waiting);

 private:
  struct Request;
  bool carry_out(Request& request, const StillWaiting& still_waiting);
  bool answer(const Request& request, const void* payload, std::uint32_t bytes,
              const StillWaiting& still_waiting);
  bool set_memory(Request& request);
  bool set_ring(const Request& request);
  bool get_config(Request& request, const StillWaiting& still_waiting);
  bool refuse(std::string why) {
    error_ = std::move(why);
    return false;
  }

  std::uint64_t features_;
  unsigned queues_;
  std::vector<std::uint8_t> config_;
  File socket_, interrupts_;
  GuestMemory memory_;
  Virtqueue rings_[kMostQueues];
  std::string error_;
  std::uint32_t generation_ = 0;
};

}  // namespace weft::guest
