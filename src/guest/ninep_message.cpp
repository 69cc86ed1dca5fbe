#include "guest/ninep_message.hpp"

#include <cstring>

namespace weft::guest::ninep {

namespace {

/// Takes parts off the front of a message; once something is missing, all that follows is.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> message) : left_(message) {}

  std::uint64_t number(unsigned bytes) {
    std::uint64_t value = 0;
    if (!has(bytes)) return 0;
    for (unsigned i = 0; i < bytes; ++i) value |= std::uint64_t{left_[i]} << 8 * i;
    left_ = left_.subspan(bytes);
    return value;
  }
  std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  std::string_view text() {
    const std::uint16_t length = u16();
    if (!has(length)) return {};
    const std::string_view out(reinterpret_cast<const char*>(left_.data()), length);
    left_ = left_.subspan(length);
    return out;
  }
  std::span<const std::uint8_t> bytes(std::uint32_t length) {
    if (!has(length)) return {};
    const auto out = left_.first(length);
    left_ = left_.subspan(length);
    return out;
  }
  void fail() { whole_ = false; }
  /// Was everything there, and nothing more?
  bool done() const { return whole_ && left_.empty(); }

 private:
  bool has(std::size_t bytes) {
    if (left_.size() < bytes) whole_ = false;
    return whole_;
  }
  std::span<const std::uint8_t> left_;
  bool whole_ = true;
};

void read_walk(Reader& in, Request& r) {
  r.other = in.u32();
  r.walked = in.u16();
  if (r.walked > kMostWalked) return in.fail();
  for (std::uint32_t i = 0; i < r.walked; ++i) r.names[i] = in.text();
}

void read_attributes(Reader& in, Request& r) {
  r.valid = in.u32();
  r.mode = in.u32();
  r.user = in.u32();
  r.group = in.u32();
  r.size = in.u64();
  for (Stamp* time : {&r.accessed, &r.modified}) {
    time->seconds = in.u64();
    time->nanoseconds = in.u64();
  }
}

void read_lock(Reader& in, Request& r) {
  r.lock = in.u8();
  if (r.kind == Kind::Lock) r.flags = in.u32();
  r.offset = in.u64();
  r.length = in.u64();
  r.process = in.u32();
  r.name = in.text();  // of the client
}

/// What names something that is to be made in a folder.
void read_making(Reader& in, Request& r) {
  r.name = in.text();
  if (r.kind == Kind::Create) r.flags = in.u32();
  if (r.kind == Kind::SymbolicLink)
    r.second = in.text();
  else
    r.mode = in.u32();
  if (r.kind == Kind::MakeNode) in.u64();  // numbers of a device
  r.group = in.u32();
}

/// Kinds of requests about names; all that the others have not.
bool read_naming(Reader& in, Request& r) {
  switch (r.kind) {
    case Kind::Rename:
      r.other = in.u32();
      r.name = in.text();
      return true;
    case Kind::Link:  // the folder is first
      r.other = r.fid;
      r.fid = in.u32();
      r.name = in.text();
      return true;
    case Kind::RenameAt:
      r.name = in.text();
      r.other = in.u32();
      r.second = in.text();
      return true;
    case Kind::RemoveAt:
      r.name = in.text();
      r.flags = in.u32();
      return true;
    case Kind::WalkExtended:
      r.other = in.u32();
      r.name = in.text();
      return true;
    case Kind::CreateExtended:
      r.name = in.text();
      r.size = in.u64();
      r.flags = in.u32();
      return true;
    case Kind::Attach:
      r.other = in.u32();
      r.name = in.text();
      r.second = in.text();
      r.user = in.u32();
      return true;
    case Kind::Authenticate:
      r.name = in.text();
      r.second = in.text();
      r.user = in.u32();
      return true;
    default:
      return false;
  }
}

bool read_body(Reader& in, Request& r) {
  switch (r.kind) {
    case Kind::FileSystem:
    case Kind::ReadLink:
    case Kind::Close:
    case Kind::Remove:
      return true;
    case Kind::Open:
    case Kind::Sync:
      r.flags = in.u32();
      return true;
    case Kind::Create:
    case Kind::SymbolicLink:
    case Kind::MakeNode:
    case Kind::MakeFolder:
      read_making(in, r);
      return true;
    case Kind::GetAttributes:
      r.length = in.u64();  // which are wanted: all are told
      return true;
    case Kind::SetAttributes:
      read_attributes(in, r);
      return true;
    case Kind::Read:
    case Kind::ReadFolder:
    case Kind::Write:
      r.offset = in.u64();
      r.count = in.u32();
      if (r.kind == Kind::Write) r.data = in.bytes(r.count);
      return true;
    case Kind::Lock:
    case Kind::GetLock:
      read_lock(in, r);
      return true;
    case Kind::Walk:
      read_walk(in, r);
      return true;
    default:
      return read_naming(in, r);
  }
}

}  // namespace

