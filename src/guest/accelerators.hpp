// The accelerators of a job of Linux nodes while it runs: who has which, what is asked for, and what nodes
// are told of it. In each node an agent, started by its first process, has the kernel look for devices, or
// let go of one, and says when that is done.
//
//   assign:   port granted, functions plugged into free slots -> agent: "rescan" -> "done"
//   release:  agent: "remove 3" -> "done" -> slots emptied, port taken back and reset
//   reclaim:  slots emptied, port taken back and reset -> agent: "remove 3"
//
// A program of the node asks its agent: "ask 2 assign nvme" -> as above -> agent: "answer 2 +node0 has
// nvme.0"
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "event/event_queue.hpp"
#include "guest/grant_script.hpp"
#include "guest/guest_node.hpp"
#include "nic/grants.hpp"

namespace weft::guest {

/// What became of a request, for reports.
struct GrantRecord {
  Time at{0}, done{0};
  std::string request, outcome;
};

class Accelerators final : private event::EventHandler {
 public:
  using Answer = std::function<void(bool well, const std::string& text)>;

  /// `nics`: of the pool's devices, in its order. `memory`: of a node, which a device may use.
  Accelerators(nic::Fabric& fabric, event::EventQueue& queue, std::vector<PooledDevice> pool,
               const std::vector<nic::NicId>& nics, std::vector<std::unique_ptr<GuestNode>>& nodes,
               std::uint64_t memory);

  /// Grants a device before nodes start, or as soon as it is up. Throws UserError where that cannot be.
  void assign_at_start(std::size_t device, std::size_t host);
  /// Requests of a script, each at its time.
  void schedule(const std::vector<GrantRequest>& script);
  /// Now; `answer` is told of its end, now or later.
  void request(const GrantRequest& request, Answer answer);

  /// Sends a packet of a request; its answer follows.
  std::function<void(const GrantRequest& request, std::function<void(const std::string&)> answer)> inject;
  /// A line for the node's agent; false where it cannot be said to it now. It is tried again.
  std::function<bool(std::size_t node, const std::string& line)> tell_agent;
  void agent_said(std::size_t node, const std::string& line);
  /// Is it about to say something?
  bool waits_for(std::size_t node) const { return !agents_[node].ready || agents_[node].told; }
  /// What a program of the node has asked is answered.
  void answer(std::size_t node, unsigned question, bool well, const std::string& text);
  /// Does the node have it, for good and for now?
  bool holds(std::size_t node, std::size_t device) const {
    return devices_[device].state == State::Held && devices_[device].host == node;
  }
  void node_ended(std::size_t node);
  /// Nothing goes on any more: those who wait hear of it.
  void end();

  const std::vector<PooledDevice>& pool() const { return pool_; }
  std::string list() const;
  const std::vector<GrantRecord>& records() const { return records_; }
  /// In words, all that the node has been granted.
  const std::vector<std::string>& granted_to(std::size_t node) const { return granted_[node]; }

 private:
  enum Kind : std::uint32_t { kScript, kGoOn };
  enum class State { Free, Appearing, Held, Leaving };
  struct Device {
    nic::NicId nic = 0;
    State state = State::Free;
    std::size_t host = 0;
    std::vector<RemoteFunction> functions;
  };
  struct Task {  // of an agent
    std::string line;
    std::size_t device = 0;
    bool plugged = false;  // the device is its node's until the agent is done
    std::optional<std::size_t> job;
    bool is_answer = false;  // the agent says nothing to it
  };
  struct Agent {
    bool ready = false, told = false, ended = false;
    std::deque<Task> tasks;  // the first is under way where `told`
  };
  struct Job {
    GrantRequest request;
    Answer answer;
    std::size_t record = 0;
    bool open = true;
  };

  void handle(const event::Event& event) override;
  void begin(std::size_t job);
  void assign(std::size_t job);
  void release(std::size_t job);
  void finish(std::size_t job, bool well, const std::string& text);
  void add_task(std::size_t node, Task task);
  void go_on(std::size_t node);
  void granted(std::size_t device, std::size_t host, State state);
  void take_back(std::size_t device);
  std::string remove_line(std::size_t device) const;
  std::vector<nic::Interval> memory_of_host() const { return {{0, memory_, nic::kNobody, 0}}; }

  nic::Fabric& fabric_;
  event::EventQueue& queue_;
  event::ComponentId component_;
  nic::Grants grants_;
  std::vector<PooledDevice> pool_;
  std::vector<Device> devices_;
  std::vector<std::unique_ptr<GuestNode>>& nodes_;
  std::vector<Agent> agents_;
  std::vector<std::vector<std::string>> granted_;
  std::uint64_t memory_;
  std::vector<Job> jobs_;
  std::vector<GrantRecord> records_;
};

}  // namespace weft::guest
