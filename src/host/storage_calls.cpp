#include "host/storage_calls.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/diagnostics.hpp"
#include "base/virtual_time.hpp"
#include "host/supervisor.hpp"

namespace weft::host {

using storage::kMetadata;
using storage::Piece;
using storage::Work;

namespace {

void tell_mount(const Segments& segments, const std::string& path) {
  for (const auto& segment : segments) {
    Mount& mount = segment->header().mount;
    mount = {};
    if (path.size() >= sizeof mount.path) continue;
    mount.length = static_cast<std::uint32_t>(path.size());
    std::memcpy(mount.path, path.c_str(), path.size() + 1);
  }
}

/// Where the files are on the host.
void tell_root(const Segments& segments, const std::string& path) {
  for (const auto& segment : segments) {
    Mount& mount = segment->header().mount;
    if (path.size() < sizeof mount.root) std::memcpy(mount.root, path.c_str(), path.size() + 1);
  }
}

bool writes(int flags) { return (flags & O_ACCMODE) != O_RDONLY; }

}  // namespace

StorageCalls::StorageCalls(const machine::Machine& machine, nic::Fabric& fabric, event::EventQueue& queue,
                           const StorageRanks& ranks, StorageOptions options,
                           std::vector<network::EndpointId> node_of_user, std::int64_t epoch)
    : machine_(machine),
      fabric_(fabric),
      queue_(queue),
      ranks_(ranks),
      options_(std::move(options)),
      node_of_user_(std::move(node_of_user)),
      epoch_(epoch),
      pending_(node_of_user_.size() * kThreads),
      borrower_(ranks.count),
      memory_(options_.cache, node_of_user_, machine.description.mpi.copy_rate) {
  if (ranks_.segments) tell_mount(*ranks_.segments, options_.mount);
  locks_.on_free = [this](const storage::Inode& inode) { wake_waiters(&inode); };
}

/// Processes of ranks have ended.
StorageCalls::~StorageCalls() {
  for (const auto& file : files_)
    if (file && file->whole_lock >= 0) ::close(file->whole_lock);
  if (tree_) tree_->power_is_cut();
}

namespace {

/// The servers; none where interfaces have no room for them, which is no reason to end ranks that do without.
std::unique_ptr<storage::Service> make_service(const machine::Machine& machine, nic::Fabric& fabric,
                                               event::EventQueue& queue, storage::Owner& owner) {
  try {
    return std::make_unique<storage::Service>(machine, fabric, queue, owner);
  } catch (const UserError& error) {
    fmt::print(stderr, "weft: the file system cannot be used: {}\n", error.what());
    return nullptr;
  }
}

}  // namespace

/// Somebody uses it for the first time: servers, devices and files are made.
bool StorageCalls::use() {
  if (unusable_) return false;
  const machine::StorageParameters& p = machine_.description.storage;
  storage::Owner& own = *this;
  if (options_.burst_buffer)
    tier_ = std::make_unique<storage::BurstBuffer>(p, options_.burst_buffer, node_of_user_, queue_, own);
  service_ = make_service(machine_, fabric_, queue_, tier_ ? *tier_ : own);
  if (service_ && tier_ && !tier_->attach(*service_)) {
    fmt::print(stderr,
               "weft: the burst buffer cannot be used: a node's interface has no port or memory left\n");
    service_ = nullptr;
  }
  unusable_ = !service_;
  if (unusable_) return false;
  const auto capacity = static_cast<std::uint64_t>(machine_.description.storage.device.capacity.value);
  tree_ = std::make_unique<storage::Tree>(options_.keep, service_->layout(), capacity, epoch_);
  if (tier_) tree_->on_cut = [this](std::uint64_t file, std::uint64_t size) { tier_->truncated(file, size); };
  buffer_.resize(service_->transfer());
  if (!memory_.make(*service_, *tree_, p.nvm)) {
    fmt::print(stderr,
               "weft: the file system cannot be used: a node's interface has no port or memory left\n");
    unusable_ = true;
    return false;
  }
  for (const StorageOptions::Failure& failure : options_.failures)
    if (failure.server < service_->servers()) service_->kill(failure.server, failure.at);
  if (options_.power_cut != kNever) tree_->cut_power_at(options_.power_cut);
  if (ranks_.segments) tell_root(*ranks_.segments, tree_->path());
  return true;
}

/// The process that asks: the rank's own, or one that it waits for and that has borrowed its thread.
pid_t StorageCalls::caller(std::uint32_t rank) {
  const pid_t own = ranks_.supervisor->process(rank),
              borrower = (*ranks_.segments)[rank]->header().borrower.load();
  if (borrower <= 0) return own;
  if (borrower_[rank] != borrower) {
    if (!belongs_to(borrower, own)) return own;
    borrower_[rank] = borrower;
    close_files_of_the_dead(rank);
  }
  return borrower;
}

void StorageCalls::begin(ThreadRef t, Time at) {
  if (!service_ && !use()) return answer(t, -ENODEV, 0, 0, at);
  const Request& request = ranks_.scheduler->thread(t).request;
  Pending& p = pending(t);
  if (p.opens) tree_->opened(*std::exchange(p.opens, nullptr));
  p = {};
  p.process = caller(t.rank);
  p.owner = static_cast<std::uint64_t>(p.process);
  const Time start = later(at, machine_.description.host.system_call);
  const bool known = file(static_cast<std::uint32_t>(request.argument[0] >> 32)) != nullptr;
  if (const std::int32_t result = read_request(request, known, p); result != 0)
    return answer(t, result, 0, 0, start);
  if (!flush_first(t, start)) proceed(t, start);
}

void StorageCalls::ask(ThreadRef t, Time at, FileRequest request) {
  if (!service_ && !use()) return answer(t, -ENODEV, 0, 0, at);
  Pending& p = pending(t) = std::move(request);
  const OpenFile* f = p.call <= FileCall::LastByFile ? file(p.file) : nullptr;
  if (p.call <= FileCall::LastByFile && (!f || f->rank != t.rank)) return answer(t, -EBADF, 0, 0, at);
  if (p.call > FileCall::LastByFile)
    if (const std::int32_t refused = refuse_path(p, *tree_); refused != 0)
      return answer(t, refused, 0, 0, at);
  if (!flush_first(t, at)) proceed(t, at);
}

/// Does it still wait for its answer?
bool StorageCalls::still_asks(ThreadRef t) const {
  return !is_rank(t) || ranks_.scheduler->thread(t).state == Scheduler::State::Waiting;
}

void StorageCalls::proceed(ThreadRef t, Time start) {
  Pending& p = pending(t);
  pieces_.clear();
  std::int32_t result = plan(p, t.rank, pieces_);
  if (result != 0) return answer(t, result, 0, 0, start);
  const bool asks = !pieces_.empty();
  if (asks && start_work(t, start)) return;
  if (asks) return answer(t, -ENOMEM, 0, 0, start);
  Piece nothing;
  result = p.kept ? move_kept(p, t.rank) : carry_out(token_of(t), nothing);
  answer(t, result, p.answer[0], p.answer[1], p.kept ? later(start, memory_.copying(p.length)) : start);
}

bool StorageCalls::start_work(ThreadRef t, Time at) {
  const network::EndpointId node = node_of_user_[t.rank];
  const Pending& p = pending(t);
  const bool data = p.call == FileCall::Read || p.call == FileCall::Write || p.call == FileCall::Touch;
  if (!tier_ || (!data && p.call != FileCall::Sync)) return service_->begin(node, at, token_of(t), pieces_);
  const storage::Inode& inode = *file(p.file)->inode;
  if (data) return tier_->begin(node, at, token_of(t), pieces_, tree_->size(inode));
  return tier_->sync(node, at, token_of(t), inode.number, pieces_);
}

// --- What work a call is.

std::int32_t StorageCalls::plan(Pending& p, std::uint32_t rank, std::vector<Piece>& out) {
  switch (p.call) {
    case FileCall::Read:
    case FileCall::Write:
      return plan_data(p, rank, out);
    case FileCall::Touch:
      add_pieces(p.address ? Work::Write : Work::Read, *file(p.file)->inode, p.offset, p.length, out);
      return 0;
    case FileCall::Sync:
      flushes_of(*file(p.file)->inode, changes_ > changes_flushed_, out);
      p.syncs = file(p.file)->inode->taken;
      p.syncs_changes = changes_;
      return 0;
    case FileCall::Open:
      return plan_open(p, out);
    case FileCall::Close:
    case FileCall::Adopt:
      return 0;
    case FileCall::Status:
    case FileCall::List:
    case FileCall::Lock:
    case FileCall::LockWhole:
    case FileCall::StatusAt:
    case FileCall::Access:
    case FileCall::ReadLink:
    case FileCall::Space:
      out.push_back({.work = Work::Look});
      return 0;
    default:
      out.push_back({.work = Work::Change});
      return 0;
  }
}

/// A change of metadata where a file is made or emptied; how that comes out is seen at the server.
std::int32_t StorageCalls::plan_open(Pending& p, std::vector<Piece>& out) {
  struct stat facts {};
  const int flags = static_cast<int>(p.path.flags);
  const bool there = tree_->status(p.first, !p.confined, facts) == 0;
  const bool changes = there ? (flags & O_TRUNC) && facts.st_size > 0 : (flags & O_CREAT) != 0;
  out.push_back({.work = changes ? Work::Change : Work::Look});
  return 0;
}

std::int32_t StorageCalls::plan_data(Pending& p, std::uint32_t rank, std::vector<Piece>& out) {
  const bool write = p.call == FileCall::Write;
  OpenFile& f = *file(p.file);
  storage::Inode& inode = *f.inode;
  if (write ? !writes(f.flags) : (f.flags & O_ACCMODE) == O_WRONLY) return -EBADF;
  if (f.flags & O_DIRECTORY) return -EISDIR;
  if (p.length == 0) return 0;
  const storage::NodeCache* cache = memory_.of(rank);
  const std::uint64_t size =
      std::max(tree_->size(inode), cache ? cache->end_of_dirty(inode.number) : std::uint64_t{0});
  if (write) {
    const bool appends = p.offset == kAtEnd || (f.flags & O_APPEND);
    if (appends) p.offset = std::max(size, inode.reserved_end);
    if (p.offset > (std::uint64_t{1} << 62)) return -EFBIG;
    if (std::int32_t full = tree_->reserve(inode, p.offset, p.length); full != 0) return full;
    inode.reserved_end = std::max(inode.reserved_end, p.offset + p.length);
    p.answer[0] = p.length;
    p.answer[1] = p.offset + p.length;
  } else {
    p.length = p.offset < size ? std::min(p.length, size - p.offset) : 0;
    p.answer[0] = p.length;
    p.answer[1] = p.offset + p.length;
    if (p.length == 0) {  // how large the file is, the metadata server knows
      out.push_back({.work = Work::Look});
      return 0;
    }
  }
  if (memory_.keeps(inode))
    plan_kept(p, rank, inode, out);
  else
    add_pieces(write ? Work::Write : Work::Read, inode, p.offset, p.length, out);
  return 0;
}

/// Of a file that the node's memory may keep: what it does not have, or what goes through it.
void StorageCalls::plan_kept(Pending& p, std::uint32_t rank, const storage::Inode& inode,
                             std::vector<Piece>& out) {
  if (p.call == FileCall::Write) {
    p.kept = options_.cache.back;
    if (!p.kept) add_pieces(Work::Write, inode, p.offset, p.length, out);
    return;
  }
  p.kept = true;
  p.fetches = memory_.of(rank)->missing(inode.number, p.offset, p.offset + p.length, tree_->size(inode));
  for (const storage::Extents::Range& range : p.fetches)
    add_pieces(Work::Read, inode, range.begin, range.end - range.begin, out);
}

/// What a flush that has been answered says of the file.
void StorageCalls::synced(const Pending& p) {
  changes_flushed_ = std::max(changes_flushed_, p.syncs_changes);
  OpenFile* f = file(p.file);
  for (std::size_t server = 0; f && server < p.syncs.size(); ++server)
    f->inode->flushed[server] = std::max(f->inode->flushed[server], p.syncs[server]);
}

// --- How it came out.

void StorageCalls::finished(std::uint64_t token, std::int32_t result, Time at) {
  const ThreadRef t = thread_of(token);
  Pending& p = pending(t);
  if (!still_asks(t)) return;  // killed
  if (p.stage == Pending::Stage::Flushes) return flushed(t, result, at);
  if (p.stage == Pending::Stage::Tells) return answer(t, result, p.answer[0], p.answer[1], at);
  if (result == 0 && p.kept) {
    result = kept_data_is_here(t);
    at = later(at, memory_.copying(p.length));
  }
  if (result == 0 && p.call == FileCall::Open && !opened(t)) result = -ENAMETOOLONG;
  if (result == 0 && p.call == FileCall::Sync) synced(p);
  // An open file is known by a handle, which means nothing without the server that gave it.
  const bool data = p.call == FileCall::Read || p.call == FileCall::Write || p.call == FileCall::Sync;
  if (result == -EIO && p.call <= FileCall::LastByFile && !data && service_->is_down(kMetadata))
    result = -ESTALE;
  const bool lock = p.call == FileCall::Lock || p.call == FileCall::LockWhole;
  if (lock && result == -EINPROGRESS) {
    waiters_.push_back({t, file(p.file)->inode});
    return;
  }
  if (result == 0 && p.opens && tell_others(t, *p.opens, at)) return;
  if (result == 0 && lock && file(p.file)) memory_.look(t.rank, *file(p.file)->inode);
  answer(t, result, p.answer[0], p.answer[1], at);
}

/// A rank opens the file by itself after this, by its name on the host. False where that is too long.
bool StorageCalls::opened(ThreadRef t) {
  Pending& p = pending(t);
  OpenFile* f = file(static_cast<std::uint32_t>(p.answer[0]));
  if (!f) return is_rank(t);  // closed meanwhile
  p.opens = f->inode;
  if (!is_rank(t)) {
    tree_->opened(*p.opens);
    return true;
  }
  const std::string name = tree_->path() + "/" + tree_->host_name(*p.opens, p.first);
  return name.size() < p.path.out_bytes && put(p, p.path.out, name.c_str(), name.size() + 1) == 0;
}

/// Those who wait for a lock on a file, or on any, ask again.
void StorageCalls::wake_waiters(const storage::Inode* inode) {
  on_lock_free();
  std::vector<Waiter> again;
  std::erase_if(waiters_, [&](const Waiter& waiter) {
    if (inode && waiter.inode != inode) return false;
    again.push_back(waiter);
    return true;
  });
  const Piece look{.work = Work::Look};
  for (const Waiter& waiter : again)
    if (still_asks(waiter.thread))
      service_->begin(node_of_user_[waiter.thread.rank], queue_.now(), token_of(waiter.thread), {&look, 1});
}

std::uint32_t StorageCalls::add_file(storage::Inode& inode, int flags, std::uint32_t rank, pid_t process) {
  memory_.count_opener(inode, rank, flags, 1);
  return files_.add(inode, flags, rank, process);
}

/// Processes that ranks start may end with files open.
void StorageCalls::close_files_of_the_dead(std::uint32_t rank) {
  const pid_t own = ranks_.supervisor->process(rank);
  for (std::uint32_t i = 0; i < files_.size(); ++i)
    if (const OpenFile* f = file(i);
        f && f->rank == rank && f->process != own && ::kill(f->process, 0) != 0 && errno == ESRCH)
      close_file(i, f->process);
}

void StorageCalls::user_ended(std::uint32_t user) {
  const bool rank = user < ranks_.count;
  std::erase_if(waiters_, [&](const Waiter& waiter) { return waiter.thread.rank == user; });
  for (std::uint32_t i = 0; i < files_.size(); ++i) {
    if (!file(i) || file(i)->rank != user) continue;
    flush_now(*file(i)->inode, user);
    close_file(i, rank ? ranks_.supervisor->process(user) : 0);
  }
  if (!rank && locks_.gone(lock_owner(user, 0), lock_owner(user + 1, 0))) wake_waiters(nullptr);
}

}  // namespace weft::host
