// A job's burst buffer: blocks of files in the non-volatile memory of its own nodes, in front of the parallel
// file system. Every block lies on one node, its home, and all of the job's nodes read and write it there:
// what one has written the others see.
//
//   read, there:      the home's device (by the interface where that is another node)
//   read, not there:  the home fetches the block from its target and answers from memory; then its device
//   write:            the home's device; write-back reads it from there and writes it to the targets
//
// Where blocks lie on the node that used them first, a node that is not the home of a block asks the node
// that keeps its entry, which follows from the block's number. Room is made by the least recently used block
// whose data outlives a power cut on the servers; where there is none, who needs room waits for a flush.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "base/slab.hpp"
#include "storage/counters.hpp"
#include "storage/extents.hpp"
#include "storage/service.hpp"

namespace weft::storage {

/// A block of a file, as its job knows it.
struct BufferBlock {
  static constexpr std::uint32_t kNoSlot = ~0u;
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // file, number of the block

  Key key;
  std::uint32_t home = 0, slot = kNoSlot;
  std::uint32_t pins = 0;  // operations that know its home: it stays there
  std::uint32_t busy = 0;  // requests that are served: it keeps its slot
  Extents valid, dirty;
  bool fetching = false, flushing = false, storing = false, ahead = false, staged = false;
  std::uint64_t used = 0, became_dirty = 0;
  Time settles{0};  // when the servers' copy outlives a power cut: until then it stays here
  std::vector<std::uint32_t> readers;  // requests that wait for the fetch
  std::vector<std::uint32_t> writers;  // requests whose answer waits until the servers have it

  bool is_idle() const { return !busy && !fetching && !flushing && !storing && dirty.empty(); }
};

/// A request that waits for room.
struct Starved {
  Piece piece;
  std::uint32_t request;
  Time since;
};

class BurstBuffer : public Owner, private Gate, private event::EventHandler {
 public:
  /// `capacity`: of all nodes together, which share it equally.
  BurstBuffer(const machine::StorageParameters& p, std::uint64_t capacity,
              std::vector<network::EndpointId> nodes, event::EventQueue& queue, Owner& calls);

  /// Its servers become the service's last ones. False where a node has no room for one.
  bool attach(Service& service);

  /// As Service::begin; `size`: of the file that data is of.
  bool begin(network::EndpointId node, Time at, std::uint64_t token, std::span<const Piece> pieces,
             std::uint64_t size);
  /// A file's data is to outlive a power cut; `pieces` are the flushes of servers that have taken any.
  bool sync(network::EndpointId node, Time at, std::uint64_t token, std::uint64_t file,
            std::span<const Piece> pieces);
  /// A file ends there now.
  void truncated(std::uint64_t file, std::uint64_t size);

  /// A block of a file is to be there before ranks begin; `node`: the home where placement is local.
  void stage_in(network::EndpointId node, std::uint64_t file, std::uint64_t number, std::uint64_t size);
  /// What is newer than the servers' data goes to them; of one file.
  void flush_all();
  void flush_file(std::uint64_t file);
  bool file_is_dirty(std::uint64_t file) const;
  bool busy() const { return fetching_ || flushing_ || dirty_blocks_; }

  const BufferCounters& counters() const { return counters_; }
  BufferCounters& counters() { return counters_; }
  std::uint64_t bytes() const { return slots_ * nodes_.size() * block_; }
  std::uint64_t block_bytes() const { return block_; }
  ServerId first_server() const { return first_; }

 private:
  using BlockId = std::uint32_t;
  using Block = BufferBlock;
  using Key = Block::Key;
  static constexpr std::uint32_t kNoSlot = Block::kNoSlot;
  static constexpr std::uint64_t kOwn = std::uint64_t{1} << 63;  // of a token

  struct Node {
    network::EndpointId node = 0;
    std::vector<std::uint32_t> free;
    std::set<std::pair<std::uint64_t, BlockId>> by_use, by_age;  // all with a slot; those that are dirty
    unsigned flushing = 0;
    std::uint64_t dirty_bytes = 0;
    std::deque<Starved> starved;
    Time looks{0};  // when it looks again who may leave
  };
  enum class Kind { Ask, Data, Fetch, Store, Drain, Flush, Sync };
  struct Task {
    Kind kind = Kind::Data;
    std::uint64_t token = 0, file = 0;
    network::EndpointId node = 0;
    BlockId block = 0;
    std::vector<Piece> pieces;
    std::vector<BlockId> pins;
    std::vector<Extents::Range> ranges;
    std::uint64_t mark = 0;  // of its owner, when it began
  };

  // Owner, of the service.
  std::int32_t carry_out(std::uint64_t token, Piece& piece) override;
  void finished(std::uint64_t token, std::int32_t result, Time at) override;
  void handle(const event::Event& event) override;
  // Gate.
  Way prepare(const Piece& piece, std::uint32_t request) override;
  bool holds(const Piece& piece, std::uint32_t request, std::int32_t result) override;

  Way read(Block& block, BlockId id, const Piece& piece, std::uint32_t request);
  bool move(std::uint32_t task, Time at);
  BlockId block_of(const Key& key, std::uint32_t home);
  std::uint32_t index_of(network::EndpointId node) const;
  std::uint32_t follows_from(const Key& key) const;
  std::uint64_t place(const Block& block, std::uint64_t offset) const { return block.slot * block_ + offset; }
  bool has_room(BlockId id, bool may_wait);
  bool make_room(Node& node);
  bool may_leave(const Block& block) const { return block.is_idle() && block.settles <= queue_.now(); }
  void forget(BlockId id);
  void touch(BlockId id);
  void set_dirty(BlockId id, std::uint64_t begin, std::uint64_t end);
  void read_ahead(const Piece& piece, std::uint32_t home, std::uint64_t number);
  bool fetch(BlockId id);
  void fetched(BlockId id, std::int32_t result);
  void flush(BlockId id);
  void flushed(std::uint32_t task, std::int32_t result);
  void flush_some(Node& node);
  void serve_starved(Node& node);
  void end_syncs(std::uint64_t file);
  Piece own_piece(Work work, const Block& block, std::uint64_t from) const;
  bool start(Kind kind, network::EndpointId node, BlockId block, std::vector<Piece> pieces,
             std::vector<Extents::Range> ranges = {});

  const machine::StorageParameters p_;
  const machine::BurstBufferParameters& policy_;
  std::uint64_t block_, slots_;
  event::EventQueue& queue_;
  event::ComponentId component_;
  Owner& calls_;
  Service* service_ = nullptr;
  ServerId first_ = 0;
  std::vector<Node> nodes_;  // in order
  std::map<Key, BlockId> index_;
  Slab<Block> blocks_;
  Slab<Task> tasks_;
  std::map<std::uint64_t, std::uint64_t> sizes_;  // of files
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t>
      reading_;                                       // by file and node: the next block
  std::map<std::uint64_t, std::vector<bool>> taken_;  // by file: targets that flushes have written to
  std::set<std::uint64_t> failed_;                    // files some of whose data no server took
  std::vector<std::uint32_t> syncs_;                  // tasks that wait for flushes
  std::uint64_t uses_ = 0;
  unsigned fetching_ = 0, flushing_ = 0;
  std::uint64_t dirty_blocks_ = 0;
  bool ending_ = false;
  BufferCounters counters_;
};

}  // namespace weft::storage
