// Two-sided messages between processes of an experiment, by the protocol MPI programs use
// (mpi/transport.hpp).
//
// The protocol wants its work done and its descriptors posted one after the other. Here that may have to
// wait, so what it wants is noted while it runs, and done afterwards, in that order.
#pragma once

#include "abi/mpi_layout.hpp"
#include "measure/lab/lab.hpp"
#include "mpi/registration_cache.hpp"
#include "mpi/transport.hpp"

namespace weft::measure::lab {

class Messenger : private mpi::Transport, private mpi::Port {
 public:
  explicit Messenger(Process& process);
  ~Messenger();

  /// Hands a message over; the data of long ones is still here afterwards.
  Task send(Process& to, std::uint64_t bytes);
  /// Until nothing of what was sent is here any more.
  Task sent();
  /// Posts receives for so many messages, as programs do that know what will come.
  Task expect(unsigned messages);
  /// Until so many more messages have been received.
  Task receive(unsigned messages = 1);
  /// One look for progress. True in `received` where a message is complete; its length follows.
  Task test(bool& received);

  Process& process() const { return p_; }
  std::uint64_t last_length() const { return last_length_; }

 private:
  struct Action {
    Time work;  // before it
    nic::Descriptor descriptor;
  };

  // mpi::Port
  std::int64_t now() const override { return (p_.clock + noted_work_).value; }
  void work(std::int64_t picoseconds) override;
  void post(nic::Descriptor& descriptor) override;
  int register_memory(void* base, std::size_t bytes, unsigned rights, std::uint64_t& key) override;
  void release_memory(std::uint64_t key) override;

  // mpi::Transport
  void sent_at_once(mpi::Port&, const mpi::Outgoing&) override {}
  void request_ended(mpi::Port& port, const mpi::Request& request) override;
  void received(mpi::Port& port, const mpi::Incoming& in, std::size_t stored, int error, bool last) override;
  void other_message(mpi::Port& port, std::uint32_t peer, const nic::Message& message) override;
  void operation_here(mpi::Port& port, const nic::Event& event) override;
  void one_sided_done(mpi::Port& port, mpi::Request& request) override;
  void operation_failed(const mpi::Request& request, const nic::Event& event) override;
  void registration_failed(const mpi::Request& request, const void* base, int error) override;

  Task progress();
  Task perform();
  void unregister(std::uint64_t key);

  Process& p_;
  abi::MpiModel model_of_machine_;
  abi::MpiSums sums_of_process_{};
  mpi::RegistrationCache registrations_;
  std::vector<Action> actions_;
  Time work_after_{0};  // the last of them
  Time noted_work_{0};  // all of it
  unsigned sends_open_ = 0, receives_open_ = 0, complete_ = 0;
  std::uint64_t last_length_ = 0;
};

}  // namespace weft::measure::lab
