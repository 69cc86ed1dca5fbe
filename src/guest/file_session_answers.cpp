// What the machine's file system answers a Linux node, once its calls have been carried out.
#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "guest/file_session.hpp"

namespace weft::guest {

using host::FileCall;
using host::FileRequest;
using ninep::Answer;
using ninep::Qid;
using Next = FileSession::Next;

namespace {

constexpr unsigned kClosing = 99;  // the step of a call that closes what is not wanted any more

void answer_qid(FileWork& work, bool with_unit) {
  Answer answer(work.out, work.request.kind, work.request.tag);
  answer.qid(ninep::qid_of(work.facts));
  if (with_unit) answer.u32(0);
  answer.finish();
}

void answer_lock(FileWork& work, std::uint8_t status) {
  Answer answer(work.out, work.request.kind, work.request.tag);
  answer.u8(status);
  answer.finish();
}

/// Who has a lock, or the one asked for where nobody has.
void answer_holder(FileWork& work) {
  const ninep::Request& r = work.request;
  Answer answer(work.out, r.kind, r.tag);
  answer.u8(static_cast<std::uint8_t>(work.lock.l_type));
  answer.u64(static_cast<std::uint64_t>(work.lock.l_start));
  answer.u64(static_cast<std::uint64_t>(work.lock.l_len));
  answer.u32(work.lock.l_type == F_UNLCK ? r.process : 0);
  answer.text(r.name);
  answer.finish();
}

}  // namespace

void FileSession::well(FileWork& work) { Answer(work.out, work.request.kind, work.request.tag).finish(); }

void FileSession::refuse_lock(FileWork& work) { answer_lock(work, 1); }

Next FileSession::locked(FileWork& work, std::int32_t result, FileRequest& call) {
  constexpr std::uint32_t kBlocks = 1;
  const bool taken = result == -EAGAIN || result == -EACCES;
  if (work.request.kind == Kind::GetLock && result == 0) {
    answer_holder(work);
  } else if (taken && (work.request.flags & kBlocks)) {
    return lock(work, call) == Next::Ask ? Next::Wait : Next::Answer;
  } else if (result == 0 || taken) {
    answer_lock(work, taken ? 1 : 0);
  } else {
    fail(work, result);
  }
  return Next::Answer;
}

Next FileSession::close_again(FileWork& work, std::uint32_t file, FileRequest& call) {
  work.step = kClosing;
  call = {};
  call.call = FileCall::Close;
  call.confined = true;
  call.file = file;
  return Next::Ask;
}

/// A file is open now; the fid it is for may be gone meanwhile.
Next FileSession::opened(FileWork& work, std::uint32_t file, FileRequest& call) {
  const Request& r = work.request;
  Fid* f = fid(r.fid);
  const bool wanted = f && f->generation == work.generation && !f->open;
  if (r.kind == Kind::MakeNode || !wanted) {
    wanted ? answer_qid(work, false) : fail(work, -EBADF);
    return close_again(work, file, call);
  }
  f->open = true;
  f->file = file;
  f->folder = S_ISDIR(work.facts.st_mode);
  f->inode = work.facts.st_ino;
  f->flags = static_cast<int>(r.flags);
  f->path = work.path;
  ++open_;
  answer_qid(work, true);
  return Next::Answer;
}

Next FileSession::go_on(FileWork& work, std::int32_t result, std::uint64_t answer, FileRequest& call) {
  const Request& r = work.request;
  if (work.step == kClosing) return Next::Answer;  // which there is already
  switch (r.kind) {
    case Kind::Walk:
      return walked(work, result, call);
    case Kind::GetAttributes:
      return known(work, result, call);
    case Kind::Lock:
    case Kind::GetLock:
      return locked(work, result, call);
    case Kind::Remove:
      if (!work.to.empty()) {  // the fid is gone in any case, and what it had open with it
        result == 0 ? well(work) : fail(work, result);
        return close_again(work, work.generation, call);
      }
      break;
    default:
      break;
  }
  if (result != 0) return refuse(work, result);
  if (r.kind == Kind::Open || r.kind == Kind::Create || r.kind == Kind::MakeNode)
    return opened(work, static_cast<std::uint32_t>(answer), call);
  if (r.kind == Kind::SetAttributes && next_setting(work, call)) return Next::Ask;
  const Fid* f = fid(r.fid);
  if (r.kind == Kind::Write && work.step == 0 && f && f->open && (f->flags & (O_SYNC | O_DSYNC))) {
    work.step = 1;
    by_file(*f, FileCall::Sync, call);
    return Next::Ask;
  }
  return done(work, answer);
}

/// Well.
Next FileSession::done(FileWork& work, std::uint64_t answered) {
  const Request& r = work.request;
  if (r.kind == Kind::Read) {  // the data is there: its head is not
    const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(answered, r.count));
    std::vector<std::uint8_t> head;
    Answer answer(head, r.kind, r.tag);
    answer.u32(bytes);
    std::copy(head.begin(), head.end(), work.out.begin());
    work.out.resize(ninep::kDataHead + bytes);
    const auto size = static_cast<std::uint32_t>(work.out.size());
    std::memcpy(work.out.data(), &size, sizeof size);
    return Next::Answer;
  }
  if (r.kind == Kind::ReadFolder) {
    answer_entries(work, answered);
    return Next::Answer;
  }
  if (r.kind == Kind::MakeFolder || r.kind == Kind::SymbolicLink) {
    answer_qid(work, false);
    return Next::Answer;
  }
  if (r.kind == Kind::Rename || r.kind == Kind::RenameAt)
    for (Fid& each : fids_) {
      if (!each.used || !each.path.starts_with(work.path)) continue;
      const std::string below = each.path.substr(work.path.size());
      if (below.empty() || below[0] == '/') each.path = work.to + below;
    }
  Answer answer(work.out, r.kind, r.tag);
  if (r.kind == Kind::Attach) {
    const Qid root = ninep::qid_of(work.facts);
    if (const std::int32_t refused = new_fid(r.fid, "", root); refused != 0) return refuse(work, refused);
    answer.qid(root);
  } else if (r.kind == Kind::Write) {
    answer.u32(r.count);
  } else if (r.kind == Kind::ReadLink) {
    answer.text({work.room.data(), std::min<std::uint64_t>(answered, work.room.size())});
  } else if (r.kind == Kind::FileSystem) {
    ninep::space(answer, work.space);
  }
  answer.finish();
  return Next::Answer;
}

