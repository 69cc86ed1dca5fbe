#include "guest/file_session.hpp"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "host/storage_calls.hpp"

namespace weft::guest {

using host::FileCall;
using host::FileRequest;
using ninep::Answer;
using ninep::Qid;
using Next = FileSession::Next;

namespace {

constexpr std::size_t kLongestName = 255;
constexpr std::uint32_t kRemoveFolder = 0x200;  // as the protocol says it
constexpr const char* kOurNames = ".weft-";     // of files that only the simulator knows

/// 0 where it can be the name of a file, else a negative errno.
std::int32_t refuse_name(std::string_view name) {
  if (name.empty() || name == "." || name == "..") return -EINVAL;
  if (name.size() > kLongestName) return -ENAMETOOLONG;
  if (name.find('/') != name.npos || name.find('\0') != name.npos) return -EINVAL;
  return name.starts_with(kOurNames) ? -ENOENT : 0;
}

/// Flags of an open, of those that mean something here; symbolic links are no way.
int open_flags(std::uint32_t asked, bool folder) {
  if (folder) return O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  constexpr std::uint32_t kKnown = O_ACCMODE | O_TRUNC | O_APPEND | O_EXCL | O_SYNC | O_DSYNC;
  return static_cast<int>(asked & kKnown) | O_NOFOLLOW;
}

std::uint64_t address(const void* of) { return reinterpret_cast<std::uint64_t>(of); }

}  // namespace

// --- Fids: what the guest calls files by.

std::int32_t FileSession::new_fid(std::uint32_t number, std::string path, const Qid& qid) {
  if (number >= kMostFids) return -ENFILE;
  if (number >= fids_.size()) fids_.resize(number + 1);
  Fid& f = fids_[number];
  if (f.used) return -EBADF;
  f = {true, false, (qid.type & 0x80) != 0, 0, 0, ++made_, qid.path, std::move(path)};
  return 0;
}

void FileSession::let_go(Fid& f) {
  if (f.open) --open_;
  f = {};
}

std::int32_t FileSession::join(std::uint32_t folder, std::string_view name, std::string& out) {
  const Fid* f = fid(folder);
  if (!f) return -EBADF;
  if (!f->folder) return -ENOTDIR;
  if (const std::int32_t refused = refuse_name(name); refused != 0) return refused;
  if (f->path.size() + 1 + name.size() >= abi::kLongestPath) return -ENAMETOOLONG;
  out = f->path;
  if (!out.empty()) out += '/';
  out += name;
  return 0;
}

void FileSession::by_path(FileWork& work, FileCall kind, FileRequest& call) const {
  call = {};
  call.call = kind;
  call.confined = true;
  call.first = work.path;
  call.path.flags = AT_SYMLINK_NOFOLLOW;
}

void FileSession::by_file(const Fid& f, FileCall kind, FileRequest& call) const {
  call = {};
  call.call = kind;
  call.confined = true;
  call.file = f.file;
}

void FileSession::fail(FileWork& work, std::int32_t error) {
  ninep::error(work.out, work.request.tag, static_cast<std::uint32_t>(-error));
}

// --- A message has come.

Next FileSession::begin(FileWork& work, FileRequest& call) {
  work.step = 0;
  work.walked.clear();
  if (!ninep::parse(work.in, work.request)) return refuse(work, -EPROTO);
  switch (work.request.kind) {
    case Kind::Version:
      return version(work);
    case Kind::Flush:
      well(work);
      return Next::Answer;
    case Kind::Attach:
      work.path.clear();
      by_path(work, FileCall::StatusAt, call);
      call.path.out = address(&work.facts);
      call.path.out_bytes = sizeof work.facts;
      return Next::Ask;
    case Kind::Authenticate:
    case Kind::WalkExtended:
    case Kind::CreateExtended:
      return refuse(work, -EOPNOTSUPP);
    default:
      return fid(work.request.fid) ? begin_known(work, call) : refuse(work, -EBADF);
  }
}

/// About a file that the guest has a fid of.
Next FileSession::begin_known(FileWork& work, FileRequest& call) {
  const Fid& f = *fid(work.request.fid);
  work.generation = f.generation;
  work.path = f.path;
  switch (work.request.kind) {
    case Kind::Walk:
      return walk(work, call);
    case Kind::Open:
      return open(work, call);
    case Kind::Create:
    case Kind::MakeNode:
    case Kind::MakeFolder:
    case Kind::SymbolicLink:
      return make(work, call);
    case Kind::Rename:
    case Kind::RenameAt:
    case Kind::Link:
      return rename(work, call);
    case Kind::GetAttributes:
      return status(work, call);
    case Kind::SetAttributes:
      return set(work, call);
    case Kind::Lock:
    case Kind::GetLock:
      return lock(work, call);
    case Kind::Close:
    case Kind::Remove:
    case Kind::RemoveAt:
      return close(work, call);
    case Kind::ReadLink:
      work.room.resize(abi::kLongestPath);
      by_path(work, FileCall::ReadLink, call);
      call.path.out = address(work.room.data());
      call.path.out_bytes = work.room.size();
      return Next::Ask;
    case Kind::FileSystem:
      by_path(work, FileCall::Space, call);
      call.path.out = address(&work.space);
      call.path.out_bytes = sizeof work.space;
      return Next::Ask;
    default:
      return f.open ? by_open_file(work, call) : refuse(work, -EBADF);
  }
}

/// A session begins, and nothing of one before it is left.
Next FileSession::version(FileWork& work) {
  fids_.clear();
  open_ = 0;
  on_reset();
  const bool known = work.request.name == "9P2000.L";
  largest_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(work.request.size, kMostMessage));
  Answer answer(work.out, Kind::Version, work.request.tag);
  answer.u32(largest_);
  answer.text(known ? "9P2000.L" : "unknown");
  answer.finish();
  return Next::Answer;
}

