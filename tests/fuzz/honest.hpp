// A rank that does as it should beside one that does not: it exchanges messages and puts with its peer, and
// aborts where anything but that happens to it.
#pragma once

#include "ranks.hpp"

namespace weft::fuzz {

/// What the spoiler may know of an honest rank.
struct Known {
  std::uint32_t node = 0, port = 0;
  std::uint64_t given = 0;  // key of memory that everyone may use
  std::uint64_t kept = 0;   // key of memory that nobody else may use
  std::uint64_t inbox = 0;  // key that only the peer knows
};

class Honest : public Rank {
 public:
  static constexpr std::uint64_t kGiven = 4096, kInbox = 8192, kOutbox = 16'384, kRegion = 2048;
  static constexpr unsigned kRounds = 4;
  static constexpr std::uint8_t kUntouched = 0xa5;
  static constexpr std::uint64_t kSecret = 24'576;
  static constexpr char secret[] = "what an honest rank keeps to itself";

  Honest(unsigned number, Known& known, const Known& peer);
  void run() override;

  bool done() const { return stage_ == Stage::Done; }
  /// Memory is as it was but for what the peer put there and what was given away; aborts otherwise.
  void check();

 private:
  enum class Stage { Start, Open, Given, Inbox, Outbox, LookUp, Exchange, Leave, Done };
  struct Note {  // what a message says
    std::uint32_t from, round;
    std::uint64_t inbox;
  };

  void ask_to_register(std::uint64_t offset, std::uint32_t rights);
  void post(const nic::Descriptor& descriptor);
  void send_round();
  void take_all();
  std::uint8_t pattern(unsigned rank, unsigned at) const {
    return static_cast<std::uint8_t>(rank * 101 + at % 250);
  }

  std::vector<std::uint8_t> before_;
  unsigned number_;
  Known& known_;
  const Known& peer_;
  Stage stage_ = Stage::Start;
  std::uint64_t peer_inbox_ = 0;
  std::uint32_t posted_ = 0, messages_taken_ = 0, events_taken_ = 0;
  unsigned sent_ = 0, messages_ = 0, puts_ = 0, answered_ = 0;
};

/// Ends the program with a word on what was wrong: what a fuzzer takes for a find.
[[noreturn]] void broken(const char* what);

}  // namespace weft::fuzz
