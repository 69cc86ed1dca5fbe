// Pages of an interface into which work is stored: each port has one for small messages and one for RDMA, as
// EXTOLL's VELO and RMA have them. Which page it is says which port posts; a page has 16 slots, and what is
// stored from the beginning of one is a descriptor:
//
//   messages:  node, port, tag (32 bits each), length, flags (16 bits each), then the data
//   RDMA:      the first 80 bytes of a descriptor (abi/descriptor.hpp), then the data of an immediate put
//
// A store that a link has cut in pieces is put together again, as long as they follow each other; what
// follows in the slot of a whole one is ignored, and so is a slot that begins with a header of zeros, since
// devices write whole blocks. Whoever stores must have the port. Nobody waits for a store,
// so whatever is wrong with it is an event of the port: also where the port's queue is full.
#pragma once

#include <array>
#include <vector>

#include "nic/interval.hpp"
#include "nic/notifier.hpp"
#include "nic/submission.hpp"

namespace weft::nic {

class RequesterPages {
 public:
  static constexpr std::uint64_t kPage = 4096, kSlot = 256;
  static constexpr std::uint32_t kMessageHeader = 16, kRdmaHeader = 80;

  RequesterPages(Context& context, NicId interface, const PortTable& ports, Submission& submission,
                 Notifier& notifier, Counters& counters)
      : context_(context),
        interface_(interface),
        ports_(ports),
        submission_(submission),
        notifier_(notifier),
        counters_(counters) {}

  /// A store that has reached the unit, at this offset in its window. False where it is not one of whoever
  /// has the page's port.
  bool store(Unit unit, std::uint64_t offset, std::span<const std::uint8_t> data, const Asker& asker);

 private:
  /// A slot that is being filled.
  struct Slot {
    std::uint32_t generation = 0;  // of the port
    std::uint64_t first = 0;       // in the page
    std::uint32_t end = 0;         // of what has come
    bool whole = true;             // it is posted, or refused
    Time begun{0};
    std::array<std::uint8_t, kSlot> bytes{};
  };

  Status check(PortNo port, const Asker& asker) const;
  void take(Unit unit, PortNo port, std::uint64_t at, std::span<const std::uint8_t> data, Time begun);
  void look(Unit unit, PortNo port, Slot& slot);
  void fail(PortNo port, const Descriptor& descriptor, Status status);

  Context& context_;
  NicId interface_;
  const PortTable& ports_;
  Submission& submission_;
  Notifier& notifier_;
  Counters& counters_;
  std::vector<Slot> slots_[2];  // by port; of messages, of RDMA
};

}  // namespace weft::nic
