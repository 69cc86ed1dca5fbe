// Messages of 9P2000.L, the protocol by which a Linux kernel asks for files of somebody else ("v9fs"): a
// request is read into plain fields, an answer is put together. Nothing a guest says is believed: a message
// whose parts do not fill it exactly is none.
#pragma once

#include <sys/stat.h>
#include <sys/statfs.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft::guest::ninep {

/// Of requests; the answer to one has the next number, an error has its own.
enum class Kind : std::uint8_t {
  Error = 6,  // its answer alone exists
  FileSystem = 8,
  Open = 12,
  Create = 14,
  SymbolicLink = 16,
  MakeNode = 18,
  Rename = 20,
  ReadLink = 22,
  GetAttributes = 24,
  SetAttributes = 26,
  WalkExtended = 30,
  CreateExtended = 32,
  ReadFolder = 40,
  Sync = 50,
  Lock = 52,
  GetLock = 54,
  Link = 70,
  MakeFolder = 72,
  RenameAt = 74,
  RemoveAt = 76,
  Version = 100,
  Authenticate = 102,
  Attach = 104,
  Flush = 108,
  Walk = 110,
  Read = 116,
  Write = 118,
  Close = 120,
  Remove = 122,
};

inline constexpr std::uint16_t kNoTag = 0xffff;
inline constexpr std::uint32_t kMostWalked = 16;  // names of one walk
inline constexpr std::uint32_t kHead = 7;         // size, kind and tag of a message
inline constexpr std::uint32_t kDataHead = 11;    // of an answer, before its data
/// Of an open for writing, before its data; what the kernel leaves free in the size that was agreed on.
inline constexpr std::uint32_t kRequestHead = 24;

/// Which attributes are to be set.
enum Set : std::uint32_t {
  kSetMode = 1,
  kSetUser = 2,
  kSetGroup = 4,
  kSetSize = 8,
  kSetAccessed = 16,
  kSetModified = 32,
  kAccessedGiven = 128,  // else it is now
  kModifiedGiven = 256,
};

struct Stamp {
  std::uint64_t seconds = 0, nanoseconds = 0;
};

/// A request. Which fields mean something follows from its kind; texts lie in the message.
struct Request {
  Kind kind{};
  std::uint16_t tag = 0, old_tag = 0;
  std::uint32_t fid = 0, other = 0;  // the second: a new one, or that of another folder
  std::uint32_t count = 0, flags = 0, mode = 0, user = 0, group = 0, valid = 0, process = 0;
  std::uint64_t offset = 0, length = 0, size = 0;
  std::uint8_t lock = 0;
  Stamp accessed, modified;
  std::string_view name, second;
  std::array<std::string_view, kMostWalked> names;
  std::uint32_t walked = 0;  // of the names
  std::span<const std::uint8_t> data;
};

/// False where it is no whole message of a known kind; the tag is read all the same where there is one.
bool parse(std::span<const std::uint8_t> message, Request& out);

/// What tells a file from all others.
struct Qid {
  std::uint8_t type = 0;
  std::uint64_t path = 0;
};
Qid qid_of(const struct stat& facts);

/// Puts an answer together.
class Answer {
 public:
  Answer(std::vector<std::uint8_t>& out, Kind request, std::uint16_t tag);
  void u8(std::uint8_t value) { out_.push_back(value); }
  void u16(std::uint16_t value) { number(value, 2); }
  void u32(std::uint32_t value) { number(value, 4); }
  void u64(std::uint64_t value) { number(value, 8); }
  void text(std::string_view value);
  void qid(const Qid& value);
  /// With its size in front, it is done.
  void finish();

 private:
  void number(std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) out_.push_back(static_cast<std::uint8_t>(value >> 8 * i));
  }
  std::vector<std::uint8_t>& out_;
};

void error(std::vector<std::uint8_t>& out, std::uint16_t tag, std::uint32_t number);
/// Times of files are this much later for the guest than for the file system, in seconds.
void attributes(Answer& answer, const struct stat& facts, std::int64_t shift);
void space(Answer& answer, const struct statfs& facts);

}  // namespace weft::guest::ninep
