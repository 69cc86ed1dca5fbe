// A guest that means no good to the machine's file system: messages of 9P, some whole and some not, several
// of them under way at once; and what calls come to. Where memory of ours is named in a call, all of it is
// written or read, as the file system does.
#include <dirent.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "abi/storage.hpp"
#include "guest/file_session.hpp"
#include "input.hpp"

namespace weft::fuzz {

namespace {

using guest::FileSession;
using guest::FileWork;
using host::FileCall;
using host::FileRequest;

void expect(bool holds) {
  if (!holds) std::abort();
}

struct Pending {
  std::unique_ptr<FileWork> work = std::make_unique<FileWork>();
  FileRequest call;
};

/// A name that no folder may be left by.
void expect_confined(const std::string& path) {
  expect(path.size() < abi::kLongestPath && !path.starts_with('/') && path.find('\0') == path.npos);
  const std::string framed = "/" + path + "/";
  for (const char* part : {"/../", "/./", "/.weft-"}) expect(framed.find(part) == framed.npos);
  expect(path.empty() || framed.find("//") == framed.npos);
}

/// Carries a call out on nothing: what it is told is the input's.
std::int32_t carry_out(FileRequest& call, Input& input, std::uint64_t& answer) {
  expect(call.confined && call.process == 0);
  expect_confined(call.first);
  if (call.call == FileCall::Rename || call.call == FileCall::Link) expect_confined(call.second);
  if (input.below(4) == 0) return -static_cast<std::int32_t>(1 + input.below(120));
  answer = input.take<std::uint16_t>();
  if (call.facts) input.fill(call.facts, sizeof *call.facts);
  if (call.call == FileCall::Status) input.fill(reinterpret_cast<void*>(call.address), sizeof(struct stat));
  if (call.path.out)
    input.fill(reinterpret_cast<void*>(call.path.out), std::min<std::size_t>(call.path.out_bytes, 256));
  if (call.call == FileCall::ReadLink) answer = std::min(answer, call.path.out_bytes);
  if (call.call == FileCall::Lock) input.fill(reinterpret_cast<void*>(call.address), sizeof(struct flock));
  volatile char seen = 0;
  for (const iovec& part : call.parts) {
    char* bytes = static_cast<char*>(part.iov_base);
    for (std::size_t i = 0; i < part.iov_len; i += 512)
      call.call == FileCall::Read ? void(bytes[i] = 1) : void(seen = bytes[i]);
    if (part.iov_len) seen = bytes[part.iov_len - 1];
  }
  if (call.call == FileCall::List) {
    answer = 0;
    abi::FolderEntry entry{1, sizeof(abi::FolderEntry), DT_REG, "abc"};
    for (unsigned i = input.below(40); i > 0 && answer + sizeof entry <= call.length;
         --i, answer += sizeof entry)
      std::memcpy(reinterpret_cast<void*>(call.address + answer), &entry, sizeof entry);
  }
  return 0;
}

/// What is said to the guest is a whole message that says its size.
void check(const FileWork& work) {
  expect(work.out.size() >= 7 && work.out.size() <= FileSession::kMostMessage + 64);
  std::uint32_t size = 0;
  std::memcpy(&size, work.out.data(), sizeof size);
  expect(size == work.out.size());
}

/// A message of the input; often one that has the right size and names a fid that there is.
void write(FileWork& work, Input& input) {
  constexpr std::uint8_t kKinds[] = {8,  12, 14, 16, 18, 20,  22,  24,  26,  30,  40,  50,  52,
                                     54, 70, 72, 74, 76, 100, 104, 108, 110, 116, 118, 120, 122};
  work.in.resize(7 + input.below(200));
  input.fill(work.in.data(), work.in.size());
  const auto size = static_cast<std::uint32_t>(work.in.size());
  if (input.below(16)) std::memcpy(work.in.data(), &size, sizeof size);
  if (input.below(16)) work.in[4] = kKinds[input.below(sizeof kKinds)];
  if (work.in.size() > 10 && input.below(8)) work.in[8] = work.in[9] = work.in[10] = 0;
}

}  // namespace

}  // namespace weft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::fuzz;
  Input input(data, size);
  FileSession session(0, 26);
  std::vector<Pending> under_way;
  while (!input.empty()) {
    Pending one;
    FileSession::Next next;
    if (under_way.size() < 8 && input.below(2)) {
      write(*one.work, input);
      next = session.begin(*one.work, one.call);
    } else if (!under_way.empty()) {
      const std::size_t which = input.below(static_cast<unsigned>(under_way.size()));
      one = std::move(under_way[which]);
      under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(which));
      std::uint64_t answer = 0;
      const std::int32_t result = carry_out(one.call, input, answer);
      next = session.go_on(*one.work, result, answer, one.call);
    } else {
      continue;
    }
    if (next == FileSession::Next::Answer)
      check(*one.work);
    else
      under_way.push_back(std::move(one));
  }
  return 0;
}
