// Messages of fixed size over a stream socket to a kernel. The kernel is trusted with nothing, not even with
// finishing a message: whoever waits for the rest of one looks meanwhile whether it is still worth waiting.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft::guest {

/// An open file, closed with it.
class File {
 public:
  File() = default;
  explicit File(int number) : number_(number) {}
  File(File&& other) noexcept : number_(other.release()) {}
  File& operator=(File&& other) noexcept;
  ~File() { close(); }

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  int release() {
    int number = number_;
    number_ = -1;
    return number;
  }
  void close();

 private:
  int number_ = -1;
};

/// Asked while something is waited for that may never come; false: it is given up.
using StillWaiting = std::function<bool()>;

/// All of it, or false: the other end is gone, or it was given up.
bool read_all(int socket, void* to, std::size_t bytes, const StillWaiting& still_waiting);
bool write_all(int socket, const void* from, std::size_t bytes, const StillWaiting& still_waiting);
/// The same with files that come along with its first byte; more than `most` are closed at once.
bool read_with_files(int socket, void* to, std::size_t bytes, std::vector<File>& files, std::size_t most,
                     const StillWaiting& still_waiting);

/// A socket at a path, that one other end may connect to. Throws UserError.
File listen_at(const std::string& path);

}  // namespace weft::guest