/// Entries of a folder, as many as the guest has room for; it asks for the rest from the last one's number.
void FileSession::answer_entries(FileWork& work, std::uint64_t bytes) {
  constexpr std::size_t kEntryHead = 24;
  const Request& r = work.request;
  Answer answer(work.out, r.kind, r.tag);
  answer.u32(0);
  std::uint64_t number = r.offset;
  for (std::uint64_t at = 0;
       at + offsetof(abi::FolderEntry, name) < std::min<std::uint64_t>(bytes, work.room.size());) {
    abi::FolderEntry entry{};
    std::memcpy(&entry, work.room.data() + at, offsetof(abi::FolderEntry, name));
    const std::string_view name(work.room.data() + at + offsetof(abi::FolderEntry, name));
    if (work.out.size() + kEntryHead + name.size() > ninep::kDataHead + r.count) break;
    struct stat facts {};
    facts.st_ino = entry.number;
    facts.st_mode = DTTOIF(entry.type);
    answer.qid(ninep::qid_of(facts));
    answer.u64(++number);
    answer.u8(entry.type);
    answer.text(name);
    at += entry.bytes;
  }
  const auto count = static_cast<std::uint32_t>(work.out.size() - ninep::kDataHead);
  std::memcpy(work.out.data() + ninep::kHead, &count, sizeof count);
  answer.finish();
}

}  // namespace weft::guest
