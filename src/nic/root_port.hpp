// The interface as root port of a node: what sits below it is configured and used from other nodes, and needs
// no processor.
//
//   network -> shared memory unit -> [type 1 becomes type 0] -> link down -> function
//   function -> link up -> interval of addresses -> shared memory unit -> network
//
// The on-chip network (on_chip.hpp) has a table of intervals for this input: an access whose address lies in
// that of a unit of the chip goes there, whoever it comes from, what else a function asks for to the shared
// memory unit, and what else comes from the network to the windows of what is below.
//
//   network or function -> register file, requester pages -> completion, the same way back
//
// One host at a time has the port. What anybody else asks for is refused, and a function reaches what its
// port's intervals name and nothing else: the rest is answered as unsupported, and counted.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/slab.hpp"
#include "nic/device_tree.hpp"
#include "nic/on_chip.hpp"
#include "nic/smfu.hpp"
#include "pcie/tree.hpp"

namespace weft::nic {

class RootPort final : public TlpSink, private pcie::Upstream, private event::EventHandler {
 public:
  /// `own`: its interface; `error` says where the addresses that it passes on are too few.
  RootPort(NicId own, Smfu& smfu, OnChip& chip, event::EventQueue& queue, DeviceTree below,
           std::string& error);

  /// From a reset to the first request that a device must answer: PCI Express gives it so long.
  static constexpr Time kReset{100'000'000'000};
  /// Nobody gets an answer from below before this.
  Time ready() const { return ready_; }

  pcie::Tree& tree() { return *tree_; }
  /// What our own enumeration has found when the node came up.
  const std::vector<pcie::Found>& found() const { return found_; }

  /// Who has the port; kNobody: it is free, and any node may configure it.
  NicId owner() const { return owner_; }
  void assign(NicId owner) { owner_ = owner; }
  /// The host has it no more: its functions are reset, what they were doing is forgotten.
  void release();

  void arrived(NicId from, const pcie::Tlp& tlp, std::span<const std::uint8_t> data) override;
  void left(const pcie::Tlp& tlp, std::uint64_t place) override;

 private:
  enum Kind : std::uint32_t { kDown, kUp, kUnit };
  struct Job {
    NicId other = kNobody;
    std::size_t place = 0;
    std::uint32_t grant = 0;  // under which it came here
    Time begun{0};
    pcie::Tlp tlp;
    std::vector<std::uint8_t> data;
  };
  struct Link {
    Link(pcie::Direction downwards, pcie::Direction upwards)
        : down(std::move(downwards)), up(std::move(upwards)) {}
    pcie::Direction down, up;
    std::deque<std::uint32_t> going_down, going_up;  // wait for credits
  };

  void send(pcie::FunctionId from, const pcie::Tlp& tlp, std::span<const std::uint8_t> data) override;
  void handle(const event::Event& event) override;
  std::uint32_t new_job(NicId other, std::size_t place, const pcie::Tlp& tlp,
                        std::span<const std::uint8_t> data);
  std::unique_ptr<Link> make_link(std::size_t place);
  std::size_t find(const pcie::Tlp& tlp) const;
  void refuse(NicId to, const pcie::Tlp& tlp);
  void pump_down(std::size_t place);
  void pump_up(std::size_t place);
  void carry_out(std::uint32_t index);
  void configure(const Job& job);
  void read_memory(const Job& job);
  void answer(const Job& request, const pcie::Tlp& tlp, std::span<const std::uint8_t> data);
  bool is_stale(const Job& job) const { return job.grant != grant_; }
  void drop(std::uint32_t index);
  void go_up(NicId to, std::size_t place, const pcie::Tlp& tlp, std::span<const std::uint8_t> data);
  void leave(std::uint32_t index);
  void ask_unit(Unit unit, std::uint32_t index);
  void end_unit(std::uint32_t index);
  Asker asker_of(const Job& job) const;
  void reply(const Job& job, const pcie::Tlp& tlp, std::span<const std::uint8_t> data);

  NicId own_;
  Smfu& smfu_;
  OnChip& chip_;
  event::EventQueue& queue_;
  event::ComponentId component_;
  std::unique_ptr<pcie::Tree> tree_;
  std::vector<pcie::Found> found_;
  std::vector<pcie::Line> lines_down_, lines_up_;      // by place at the lower end
  std::vector<std::unique_ptr<Link>> links_;           // by place; bridges have none of their own
  std::vector<node::DeviceId> devices_, all_devices_;  // by place; and of functions alone
  Time ready_{0};
  NicId owner_ = kNobody;
  std::uint32_t grant_ = 0;  // counts releases: what came before is nobody's
  Slab<Job, 64> jobs_;
  std::vector<std::uint8_t> answer_;
};

}  // namespace weft::nic
