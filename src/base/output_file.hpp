// Files that results are written into. Every write is checked, to the close: what cannot be written is a
// UserError with the path and the reason, never a file that is quietly too short.
#pragma once

#include <string>
#include <string_view>

namespace weft {

/// Writes all of it; 0, or the error's number.
int write_all(int file, std::string_view text);

/// A file written from its beginning, through a buffer.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();  // without close(): what is in the buffer is given up
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  /// Only once it has returned is everything written.
  void close();

 private:
  void flush();
  [[noreturn]] void fail(int error) const;
  std::string path_, buffer_;
  int file_ = -1;
};

/// A whole file at once.
void write_file(const std::string& path, std::string_view text);

}  // namespace weft
