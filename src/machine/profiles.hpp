// Where the profiles that come with Weft are.
#pragma once

#include <string>
#include <vector>

namespace weft::machine {

/// The file of a profile, or empty. Folders looked in: $WEFT_PROFILES, then beside the program.
std::string profile_path(const std::string& name);
std::vector<std::string> profile_names();

}  // namespace weft::machine