bool parse(std::span<const std::uint8_t> message, Request& r) {
  r = {};
  r.tag = kNoTag;
  if (message.size() < kHead) return false;
  Reader in(message);
  const std::uint32_t size = in.u32();
  r.kind = static_cast<Kind>(in.u8());
  r.tag = in.u16();
  if (size != message.size()) return false;
  if (r.kind == Kind::Version) {
    r.size = in.u32();
    r.name = in.text();
    return in.done();
  }
  if (r.kind == Kind::Flush) {
    r.old_tag = in.u16();
    return in.done();
  }
  r.fid = in.u32();
  return read_body(in, r) && in.done();
}

Qid qid_of(const struct stat& facts) {
  constexpr std::uint8_t kFolder = 0x80, kLink = 0x02;
  const std::uint8_t type = S_ISDIR(facts.st_mode) ? kFolder : S_ISLNK(facts.st_mode) ? kLink : 0;
  return {type, facts.st_ino};
}

Answer::Answer(std::vector<std::uint8_t>& out, Kind request, std::uint16_t tag) : out_(out) {
  out_.clear();
  u32(0);
  u8(static_cast<std::uint8_t>(static_cast<unsigned>(request) + 1));
  u16(tag);
}

void Answer::text(std::string_view value) {
  u16(static_cast<std::uint16_t>(value.size()));
  out_.insert(out_.end(), value.begin(), value.end());
}

void Answer::qid(const Qid& value) {
  u8(value.type);
  u32(0);  // a version, for kernels that keep data: this one does not
  u64(value.path);
}

void Answer::finish() {
  const auto size = static_cast<std::uint32_t>(out_.size());
  for (unsigned i = 0; i < 4; ++i) out_[i] = static_cast<std::uint8_t>(size >> 8 * i);
}

void error(std::vector<std::uint8_t>& out, std::uint16_t tag, std::uint32_t number) {
  Answer answer(out, Kind::Error, tag);
  answer.u32(number);
  answer.finish();
}

void attributes(Answer& answer, const struct stat& facts, std::int64_t shift) {
  constexpr std::uint64_t kBasic = 0x7ff;  // all but the time of birth, generation and version
  auto time = [&](const timespec& t) {
    answer.u64(static_cast<std::uint64_t>(t.tv_sec + shift));
    answer.u64(static_cast<std::uint64_t>(t.tv_nsec));
  };
  answer.u64(kBasic);
  answer.qid(qid_of(facts));
  answer.u32(facts.st_mode);
  answer.u32(facts.st_uid);
  answer.u32(facts.st_gid);
  answer.u64(facts.st_nlink);
  answer.u64(0);  // it is no device
  answer.u64(static_cast<std::uint64_t>(facts.st_size));
  answer.u64(static_cast<std::uint64_t>(facts.st_blksize));
  answer.u64(static_cast<std::uint64_t>(facts.st_blocks));
  time(facts.st_atim);
  time(facts.st_mtim);
  time(facts.st_ctim);
  for (int i = 0; i < 4; ++i) answer.u64(0);
}

void space(Answer& answer, const struct statfs& facts) {
  answer.u32(static_cast<std::uint32_t>(facts.f_type));
  answer.u32(static_cast<std::uint32_t>(facts.f_bsize));
  answer.u64(facts.f_blocks);
  answer.u64(facts.f_bfree);
  answer.u64(facts.f_bavail);
  answer.u64(facts.f_files);
  answer.u64(facts.f_ffree);
  answer.u64(0);
  answer.u32(static_cast<std::uint32_t>(facts.f_namelen));
}

}  // namespace weft::guest::ninep
