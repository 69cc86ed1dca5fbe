// What ranks ask of the machine's file system: calls become work for its servers (storage/service.hpp), and
// what they are for is done to the files (storage/tree.hpp) when a server has done its work. Made when the
// first rank uses a file below the mount point: a run that uses none has none of it.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "abi/storage.hpp"
#include "host/run.hpp"
#include "host/scheduler.hpp"
#include "host/segment.hpp"
#include "storage/burst_buffer.hpp"
#include "storage/node_cache.hpp"
#include "storage/service.hpp"
#include "storage/tree.hpp"

namespace weft::host {

class Supervisor;

/// What the service calls an operation of a thread.
inline std::uint64_t token_of(ThreadRef t) { return std::uint64_t{t.rank} << 8 | t.thread; }
inline ThreadRef thread_of(std::uint64_t token) {
  return {static_cast<std::uint32_t>(token >> 8), static_cast<std::uint32_t>(token & 255)};
}

class StorageCalls : private storage::Owner {
 public:
  StorageCalls(const machine::Machine& machine, nic::Fabric& fabric, event::EventQueue& queue,
               const Scheduler& scheduler, Supervisor& supervisor, const Segments& segments,
               StorageOptions options, std::vector<network::EndpointId> node_of_rank);
  ~StorageCalls() override;

  /// Told of every call that is done: 0 or a negative errno, two words of answer, and when the thread goes
  /// on.
  std::function<void(ThreadRef thread, std::int32_t result, std::uint64_t first, std::uint64_t second,
                     Time at)>
      on_answer;

  /// Carries a thread's call out, from a time on.
  void begin(ThreadRef thread, Time at);
  void rank_ended(std::uint32_t rank);
  /// What nodes have written in their memory comes into the files, when nobody waits for it any more.
  void write_all_back();
  const std::vector<storage::NodeCache>& caches() const { return caches_; }
  /// The power is cut: its files are what the devices have. Processes of ranks have ended.
  void power_is_cut() {
    if (tree_) tree_->power_is_cut();
  }

  /// The parts, made where nobody has used them yet; false where they cannot be.
  bool use();
  const StorageOptions& options() const { return options_; }
  const std::vector<network::EndpointId>& nodes() const { return node_of_rank_; }
  storage::Tree& tree() { return *tree_; }
  storage::BurstBuffer* buffer() { return tier_.get(); }

  /// Its servers, once somebody has used it.
  storage::Service* service() { return service_.get(); }
  bool has_port(nic::PortRef port) const { return service_ && service_->has_port(port); }

 private:
  struct OpenFile {
    storage::Inode* inode = nullptr;
    int flags = 0;
    std::uint32_t rank = 0;
    pid_t process = 0;    // that has opened it
    int whole_lock = -1;  // a description of its own, for flock
    std::vector<storage::Tree::Entry> entries;
    bool listed = false;
  };
  struct Pending {
    FileCall call{};
    std::uint32_t file = 0;
    pid_t process = 0;
    std::uint64_t address = 0, length = 0, offset = 0;
    std::vector<iovec> parts;  // of the process's memory
    PathCall path{};
    std::string first, second;
    std::uint64_t answer[2] = {};
    storage::Inode* opens = nullptr;   // a file that the program opens after this call
    std::vector<std::uint64_t> syncs;  // by server: pieces that are durable after this call
    std::uint64_t syncs_changes = 0;   // and changes of metadata
    // Where nodes keep data of files.
    enum class Stage { Works, Flushes, Tells };
    struct Flush {
      storage::Inode* inode;
      std::vector<storage::Extents::Range> ranges;
    };
    Stage stage = Stage::Works;
    std::vector<Flush> flushes;                    // before it begins
    bool kept = false;                             // its data is in the node's memory in the end
    std::vector<storage::Extents::Range> fetches;  // into it
  };
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
  pid_t caller(std::uint32_t rank);
  std::int32_t read_request(const Request& request, Pending& p);
  std::int32_t read_parts(Pending& p);
  /// The work it is; none: it is done at once. A negative errno: it is refused.
  std::int32_t plan(Pending& p, std::uint32_t rank, std::vector<storage::Piece>& out);
  std::int32_t plan_open(Pending& p, std::vector<storage::Piece>& out);
  std::int32_t plan_data(Pending& p, std::uint32_t rank, std::vector<storage::Piece>& out);
  void plan_kept(Pending& p, std::uint32_t rank, const storage::Inode& inode,
                 std::vector<storage::Piece>& out);
  void plan_sync(Pending& p, std::vector<storage::Piece>& out);
  void synced(const Pending& p);
  void add_pieces(storage::Work work, const storage::Inode& inode, std::uint64_t offset, std::uint64_t bytes,
                  std::vector<storage::Piece>& out) const;
  std::int32_t by_path(Pending& p, std::uint32_t rank, storage::Piece& piece);
  std::int32_t by_file(Pending& p, OpenFile& file, std::uint32_t rank, storage::Piece& piece);
  std::int32_t move_data(Pending& p, OpenFile& file, std::uint32_t rank, const storage::Piece& piece);
  bool copy_from(const Pending& p, std::uint64_t skip, std::span<char> to) const;
  bool copy_to(const Pending& p, std::uint64_t skip, std::span<const char> from) const;
  std::int32_t list(Pending& p, OpenFile& file, storage::Piece& piece);

