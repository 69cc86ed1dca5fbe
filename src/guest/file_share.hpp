// The machine's file system as a Linux node finds it: a virtio device that carries 9P ("v9fs", transport
// virtio). Its driver is the guest kernel's own; behind it stands the node's agent, as for ranks.
//
//   guest's ring -> message (file_session.hpp) -> host.system_call -> what a rank's call takes, its messages
//     through the node's interface -> host.interrupt -> guest's ring
//
// What takes no server is answered after host.system_call and host.interrupt.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "base/slab.hpp"
#include "event/event_queue.hpp"
#include "guest/file_session.hpp"
#include "guest/vhost_user.hpp"
#include "host/storage_calls.hpp"

namespace weft::guest {

struct FileShareCounters {
  std::uint64_t messages = 0, bytes_read = 0, bytes_written = 0;
};

class FileShare : private event::EventHandler {
 public:
  static constexpr const char* kTag = "weft";  // by which the guest mounts it
  static constexpr std::uint32_t kVirtioKind = 9;

  /// The node is `user` of the file system; its calendar begins at `date`, seconds since 1970.
  FileShare(host::StorageCalls& files, std::uint32_t user, event::EventQueue& queue,
            const machine::HostParameters& host, std::int64_t date);

  VhostUser& vhost() { return vhost_; }
  const FileShareCounters& counters() const { return counters_; }

  /// When the guest kicks; it may be ahead of the simulation.
  std::function<Time()> guest_time = [] { return Time{0}; };
  std::function<void()> interrupt_guest = [] {};

  /// Kicks of the guest while it ran are carried out, each at its time.
  void take_kicks();
  /// The first time at which the guest can be interrupted, where nothing happens outside before `quiet`.
  Time undisturbed_until(Time quiet) const { return works_.used() ? quiet : event::kNever; }
  /// Its call in one of its places has come to this.
  void answered(std::uint32_t place, std::int32_t result, std::uint64_t answer, Time at);
  /// A lock may have come free.
  void lock_free();
  /// The guest is gone, and with it what it has open.
  void stop();

 private:
  enum Kind : std::uint32_t { kBegin, kAnswer, kTryLocks };
  struct Work : FileWork {
    Time kicked{0};
    std::uint16_t head = 0;
    std::uint32_t generation_of_ring = 0;
    std::vector<Chain::Piece> writable;
    std::vector<std::uint32_t> flushes;  // messages that wait until it is answered
    host::FileRequest call;
  };

  void handle(const event::Event& event) override;
  void kicked();
  bool take(const Chain& chain);
  void begin(std::uint32_t index);
  void flush(std::uint32_t index);
  void go_on(std::uint32_t index, FileSession::Next next, Time at);
  void place_call(std::uint32_t index, Time at);
  void answer_at(std::uint32_t index, Time at);
  void answer(std::uint32_t index);
  void deliver(Work& work);

  host::StorageCalls& files_;
  const std::uint32_t user_;
  event::EventQueue& queue_;
  const event::ComponentId component_;
  const Time system_call_, interrupt_;
  FileSession session_;
  VhostUser vhost_;
  FileShareCounters counters_;
  Slab<Work, 16> works_;
  std::vector<std::uint32_t> kicks_;                   // messages, since all nodes waited last
  std::vector<std::uint32_t> under_way_;               // all that are not answered
  std::uint32_t in_place_[abi::kThreads];              // of the message whose call it is; kNone: free
  std::deque<std::pair<std::uint32_t, Time>> queued_;  // calls for which there was no place
  std::vector<std::uint32_t> waiting_;                 // for locks
  bool tries_ = false, stopped_ = false;
  Chain chain_;
};

}  // namespace weft::guest
