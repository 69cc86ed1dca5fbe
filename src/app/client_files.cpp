#include "app/client_files.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/diagnostics.hpp"

namespace weft::app {

namespace fs = std::filesystem;

const std::vector<std::string>& client_libraries() {
  static const std::vector<std::string> kNames{"apenet", "glex", "rma2", "velo2", "weft"};
  return kNames;
}

ClientFiles client_files() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  const fs::path folder = program.parent_path(), above = folder.parent_path();
  const ClientFiles layouts[] = {
      {folder / "include", folder, folder / "pkgconfig"},
      {above / "include/weft", above / "lib/weft", above / "lib/weft/pkgconfig"},
  };
  for (const ClientFiles& files : layouts)
    if (fs::exists(fs::path(files.headers) / "weft.h", failed)) return files;
  throw UserError(fmt::format("{}/weft.h: what programs are compiled with is not there", layouts[0].headers));
}

}  // namespace weft::app