  // storage_cache.cpp
  bool make_caches();
  storage::NodeCache* cache_of(std::uint32_t rank);
  Time copying(std::uint64_t bytes) const;
  bool is_kept(const storage::Inode& inode) const;
  void count_opener(storage::Inode& inode, std::uint32_t rank, int flags, int by);
  storage::Inode* inode_of(std::uint64_t number);
  std::vector<std::uint64_t> to_be_flushed(const Pending& p, const storage::NodeCache& cache);
  bool flush_first(ThreadRef thread, Time at);
  std::int32_t flush_piece(Pending& p, std::uint32_t rank, const storage::Piece& piece);
  std::int32_t write_back(storage::Inode& inode, std::uint32_t rank, const storage::Piece& piece);
  std::int32_t write_data(storage::Inode& inode, std::uint32_t rank, const storage::Piece& piece,
                          std::span<const char> data);
  void flushed(ThreadRef thread, std::int32_t result, Time at);
  void flush_now(storage::Inode& inode, std::uint32_t rank);
  std::int32_t move_kept(Pending& p, std::uint32_t rank);
  std::int32_t kept_data_is_here(ThreadRef thread);
  void look_for_changes(std::uint32_t rank, std::uint32_t number);
  bool tell_others(ThreadRef thread, const storage::Inode& inode, Time at);

  std::int32_t lock(Pending& p, OpenFile& file);
  std::int32_t lock_whole(Pending& p, OpenFile& file);
  void close_file(std::uint32_t number, pid_t process);
  void wake_waiters(const storage::Inode& inode);
  std::int32_t put(const Pending& p, std::uint64_t address, const void* from, std::uint64_t bytes) const;
  std::uint32_t add_file(storage::Inode& inode, int flags, std::uint32_t rank, pid_t process);
  void close_files_of_the_dead(std::uint32_t rank);
  OpenFile* file(std::uint32_t number);
  Pending& pending(ThreadRef t) { return pending_[t.rank * kThreads + t.thread]; }

  const machine::Machine& machine_;
  nic::Fabric& fabric_;
  event::EventQueue& queue_;
  const Scheduler& scheduler_;
  Supervisor& supervisor_;
  const Segments& segments_;
  StorageOptions options_;
  std::vector<network::EndpointId> node_of_rank_;
  std::unique_ptr<storage::BurstBuffer> tier_;  // where the job has one
  std::unique_ptr<storage::Service> service_;
  bool unusable_ = false, told_of_host_ = false;
  std::unique_ptr<storage::Tree> tree_;
  std::vector<Pending> pending_;                     // by rank and thread
  std::uint64_t changes_ = 0, changes_flushed_ = 0;  // of metadata: carried out, and known to be durable
  std::vector<std::unique_ptr<OpenFile>> files_;
  std::vector<std::uint32_t> free_files_;
  std::map<std::pair<pid_t, std::uint64_t>, int> locks_;  // by process and file: a description that has them
  std::vector<Waiter> waiters_;
  std::vector<pid_t> borrower_;             // by rank: one that is known to be of it
  std::vector<storage::NodeCache> caches_;  // where nodes keep data of files
  std::map<network::EndpointId, std::uint32_t> cache_of_node_;
  storage::ServerId first_cache_ = 0;  // of the servers by which nodes are told to forget
  std::vector<char> buffer_;
  std::vector<storage::Piece> pieces_;
};

}  // namespace weft::host
