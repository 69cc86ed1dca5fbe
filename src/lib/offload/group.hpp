// A communicator whose collectives the interface runs: its tree, its sequences, and what is under way.
//
// Every member of a communicator calls the same collectives in the same order, so all of them number the
// rounds of its sequences alike without a word. Rounds of Up and Down hold each other back: nobody is more
// than the rounds an interface holds ahead of anybody else. A broadcast or a reduce holds nobody back; so
// after as many of those as fit into half of that room, all members run a barrier of their own, each when its
// part of what came before is done.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "abi/descriptor.hpp"
#include "abi/mpi_layout.hpp"
#include "collective/sequences.hpp"
#include "lib/offload/by_routers.hpp"
#include "lib/offload/types.hpp"
#include "lib/port.hpp"

namespace weft::offload {

/// Rounds that are counted together.
enum class Stream : unsigned { Both, Inward, Outward };
inline constexpr unsigned kStreams = 3;

/// One collective call of this member.
struct Operation {
  abi::Offloaded what{};
  Stream stream{};
  nic::RoundKind kind;
  std::uint64_t first = 0;  // its first round
  std::uint32_t rounds = 1, posted = 0, arrived = 0;
  bool posts = false, hears = false;  // this member gives data to the tree; it waits for data of it
  bool synchronises = false;          // a barrier of the group's own
  std::uint64_t outward = 0;          // rounds of broadcasts that came before it
  bool done = false, unpacked = false;
  std::size_t piece = 0;             // bytes of a round
  std::vector<std::uint8_t> data;    // what it gives
  std::vector<std::uint8_t> result;  // what it gets
  // Where the result goes, in the program's terms.
  Word buffer = 0, type = 0, communicator = 0;
  int count = 0;
  bool gathers = false;
  std::int64_t stride = 0;  // bytes between blocks of a gather
  Word request = 0;         // the program's, where it does not wait in the call
  // A block that is sent once, for all: the root's, or where the member wants it.
  bool for_many = false;
  std::uint8_t* block = nullptr;
  std::size_t block_bytes = 0;
  std::uint64_t block_key = 0;
};

class Group {
 public:
  Group(Word communicator, weft_port* port, int rank, int size);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// All members: agrees on the tree and arms its sequences. False where a member cannot.
  bool join(abi::Thread& thread);
  void leave(abi::Thread& thread);

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Bytes of a round.
  std::size_t piece() const { return piece_; }
  bool idle() const { return operations_.empty(); }
  Word communicator() const { return communicator_; }
  /// Routers copy what is for all of its members.
  bool multicasts() const { return multicasts_; }
  /// Routers combine what its members give to barriers and all-reduces; if not, why.
  bool in_routers() const { return routers_ && routers_->combine(); }
  abi::NotInRouters why_not_in_routers() const { return routers_->why_not(); }

  /// Takes its place in the order of the communicator's collectives; `operation` stays the caller's.
  void begin(abi::Thread& thread, Operation& operation);
  /// Posts what may be posted by now.
  void advance(abi::Thread& thread);
  void hear(const nic::Event& event);

  /// The members' blocks in the order in which a gather puts them together.
  std::vector<std::uint32_t> gathered_order() const;

 private:
  struct Early {
    std::vector<std::uint8_t> data;
    std::uint64_t kind;
  };
  std::size_t place_of(int rank) const { return place_of_rank_[static_cast<std::size_t>(rank)]; }
  void enqueue(Operation& operation);
  void post_what_may_be(abi::Thread& thread);
  bool end_what_is_done();
  void note_open() const;
  bool may_post(const Operation& operation, std::size_t before) const;
  void post_round(abi::Thread& thread, Operation& operation, std::uint32_t round);
  void take(Operation& operation, std::uint64_t round, const std::uint8_t* data, std::size_t bytes,
            std::uint64_t kind);
  void finish(Operation& operation);
  void join_nodes(abi::Thread& thread);
  void post(abi::Thread& thread, nic::Descriptor& descriptor);
  void post_expect(abi::Thread& thread, const Operation& operation);
  void post_block(abi::Thread& thread, const Operation& operation);
  void repair(abi::Thread& thread, const Operation& operation, const nic::Event& event);
  bool hear_block(const nic::Event& event);
  nic::TriggerTarget result_of(const Operation& operation) const;
  bool note_gone(const nic::Event& event) const;
  [[noreturn]] void explain_other(std::uint64_t called, std::uint64_t carried) const;
  [[noreturn]] void explain(const nic::Event& event) const;
  void arm(abi::Thread& thread, collective::Part part, std::size_t image_at);

  Word communicator_;
  weft_port* port_;
  const abi::CollectiveModel& model_;
  int rank_, size_;
  bool armed_ = false, multicasts_ = false;
  std::optional<ByRouters> routers_;  // where they combine, or might
  std::uint32_t waiting_for_arm_ = 0;
  std::uint16_t first_ = 0;
  std::uint64_t key_ = 0, memory_key_ = 0;
  std::size_t piece_ = 0;
  collective::Tree tree_;
  std::vector<collective::Member> members_;  // by place
  std::vector<std::uint32_t> place_of_rank_, rank_at_, world_rank_;
  std::uint8_t* memory_ = nullptr;
  std::size_t nodes_at_ = 0, bytes_ = 0, delivered_at_[kStreams] = {}, sent_at_[kStreams] = {};
  std::uint64_t next_round_[kStreams] = {};
  std::vector<std::uint64_t> spread_kind_;  // of the last broadcasts, by round
  std::uint64_t outward_heard_ = 0;         // rounds of broadcasts that have passed this member's interface
  std::uint32_t one_way_ = 0;               // rounds since the group last ran a barrier of its own
  std::deque<Operation*> operations_;
  std::vector<std::unique_ptr<Operation>> barriers_;  // of its own
  std::map<std::pair<unsigned, std::uint64_t>, Early> early_;
};

/// Is an event about what groups have posted?
bool is_own(const nic::Event& event);
/// What a sequence's event says to whoever waits for it; and whether anything is under way.
void hear(const nic::Event& event);
bool under_way();

/// Lets the MPI library take what has arrived; waits where nothing has.
void progress();

}  // namespace weft::offload
