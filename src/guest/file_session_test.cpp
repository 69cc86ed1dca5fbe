// Messages of 9P and what becomes of them, without a kernel and without files.
#include "guest/file_session.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

namespace weft::guest {
namespace {

using Next = FileSession::Next;
using host::FileCall;
using ninep::Kind;

/// A message as a kernel writes it; not to be copied.
class Message {
 public:
  explicit Message(Kind kind) : out_(bytes_, static_cast<Kind>(static_cast<unsigned>(kind) - 1), 7) {}
  Message& u8(std::uint8_t v) { return out_.u8(v), *this; }
  Message& u16(std::uint16_t v) { return out_.u16(v), *this; }
  Message& u32(std::uint32_t v) { return out_.u32(v), *this; }
  Message& u64(std::uint64_t v) { return out_.u64(v), *this; }
  Message& text(std::string_view v) { return out_.text(v), *this; }
  std::vector<std::uint8_t> bytes() { return out_.finish(), bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
  ninep::Answer out_;
};

struct FileSessions : testing::Test {
  FileSessions() {
    begin(Message(Kind::Version).u32(131'096).text("9P2000.L"));
    begin(Message(Kind::Attach).u32(0).u32(~0u).text("root").text("").u32(0));
    EXPECT_EQ(found(1, S_IFDIR), Next::Answer);
  }
  Next begin(Message& message) {
    work.in = message.bytes();
    return session.begin(work, call);
  }
  /// The call has found a file of that number.
  Next found(std::uint64_t number, mode_t type) {
    struct stat facts {};
    facts.st_ino = number;
    facts.st_mode = type;
    auto* to = call.facts ? call.facts : reinterpret_cast<struct stat*>(call.path.out);
    *to = facts;
    return session.go_on(work, 0, 3, call);
  }
  Next walk(std::uint32_t from, std::uint32_t to, std::string_view name) {
    return begin(Message(Kind::Walk).u32(from).u32(to).u16(1).text(name));
  }
  Kind kind() const { return static_cast<Kind>(work.out[4] - 1); }
  /// 0 where it is none.
  int error() const {
    std::uint32_t number = 0;
    if (kind() == Kind::Error) std::memcpy(&number, &work.out[7], sizeof number);
    return static_cast<int>(number);
  }

  FileSession session{5, 0};
  FileWork work;
  host::FileRequest call;
};

TEST_F(FileSessions, AMessageMustFillItsBytes) {
  for (int change : {-1, 1}) {
    std::vector<std::uint8_t> bytes = Message(Kind::GetAttributes).u32(0).u64(0).bytes();
    bytes.resize(bytes.size() + static_cast<std::size_t>(change));
    work.in = bytes;
    EXPECT_EQ(session.begin(work, call), Next::Answer);
    EXPECT_EQ(error(), EPROTO);
    work.in[0] = static_cast<std::uint8_t>(work.in.size());  // it says so, and its parts do not
    EXPECT_EQ(session.begin(work, call), Next::Answer);
    EXPECT_EQ(error(), EPROTO);
  }
  EXPECT_EQ(begin(Message(static_cast<Kind>(99)).u32(0)), Next::Answer);
  EXPECT_EQ(error(), EPROTO);
}

TEST_F(FileSessions, NamesLeadNowhereElse) {
  for (std::string_view name : std::initializer_list<std::string_view>{"a/b", "", ".", "/etc", {"a\0b", 3}}) {
    EXPECT_EQ(walk(0, 1, name), Next::Answer) << name;
    EXPECT_EQ(error(), EINVAL) << name;
  }
  EXPECT_EQ(walk(0, 1, ".weft-spare-1"), Next::Answer);
  EXPECT_EQ(error(), ENOENT);
  ASSERT_EQ(walk(0, 1, ".."), Next::Ask) << "the root's parent is the root";
  EXPECT_EQ(call.first, "");
  ASSERT_EQ(walk(0, 1, "folder"), Next::Ask);
  EXPECT_TRUE(call.confined);
  EXPECT_EQ(call.first, "folder");
  EXPECT_EQ(found(2, S_IFDIR), Next::Answer);
  ASSERT_EQ(begin(Message(Kind::Create).u32(1).text("file").u32(O_RDWR).u32(0600).u32(0)), Next::Ask);
  EXPECT_EQ(call.call, FileCall::Open);
  EXPECT_EQ(call.first, "folder/file");
  EXPECT_TRUE(call.path.flags & O_NOFOLLOW);
  EXPECT_EQ(begin(Message(Kind::MakeFolder).u32(1).text("..").u32(0700).u32(0)), Next::Answer);
  EXPECT_EQ(error(), EINVAL);
}

TEST_F(FileSessions, AWalkThatFindsSomeNamesMakesNoFid) {
  ASSERT_EQ(begin(Message(Kind::Walk).u32(0).u32(1).u16(2).text("a").text("b")), Next::Ask);
  ASSERT_EQ(found(2, S_IFDIR), Next::Ask);
  EXPECT_EQ(call.first, "a/b");
  EXPECT_EQ(session.go_on(work, -ENOENT, 0, call), Next::Answer);
  EXPECT_EQ(kind(), Kind::Walk);
  EXPECT_EQ(work.out[7], 1) << "one was found";
  EXPECT_EQ(begin(Message(Kind::GetAttributes).u32(1).u64(0)), Next::Answer);
  EXPECT_EQ(error(), EBADF);
}

TEST_F(FileSessions, WhatIsOpenIsFoundByItsFileWhenItsNameIsGone) {
  ASSERT_EQ(walk(0, 1, "file"), Next::Ask);
  ASSERT_EQ(found(9, S_IFREG), Next::Answer);
  ASSERT_EQ(begin(Message(Kind::Walk).u32(1).u32(2).u16(0)), Next::Answer);
  ASSERT_EQ(begin(Message(Kind::Open).u32(2).u32(O_RDWR)), Next::Ask);
  ASSERT_EQ(found(9, S_IFREG), Next::Answer);
  ASSERT_EQ(begin(Message(Kind::GetAttributes).u32(1).u64(0)), Next::Ask);
  EXPECT_EQ(call.call, FileCall::StatusAt);
  ASSERT_EQ(session.go_on(work, -ENOENT, 0, call), Next::Ask);
  EXPECT_EQ(call.call, FileCall::Status);
  EXPECT_EQ(call.file, 3u);
  ASSERT_EQ(begin(Message(Kind::RenameAt).u32(0).text("file").u32(0).text("other")), Next::Ask);
  EXPECT_EQ(session.go_on(work, 0, 0, call), Next::Answer);
  ASSERT_EQ(begin(Message(Kind::GetAttributes).u32(1).u64(0)), Next::Ask);
  EXPECT_EQ(call.first, "other") << "this node's own names follow";
}

TEST_F(FileSessions, ALockThatIsTakenIsWaitedForOrRefused) {
  ASSERT_EQ(walk(0, 1, "file"), Next::Ask);
  ASSERT_EQ(found(9, S_IFREG), Next::Answer);
  ASSERT_EQ(begin(Message(Kind::Open).u32(1).u32(O_RDWR)), Next::Ask);
  ASSERT_EQ(found(9, S_IFREG), Next::Answer);
  for (std::uint32_t blocks : {0u, 1u}) {
    ASSERT_EQ(begin(Message(Kind::Lock).u32(1).u8(F_WRLCK).u32(blocks).u64(0).u64(0).u32(44).text("n")),
              Next::Ask);
    EXPECT_EQ(session.go_on(work, -EAGAIN, 0, call), blocks ? Next::Wait : Next::Answer);
  }
  EXPECT_EQ(session.go_on(work, 0, 0, call), Next::Answer);
  EXPECT_EQ(work.out[7], 0) << "it has it";
}

TEST_F(FileSessions, AnOpenForAFidThatIsGoneIsClosedAgain) {
  ASSERT_EQ(walk(0, 1, "file"), Next::Ask);
  ASSERT_EQ(found(9, S_IFREG), Next::Answer);
  ASSERT_EQ(begin(Message(Kind::Open).u32(1).u32(O_RDONLY)), Next::Ask);
  FileWork other;
  host::FileRequest none;
  other.in = Message(Kind::Close).u32(1).bytes();
  EXPECT_EQ(session.begin(other, none), Next::Answer);
  ASSERT_EQ(found(9, S_IFREG), Next::Ask);
  EXPECT_EQ(call.call, FileCall::Close);
  EXPECT_EQ(call.file, 3u);
  EXPECT_EQ(session.go_on(work, 0, 0, call), Next::Answer);
  EXPECT_EQ(error(), EBADF);
}

}  // namespace
}  // namespace weft::guest
