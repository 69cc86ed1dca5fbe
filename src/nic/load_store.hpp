// Loads and stores of a program to memory of another node, word by word, through the shared memory unit.
//
// Whoever owns registered memory shares a range of it under a number of his interface. Another maps it: a
// window of his interface, whose addresses become those of the other node in one of three ways.
//
//   interval    an offset into the window and the number of the shared range travel; the target adds its base
//   mask        the upper bits of the address name the node, the lower ones the offset: one window for the
//               ranges of that number of all nodes
//   unchanged   the address travels as it is, and is a physical address there; for ports of the kernel alone
//
// A load is a read that waits for its completion. A store is posted: nobody answers it, and one that is
// refused there comes back as an event of the port that mapped the window. Stores keep their order, and no
// load passes one, between the same two nodes.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "nic/notifier.hpp"
#include "nic/registration.hpp"
#include "nic/smfu.hpp"

namespace weft::nic {

class LoadStore final : public TlpSink {
 public:
  struct Parts {
    Context& context;
    const PortTable& ports;
    node::Bus& bus;
    Registration& registration;
    Notifier& notifier;
    Smfu& smfu;
    Counters& counters;
  };
  enum class By : std::uint8_t { Interval, Mask, Unchanged };
  struct Window {
    By by = By::Interval;
    std::uint32_t node = 0;   // that it leads to; of a mask: none
    std::uint32_t share = 0;  // the number of the range there
    std::uint64_t size = 0;   // of a mask: for each node, a power of two
  };
  static constexpr std::uint32_t kShares = 1u << 20;
  static constexpr std::uint64_t kLargest = std::uint64_t{1} << 42;

  LoadStore(const Parts& parts, NicId interface);

  /// Lets others load and store registered memory, as far as its rights go.
  Status share(PortNo port, std::uint64_t key, std::uint64_t offset, std::uint64_t length,
               std::uint32_t& number);
  Status unshare(PortNo port, std::uint32_t number);
  Status map(PortNo port, const Window& window, std::uint32_t& number);
  Status unmap(PortNo port, std::uint32_t number);
  /// All of a port's.
  void close(PortNo port);

  /// The processor's accesses, begun at `from`, of 1, 2, 4 or 8 bytes in their natural place. The host hears
  /// what was loaded, with `token`.
  Status load(PortNo port, std::uint32_t window, std::uint64_t offset, std::uint32_t bytes, Time from,
              std::uint64_t token);
  Status store(PortNo port, std::uint32_t window, std::uint64_t offset, std::uint32_t bytes,
               std::uint64_t value, Time from);

  void arrived(NicId from, const pcie::Tlp& tlp, std::span<const std::uint8_t> data) override;
  /// The time of a job has come.
  void act(std::uint32_t job);

 private:
  enum class Stage : std::uint8_t { Send, Answer, Read, Write };
  struct Job {
    Stage stage{};
    NicId other = 0;
    pcie::Tlp tlp;
    std::uint64_t value = 0, token = 0;
    Status status = Status::Ok;
  };
  struct Share {
    bool open = false;
    PortNo port = 0;
    std::uint64_t key = 0, offset = 0, length = 0;
  };
  struct Mapped {
    bool open = false;
    PortNo port = 0;
    Window window;
  };

  Status find(PortNo port, std::uint32_t window, std::uint64_t offset, std::uint32_t bytes, Job& job) const;
  Status place(const pcie::Tlp& tlp, std::uint32_t rights, Place& place) const;
  void plan(Time when, const Job& job);
  void send_waiting();
  void completed(NicId from, const pcie::Tlp& tlp, std::span<const std::uint8_t> data);
  void end_read(const Job& job);
  void end_write(const Job& job);
  void refuse(const Job& job, Status status);

  Context& context_;
  const PortTable& ports_;
  node::Bus& bus_;
  Registration& registration_;
  Notifier& notifier_;
  Smfu& smfu_;
  Counters& counters_;
  NicId interface_;
  std::vector<Share> shares_;
  std::vector<Mapped> windows_;
  Slab<Job, 16> jobs_;
  std::deque<std::uint32_t> waiting_;  // for a tag
  std::array<std::uint32_t, 255> tags_;
  std::vector<std::uint8_t> free_tags_;
  Time last_write_{0};
};

}  // namespace weft::nic
