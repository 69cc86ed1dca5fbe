// Where the files lie that programs are compiled and linked with, beside this program.
#pragma once

#include <string>
#include <vector>

namespace weft::app {

struct ClientFiles {
  std::string headers, libraries, package_files;  // folders
};

/// Of a build folder, which has all of it beside the program, or of an installed tree, where the program is
/// in `bin`. Throws UserError where neither is there.
ClientFiles client_files();

/// What programs may be linked with: libraries' names as a linker knows them.
const std::vector<std::string>& client_libraries();

}  // namespace weft::app