/// Another fid of the same file, or of one that is found by names from there.
Next FileSession::walk(FileWork& work, FileRequest& call) {
  const Request& r = work.request;
  const Fid& from = *fid(r.fid);
  const bool same = r.other == r.fid;
  if (same ? from.open : fid(r.other) != nullptr) return refuse(work, -EBADF);
  if (r.walked == 0) {
    const Qid qid{static_cast<std::uint8_t>(from.folder ? 0x80 : 0), from.inode};
    const std::int32_t refused = same ? 0 : new_fid(r.other, work.path, qid);
    if (refused != 0) return refuse(work, refused);
    Answer answer(work.out, r.kind, r.tag);
    answer.u16(0);
    answer.finish();
    return Next::Answer;
  }
  if (!from.folder) return refuse(work, -ENOTDIR);
  return walked(work, 0, call);
}

/// The next name of a walk, when the one before it was found.
Next FileSession::walked(FileWork& work, std::int32_t result, FileRequest& call) {
  const Request& r = work.request;
  if (work.step > 0 && result == 0) work.walked.push_back(ninep::qid_of(work.facts));
  if (result == 0 && work.step < r.walked) {
    const std::string_view name = r.names[work.step];
    if (name == "..") {
      const std::size_t slash = work.path.rfind('/');
      work.path.resize(slash == std::string::npos ? 0 : slash);
    } else {
      result = refuse_name(name);
      if (work.path.size() + 1 + name.size() >= abi::kLongestPath) result = -ENAMETOOLONG;
      if (!work.path.empty()) work.path += '/';
      work.path += name;
    }
    ++work.step;
    if (result == 0) {
      by_path(work, FileCall::StatusAt, call);
      call.path.out = address(&work.facts);
      call.path.out_bytes = sizeof work.facts;
      return Next::Ask;
    }
  }
  if (result != 0 && work.walked.empty()) return refuse(work, result);
  if (work.walked.size() == r.walked) {
    if (Fid* f = fid(r.fid); r.other == r.fid && f) let_go(*f);
    if (const std::int32_t refused = new_fid(r.other, work.path, work.walked.back()); refused != 0)
      return refuse(work, refused);
  }
  Answer answer(work.out, r.kind, r.tag);
  answer.u16(static_cast<std::uint16_t>(work.walked.size()));
  for (const Qid& qid : work.walked) answer.qid(qid);
  answer.finish();
  return Next::Answer;
}

Next FileSession::open(FileWork& work, FileRequest& call) {
  const Fid& f = *fid(work.request.fid);
  if (f.open) return refuse(work, -EBADF);
  if (open_ == kMostOpen) return refuse(work, -EMFILE);
  by_path(work, FileCall::Open, call);
  call.path.flags = static_cast<std::uint32_t>(open_flags(work.request.flags, f.folder) & ~O_EXCL);
  call.facts = &work.facts;
  return Next::Ask;
}

