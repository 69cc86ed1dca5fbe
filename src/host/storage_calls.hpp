// What ranks and Linux nodes ask of the machine's file system: calls become work for its servers
// (storage/service.hpp), and what they are for is done to the files (storage/tree.hpp) when a server has done
// its work. Made when the first of them uses a file below the mount point: a run that uses none has none of
// it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/file_locks.hpp"
#include "host/node_memory.hpp"
#include "host/open_files.hpp"
#include "host/run.hpp"
#include "host/scheduler.hpp"
#include "host/segment.hpp"
#include "host/storage_pieces.hpp"
#include "host/storage_request.hpp"
#include "storage/burst_buffer.hpp"
#include "storage/service.hpp"
#include "storage/tree.hpp"

namespace weft::host {

class Supervisor;

/// The ranks of a run, who are the first users of its files; none where there are Linux nodes alone.
struct StorageRanks {
  std::uint32_t count = 0;
  const Scheduler* scheduler = nullptr;
  Supervisor* supervisor = nullptr;
  const Segments* segments = nullptr;
};

class StorageCalls : private storage::Owner {
 public:
  StorageCalls(const machine::Machine& machine, nic::Fabric& fabric, event::EventQueue& queue,
               const StorageRanks& ranks, StorageOptions options,
               std::vector<network::EndpointId> node_of_user, std::int64_t epoch);
  ~StorageCalls() override;

  /// Told of every call that is done: 0 or a negative errno, two words of answer, and when the thread goes
  /// on.
  using Answer = std::function<void(ThreadRef thread, std::int32_t result, std::uint64_t first,
                                    std::uint64_t second, Time at)>;
  Answer on_answer;
  /// The same of users that are no ranks, whose threads are places for calls under way.
  Answer on_other_answer;
  /// Some lock of a file has come free, for users that are no ranks.
  std::function<void()> on_lock_free = [] {};

  /// Carries a thread's call out, from a time on.
  void begin(ThreadRef thread, Time at);
  /// Carries the call of a user out that is no rank: one in each of its places.
  void ask(ThreadRef place, Time at, FileRequest request);
  void user_ended(std::uint32_t user);
  /// An owner of locks for a user that is no rank, told apart by a number of its own.
  static std::uint64_t lock_owner(std::uint32_t user, std::uint32_t number) {
    return std::uint64_t{1} << 63 | std::uint64_t{user} << 32 | number;
  }
  std::int64_t epoch() const { return epoch_; }
  /// What nodes have written in their memory comes into the files, when nobody waits for it any more.
  void write_all_back();
  const NodeMemory& memory() const { return memory_; }

  /// The parts, made where nobody has used them yet; false where they cannot be.
  bool use();
  const StorageOptions& options() const { return options_; }
  const std::vector<network::EndpointId>& nodes() const { return node_of_user_; }
  storage::Tree& tree() { return *tree_; }
  storage::BurstBuffer* buffer() { return tier_.get(); }

  /// Its servers, once somebody has used it.
  storage::Service* service() { return service_.get(); }
  bool has_port(nic::PortRef port) const { return service_ && service_->has_port(port); }

 private:
  using Pending = FileRequest;
  struct Waiter {
    ThreadRef thread;
    const storage::Inode* inode;
  };

  std::int32_t carry_out(std::uint64_t token, storage::Piece& piece) override;
  std::uint64_t mark() const override;
  void copied(const storage::Piece& piece, std::uint64_t mark) override;
  void finished(std::uint64_t token, std::int32_t result, Time at) override;

  /// The call itself, once what it had to wait for is done.
  void proceed(ThreadRef thread, Time at);
  bool start_work(ThreadRef thread, Time at);
  bool is_rank(ThreadRef t) const { return t.rank < ranks_.count; }
  bool still_asks(ThreadRef t) const;
  bool opened(ThreadRef t);
  void answer(ThreadRef t, std::int32_t result, std::uint64_t first, std::uint64_t second, Time at) {
    (is_rank(t) ? on_answer : on_other_answer)(t, result, first, second, at);
  }
  pid_t caller(std::uint32_t rank);
  /// The work it is; none: it is done at once. A negative errno: it is refused.
  std::int32_t plan(Pending& p, std::uint32_t rank, std::vector<storage::Piece>& out);
  std::int32_t plan_open(Pending& p, std::vector<storage::Piece>& out);
  std::int32_t plan_data(Pending& p, std::uint32_t rank, std::vector<storage::Piece>& out);
  void plan_kept(Pending& p, std::uint32_t rank, const storage::Inode& inode,
                 std::vector<storage::Piece>& out);
  void synced(const Pending& p);
  void add_pieces(storage::Work work, const storage::Inode& inode, std::uint64_t offset, std::uint64_t bytes,
                  std::vector<storage::Piece>& out) const {
    cut_into_pieces({*service_, tier_.get()}, work, inode, {offset, offset + bytes}, out);
  }
  std::int32_t by_path(Pending& p, std::uint32_t rank, storage::Piece& piece);
  std::int32_t by_file(Pending& p, OpenFile& file, std::uint32_t rank, storage::Piece& piece);
  std::int32_t move_data(Pending& p, OpenFile& file, std::uint32_t rank, const storage::Piece& piece);

  // storage_cache.cpp
  storage::Inode* inode_of(std::uint64_t number);
  bool flush_first(ThreadRef thread, Time at);
  std::int32_t write_back(storage::Inode& inode, std::uint32_t rank, const storage::Piece& piece);
  void flushed(ThreadRef thread, std::int32_t result, Time at);
  void flush_now(storage::Inode& inode, std::uint32_t rank);
  std::int32_t move_kept(Pending& p, std::uint32_t rank);
  std::int32_t kept_data_is_here(ThreadRef thread);
  bool tell_others(ThreadRef thread, const storage::Inode& inode, Time at);

  void close_file(std::uint32_t number, pid_t process);
  void wake_waiters(const storage::Inode* inode);
  std::uint32_t add_file(storage::Inode& inode, int flags, std::uint32_t rank, pid_t process);
  void close_files_of_the_dead(std::uint32_t rank);
  OpenFile* file(std::uint32_t number) { return files_.find(number); }
  Pending& pending(ThreadRef t) { return pending_[t.rank * kThreads + t.thread]; }

  const machine::Machine& machine_;
  nic::Fabric& fabric_;
  event::EventQueue& queue_;
  const StorageRanks ranks_;
  StorageOptions options_;
  std::vector<network::EndpointId> node_of_user_;  // ranks, and then others
  const std::int64_t epoch_;                       // of the files' times, at virtual time 0
  std::unique_ptr<storage::BurstBuffer> tier_;     // where the job has one
  std::unique_ptr<storage::Service> service_;
  bool unusable_ = false, told_of_host_ = false;
  std::unique_ptr<storage::Tree> tree_;
  std::vector<Pending> pending_;                     // by user and thread
  std::uint64_t changes_ = 0, changes_flushed_ = 0;  // of metadata: carried out, and known to be durable
  OpenFiles files_;
  FileLocks locks_;
  std::vector<Waiter> waiters_;
  std::vector<pid_t> borrower_;  // by rank: one that is known to be of it
  NodeMemory memory_;
  std::vector<char> buffer_;
  std::vector<storage::Piece> pieces_;
};

}  // namespace weft::host
