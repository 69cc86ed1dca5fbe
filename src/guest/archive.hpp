// A cpio archive of the kind that kernels unpack as their first file system ("newc").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::guest {

class Archive {
 public:
  /// Paths without a slash at their beginning; a folder before what is in it.
  void folder(std::string_view path, unsigned rights = 0755) { add(path, 0040000 | rights, "", 0, 0); }
  void file(std::string_view path, std::string_view bytes, unsigned rights = 0644) {
    add(path, 0100000 | rights, bytes, 0, 0);
  }
  void link(std::string_view path, std::string_view to) { add(path, 0120777, to, 0, 0); }
  void device(std::string_view path, unsigned major, unsigned minor) { add(path, 0020600, "", major, minor); }
  /// The folders above a path, those that are not there yet.
  void folders_above(std::string_view path);
  /// All of it; nothing can be added then.
  std::string finish();

 private:
  void add(std::string_view path, unsigned mode, std::string_view bytes, unsigned major, unsigned minor);
  std::string out_, seen_ = "\n";  // the second: folders, a line each
  std::uint32_t entries_ = 0;
};

}  // namespace weft::guest