/// Something new in a folder.
Next FileSession::make(FileWork& work, FileRequest& call) {
  const Request& r = work.request;
  if (const std::int32_t refused = join(r.fid, r.name, work.path); refused != 0) return refuse(work, refused);
  const bool opens = r.kind == Kind::Create, node = r.kind == Kind::MakeNode;
  if (node && !S_ISREG(r.mode)) return refuse(work, -EPERM);  // pipes and devices are a kernel's own
  if ((opens || node) && open_ == kMostOpen) return refuse(work, -EMFILE);
  if (opens && fid(r.fid)->open) return refuse(work, -EBADF);
  by_path(work,
          opens || node                ? FileCall::Open
          : r.kind == Kind::MakeFolder ? FileCall::MakeFolder
                                       : FileCall::SymbolicLink,
          call);
  if (opens) call.path.flags = static_cast<std::uint32_t>(open_flags(r.flags, false) | O_CREAT);
  if (node) call.path.flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
  call.path.mode = r.mode & 07777;
  call.facts = &work.facts;
  if (r.kind == Kind::SymbolicLink) {
    if (r.second.empty() || r.second.size() >= abi::kLongestPath || r.second.find('\0') != r.second.npos)
      return refuse(work, -EINVAL);
    call.second = r.second;
  }
  return Next::Ask;
}

/// Another name, instead of the one there is or beside it.
Next FileSession::rename(FileWork& work, FileRequest& call) {
  const Request& r = work.request;
  std::int32_t refused = 0;
  if (r.kind == Kind::RenameAt) refused = join(r.fid, r.name, work.path);
  if (refused == 0) refused = join(r.other, r.kind == Kind::RenameAt ? r.second : r.name, work.to);
  if (refused != 0) return refuse(work, refused);
  by_path(work, r.kind == Kind::Link ? FileCall::Link : FileCall::Rename, call);
  call.path.flags = 0;
  call.second = work.to;
  return Next::Ask;
}

/// What the guest calls by a name that is gone may still be open.
Next FileSession::status(FileWork& work, FileRequest& call) {
  const Fid& f = *fid(work.request.fid);
  if (f.open) {
    by_file(f, FileCall::Status, call);
    call.address = address(&work.facts);
    work.step = 1;
    return Next::Ask;
  }
  by_path(work, FileCall::StatusAt, call);
  call.path.out = address(&work.facts);
  call.path.out_bytes = sizeof work.facts;
  return Next::Ask;
}

Next FileSession::known(FileWork& work, std::int32_t result, FileRequest& call) {
  const Fid* asked = fid(work.request.fid);
  const bool other = result == 0 && asked && work.facts.st_ino != asked->inode;
  if (work.step == 0 && asked && (other || result == -ENOENT)) {
    const auto same = std::find_if(fids_.begin(), fids_.end(),
                                   [&](const Fid& f) { return f.open && f.inode == asked->inode; });
    if (same != fids_.end()) {
      by_file(*same, FileCall::Status, call);
      call.address = address(&work.facts);
      work.step = 1;
      return Next::Ask;
    }
  }
  if (result != 0) return refuse(work, result);
  Answer answer(work.out, work.request.kind, work.request.tag);
  ninep::attributes(answer, work.facts, ahead_);
  answer.finish();
  return Next::Answer;
}

// --- Attributes: one call for each that is to be set.

Next FileSession::set(FileWork& work, FileRequest& call) {
  if (next_setting(work, call)) return Next::Ask;
  return status(work, call);  // none of them: is it there?
}

bool FileSession::next_setting(FileWork& work, FileRequest& call) {
  Request& r = work.request;
  const Fid* f = fid(r.fid);
  const bool by_open = f && f->open;
  auto takes = [&](std::uint32_t what) { return std::exchange(r.valid, r.valid & ~what) & what; };
  auto begin = [&](FileCall file, FileCall path) {
    by_open ? by_file(*f, file, call) : by_path(work, path, call);
  };
  if (takes(ninep::kSetSize)) {
    const bool writes = by_open && (f->flags & O_ACCMODE) != O_RDONLY;
    writes ? by_file(*f, FileCall::Truncate, call) : by_path(work, FileCall::TruncateAt, call);
    call.offset = r.size;
    call.path.value[0] = static_cast<std::int64_t>(r.size);
    return true;
  }
  if (takes(ninep::kSetMode)) {
    begin(FileCall::SetMode, FileCall::SetModeAt);
    call.path.mode = r.mode & 07777;
    call.offset = r.mode & 07777;
    return true;
  }
  if (const std::uint32_t who = takes(ninep::kSetUser | ninep::kSetGroup)) {
    begin(FileCall::SetOwner, FileCall::SetOwnerAt);
    const std::uint32_t user = who & ninep::kSetUser ? r.user : ~0u;
    const std::uint32_t group = who & ninep::kSetGroup ? r.group : ~0u;
    call.path.value[0] = user;
    call.path.value[1] = group;
    call.offset = std::uint64_t{user} << 32 | group;
    return true;
  }
  const std::uint32_t given = r.valid;
  if (takes(ninep::kSetAccessed | ninep::kSetModified)) {
    auto time = [&](std::uint32_t set, std::uint32_t exact, const ninep::Stamp& t) {
      if (!(given & set)) return timespec{0, UTIME_OMIT};
      if (!(given & exact)) return timespec{0, UTIME_NOW};
      return timespec{static_cast<time_t>(t.seconds) - ahead_, static_cast<long>(t.nanoseconds)};
    };
    work.times[0] = time(ninep::kSetAccessed, ninep::kAccessedGiven, r.accessed);
    work.times[1] = time(ninep::kSetModified, ninep::kModifiedGiven, r.modified);
    begin(FileCall::SetTimes, FileCall::SetTimesAt);
    call.address = address(work.times);
    for (int i = 0; i < 2; ++i) {
      call.path.value[2 * i] = work.times[i].tv_sec;
      call.path.value[2 * i + 1] = work.times[i].tv_nsec;
    }
    return true;
  }
  return false;
}

