#include "machine/profiles.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/own_files.hpp"

namespace weft::machine {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> folders() {
  std::vector<fs::path> out;
  if (const char* named = std::getenv("WEFT_PROFILES")) out.emplace_back(named);
  if (fs::path ours = own_data("profiles"); !ours.empty()) out.push_back(ours);
  return out;
}

}  // namespace

std::string profile_path(const std::string& name) {
  std::error_code ignored;
  for (const fs::path& folder : folders())
    if (fs::path file = folder / (name + ".toml"); fs::is_regular_file(file, ignored)) return file.string();
  return "";
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::path& folder : folders())
    for (const auto& entry : fs::directory_iterator(folder, ignored))
      if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace weft::machine
