#include "base/own_files.hpp"

namespace weft {

namespace fs = std::filesystem;

fs::path own_program() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

fs::path own_file(const std::string& name) {
  std::error_code ignored;
  const fs::path folder = own_program().parent_path(), above = folder.parent_path();
  // Tests stand in a folder below what they test, an installed command in bin/.
  for (const fs::path& place : {above / "lib/weft" / name, above / name})
    if (fs::exists(place, ignored) && !fs::exists(folder / name, ignored)) return place;
  return folder / name;
}

fs::path own_data(const std::string& name) {
  std::error_code ignored;
  for (fs::path at = own_program().parent_path(); at.has_relative_path(); at = at.parent_path())
    for (const fs::path& place : {at / "share/weft" / name, at / name})
      if (fs::exists(place, ignored)) return place;
  return {};
}

}  // namespace weft