// --- What is done with a file that is open.

Next FileSession::by_open_file(FileWork& work, FileRequest& call) {
  Request& r = work.request;
  const Fid& f = *fid(r.fid);
  switch (r.kind) {
    case Kind::Read:
    case Kind::ReadFolder: {
      const std::uint32_t most = largest_ > ninep::kDataHead ? largest_ - ninep::kDataHead : 0;
      r.count = std::min(r.count, most);
      const bool data = r.kind == Kind::Read;
      if (data == f.folder) return refuse(work, data ? -EISDIR : -ENOTDIR);
      by_file(f, data ? FileCall::Read : FileCall::List, call);
      call.offset = r.offset;
      call.length = r.count;
      if (data) {
        work.out.resize(ninep::kDataHead + r.count);
        call.parts.push_back({work.out.data() + ninep::kDataHead, r.count});
      } else {
        work.room.resize(r.count);
        call.address = address(work.room.data());
      }
      return Next::Ask;
    }
    case Kind::Write:
      by_file(f, FileCall::Write, call);
      call.offset = r.offset;
      call.length = r.count;
      call.parts.push_back({const_cast<std::uint8_t*>(r.data.data()), r.count});
      return Next::Ask;
    case Kind::Sync:
      by_file(f, FileCall::Sync, call);
      return Next::Ask;
    default:
      return refuse(work, -EOPNOTSUPP);
  }
}

Next FileSession::lock(FileWork& work, FileRequest& call) {
  const Request& r = work.request;
  const Fid& f = *fid(r.fid);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  if (!f.open || r.lock > F_UNLCK || r.offset > kMost || (r.length > kMost && r.length != ~0ull))
    return refuse(work, f.open ? -EINVAL : -EBADF);
  work.lock = {};
  work.lock.l_type = r.lock;
  work.lock.l_start = static_cast<off_t>(r.offset);
  work.lock.l_len = r.length == ~0ull ? 0 : static_cast<off_t>(r.length);
  by_file(f, FileCall::Lock, call);
  call.owner = host::StorageCalls::lock_owner(user_, r.process);
  call.address = address(&work.lock);
  call.length = r.kind == Kind::Lock ? F_SETLK : F_GETLK;
  return Next::Ask;
}

/// A fid is given back, or a name taken away.
Next FileSession::close(FileWork& work, FileRequest& call) {
  const Request& r = work.request;
  if (r.kind == Kind::RemoveAt) {
    if (const std::int32_t refused = join(r.fid, r.name, work.path); refused != 0)
      return refuse(work, refused);
    by_path(work, FileCall::Remove, call);
    call.path.flags = r.flags & kRemoveFolder ? AT_REMOVEDIR : 0;
    return Next::Ask;
  }
  Fid& f = *fid(r.fid);
  const Fid was = f;
  let_go(f);
  if (r.kind == Kind::Remove) {
    by_path(work, FileCall::Remove, call);
    call.path.flags = was.folder ? AT_REMOVEDIR : 0;
    work.to = was.open ? "open" : "";
    work.generation = was.file;
    return Next::Ask;
  }
  if (was.open) {
    by_file(was, FileCall::Close, call);
    return Next::Ask;
  }
  well(work);
  return Next::Answer;
}

}  // namespace weft::guest
