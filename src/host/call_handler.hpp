// What ranks ask the simulator for, beside data: ports, memory, addresses, files, all others to come. A call
// is carried out at its time; its answer comes when its cost has passed, or what it waits for is there.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "host/device_memory.hpp"
#include "host/files.hpp"
#include "host/rank_ports.hpp"
#include "host/scheduler.hpp"
#include "host/supervisor.hpp"

namespace weft::host {

class StorageCalls;

class CallHandler {
 public:
  struct Costs {
    Time look_ahead, system_call, post;
  };
  struct Answer {
    std::int32_t result = 0;  // 0 or a negative errno
    std::array<std::uint64_t, 4> value{};
  };

  CallHandler(nic::Fabric& fabric, RankPorts& ports, Scheduler& scheduler, Supervisor& supervisor,
              Costs costs);

  /// Calls for the machine's file system go there.
  void use_storage(StorageCalls& storage);

  /// A thread has asked: plans when its call is carried out, or what ends its wait.
  void begin(ThreadRef thread);
  /// Carries a call out.
  void act(ThreadRef thread);
  /// A thread is about to go on at this time: settles its answer.
  void settle(ThreadRef thread, Time at);
  /// It goes on.
  const Answer& grant(ThreadRef thread);

  /// Calls that wait for posted work to be done: to be told whenever some may be.
  void check_leaving();
  /// A rank opens no ports any more.
  void rank_leaves(std::uint32_t rank);
  void rank_ended(std::uint32_t rank);
  bool has_left(std::uint32_t rank) const { return left_[rank]; }

  /// The value of a register has come back to the thread that asked for it.
  void register_read(std::uint64_t token, std::uint64_t value);
  /// A load has come back to the thread that waits for it.
  void loaded(std::uint64_t token, nic::Status status, std::uint64_t value);
  /// A device interrupts: one of the threads that wait for it goes on, or the next that comes.
  void device_interrupt(node::NodeId node, node::DeviceId device);
  /// A copy to or from a device's memory has ended.
  void device_copied(std::uint64_t token, bool well);
  /// What a device of a rank's node is called; empty where there is no such device.
  std::string device_name(std::uint32_t rank, std::uint64_t device) const;

  /// Threads whose files are ready go on, no earlier than this; waits so long for the first. False where
  /// there are none.
  bool see_files(Time at, int milliseconds);
  bool watches_files() const { return !files_.empty(); }

 private:
  Answer& answer(ThreadRef r) { return answers_[r.rank * kThreads + r.thread]; }
  const Request& request(ThreadRef r) const { return scheduler_.thread(r).request; }
  void wait(ThreadRef thread);
  Time act_on_memory(ThreadRef thread, Time begin);
  void act_on_device(ThreadRef thread, Time begin);
  void act_on_device_memory(ThreadRef thread, Time begin);
  std::int32_t allocate_on_device(ThreadRef thread);
  std::int32_t register_memory(ThreadRef thread);
  void act_on_window(ThreadRef thread, Time begin);
  unsigned& unseen_interrupts(nic::NicId nic, node::DeviceId device);
  std::int32_t open_port(ThreadRef thread);
  void leave(ThreadRef thread);
  void meet(ThreadRef thread);
  void look_up(ThreadRef thread);
  void answer_lookups(std::uint32_t rank);
  bool watch_files(ThreadRef thread);

  nic::Fabric& fabric_;
  RankPorts& ports_;
  Scheduler& scheduler_;
  Supervisor& supervisor_;
  Costs costs_;
  StorageCalls* storage_ = nullptr;
  std::vector<Answer> answers_;  // by rank and thread
  std::vector<bool> left_;       // by rank
  BorrowedFiles files_;
  DeviceMemory device_memory_;
  std::vector<std::vector<unsigned>> interrupts_;  // by nic and device: those no rank has waited for yet
  unsigned leaving_ = 0, meeting_ = 0;
  Time meeting_time_{0};
};

}  // namespace weft::host
