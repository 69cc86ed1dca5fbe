#include "app/run_storage.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "abi/storage.hpp"
#include "app/command.hpp"
#include "base/diagnostics.hpp"

namespace weft::app {

namespace fs = std::filesystem;

void RunStorageOptions::declare(CommandLine& app) {
  app.add_option("--mount", mount,
                 "Where programs see the machine's file system ([storage]); \"none\": nowhere")
      .option_text("PATH [/weft]");
  app.add_option("--keep", keep,
                 "Folder of this computer that holds its files and outlives the run; without it they are gone "
                 "when the run ends")
      .option_text("DIR");
}

std::string RunStorageOptions::apply(host::StorageOptions& out) const {
  Diagnostics problems;
  std::error_code failed;
  const bool asked = !mount.empty();
  if (asked) out.mount = mount == "none" ? "" : mount;
  out.keep = keep;
  while (out.mount.size() > 1 && out.mount.back() == '/') out.mount.pop_back();
  if (out.mount.empty() && !keep.empty())
    problems.add({"--keep"}, "", "there is nothing to keep without a mount point");
  if (asked && mount != "none") {
    const bool plain = fs::path(mount).is_absolute() && out.mount != "/" &&
                       fs::path(out.mount).lexically_normal().string() == out.mount;
    if (!plain)
      problems.add({"--mount"}, "",
                   fmt::format("expected an absolute path without \".\" and \"..\", such as /weft, got {}", mount));
    else if (out.mount.size() >= sizeof abi::Mount::path)
      problems.add({"--mount"}, "", fmt::format("has more than {} letters", sizeof abi::Mount::path - 1));
    else if (fs::exists(fs::symlink_status(out.mount, failed)))
      problems.add({"--mount"}, "",
                   fmt::format("{} exists on this computer; programs would not see it any more", out.mount));
  }
  if (!keep.empty() && fs::exists(keep, failed) && !fs::is_directory(keep, failed))
    problems.add({"--keep"}, "", fmt::format("{} is no folder", keep));
  problems.throw_if_any();
  if (asked || out.mount.empty() || !fs::exists(fs::symlink_status(out.mount, failed))) return "";
  const std::string note = fmt::format(
      "{} exists on this computer, so programs see that and no simulated file system; --mount names another place",
      out.mount);
  out.mount.clear();
  return note;
}

std::string RunStorageOptions::text() const {
  std::string out;
  if (!mount.empty()) out += " --mount '" + mount + "'";
  if (!keep.empty()) out += " --keep '" + keep + "'";
  return out;
}

}  // namespace weft::app
