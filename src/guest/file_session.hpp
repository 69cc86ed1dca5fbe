// What a Linux node says to the machine's file system, and hears: each message of 9P becomes calls as ranks
// make them (host/storage_calls.hpp), one after the other, and what came of them is the answer. No time
// passes here, and nothing is trusted: names are checked, symbolic links are nobody's way, and what a guest
// has open is counted.
#pragma once

#include <fcntl.h>

#include <functional>
#include <string>
#include <vector>

#include "guest/ninep_message.hpp"
#include "host/storage_request.hpp"

namespace weft::guest {

/// A message, until it is answered.
struct FileWork {
  std::vector<std::uint8_t> in, out;
  ninep::Request request;
  unsigned step = 0;  // of its calls
  std::string path, to;
  std::uint32_t generation = 0;  // of its fid
  std::vector<ninep::Qid> walked;
  // What calls are told of and tell.
  struct stat facts {};
  struct statfs space {};
  struct flock lock {};
  timespec times[2]{};
  std::vector<char> room;
};

class FileSession {
 public:
  static constexpr std::uint32_t kMostMessage = 1 << 20;
  static constexpr std::uint32_t kMostFids = 65'536, kMostOpen = 1024;

  enum class Next {
    Answer,  // it is in `out`
    Ask,     // the call is to be carried out
    Wait,    // a lock is taken: the call is to be carried out when one has come free
  };

  /// The node, as a user of the file system; its calendar is this many seconds ahead of that of files.
  FileSession(std::uint32_t user, std::int64_t ahead) : user_(user), ahead_(ahead) {}

  /// Told where the guest begins anew: what it had open is to be closed.
  std::function<void()> on_reset = [] {};

  /// A message has come; it lies in `in`.
  Next begin(FileWork& work, host::FileRequest& call);
  /// What its call has come to.
  Next go_on(FileWork& work, std::int32_t result, std::uint64_t answer, host::FileRequest& call);
  /// Nobody waits for it: it is answered with an error.
  static void fail(FileWork& work, std::int32_t error);
  /// Answers what waits for a lock that it is taken: the guest asks again later.
  static void refuse_lock(FileWork& work);

 private:
  struct Fid {
    bool used = false, open = false, folder = false;
    std::uint32_t file = 0;  // that it has open
    int flags = 0;
    std::uint32_t generation = 0;
    std::uint64_t inode = 0;
    std::string path;
  };
  using Kind = ninep::Kind;
  using Request = ninep::Request;

  Next begin_known(FileWork& work, host::FileRequest& call);
  Next version(FileWork& work);
  Next walk(FileWork& work, host::FileRequest& call);
  Next open(FileWork& work, host::FileRequest& call);
  Next make(FileWork& work, host::FileRequest& call);
  Next rename(FileWork& work, host::FileRequest& call);
  Next status(FileWork& work, host::FileRequest& call);
  Next set(FileWork& work, host::FileRequest& call);
  bool next_setting(FileWork& work, host::FileRequest& call);
  Next by_open_file(FileWork& work, host::FileRequest& call);
  Next lock(FileWork& work, host::FileRequest& call);
  Next close(FileWork& work, host::FileRequest& call);

  Next walked(FileWork& work, std::int32_t result, host::FileRequest& call);
  Next opened(FileWork& work, std::uint32_t file, host::FileRequest& call);
  Next known(FileWork& work, std::int32_t result, host::FileRequest& call);
  Next locked(FileWork& work, std::int32_t result, host::FileRequest& call);
  Next done(FileWork& work, std::uint64_t answer);
  void answer_entries(FileWork& work, std::uint64_t bytes);

  /// Answers that it is done, where there is nothing more to say.
  static void well(FileWork& work);

  Fid* fid(std::uint32_t number) {
    return number < fids_.size() && fids_[number].used ? &fids_[number] : nullptr;
  }
  /// 0, or why there is none of that number.
  std::int32_t new_fid(std::uint32_t number, std::string path, const ninep::Qid& qid);
  void let_go(Fid& fid);
  Next refuse(FileWork& work, std::int32_t error) {
    fail(work, error);
    return Next::Answer;
  }
  /// The path of a name in the folder of a fid, in `out`: 0 or a negative errno.
  std::int32_t join(std::uint32_t folder, std::string_view name, std::string& out);
  void by_path(FileWork& work, host::FileCall kind, host::FileRequest& call) const;
  void by_file(const Fid& fid, host::FileCall kind, host::FileRequest& call) const;
  Next close_again(FileWork& work, std::uint32_t file, host::FileRequest& call);

  std::uint32_t user_;
  std::int64_t ahead_;
  std::uint32_t largest_ = kMostMessage;
  std::vector<Fid> fids_;  // by number: kernels take the lowest that are free
  std::uint32_t made_ = 0, open_ = 0;
};

}  // namespace weft::guest
