#include "app/run_storage.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <optional>
#include <sstream>

#include "abi/storage.hpp"
#include "base/diagnostics.hpp"
#include "base/statements.hpp"

namespace weft::app {

namespace fs = std::filesystem;

void RunStorageOptions::declare_mount(CommandLine& app, bool always) {
  app.add_option("--mount", mount,
                 always
                     ? "Where programs see the machine's file system ([storage]); \"none\": nowhere"
                     : "Where nodes, and ranks beside them, see the machine's file system ([storage]), such "
                       "as /weft; without it they have none")
      .option_text(always ? "PATH [/weft]" : "PATH");
  app.add_option("--mount-options", mount_options,
                 "How it is mounted, with commas between: cache=256MiB (of each node's memory, for data of "
                 "files), write=through or back (to the servers at once, or later), visible=at-once or "
                 "at-close (to other nodes); what is not named is as [storage.cache] says")
      .option_text("LIST");
  app.add_option(
         "--keep", keep,
         "Folder of this computer that holds its files and outlives the run; without it they are gone "
         "when the run ends")
      .option_text("DIR");
  app.add_option(
         "--storage-fault", fault,
         "Servers of it that fail during the run: \"at 3ms kill target 1; at 5ms kill metadata\". What has "
         "copies (storage.replicas) lives on. \"at 7ms cut power\" ends the run: the folder of --keep has "
         "what devices had on their media then, and nothing else")
      .option_text("SCRIPT");
}

void RunStorageOptions::declare(CommandLine& app) {
  declare_mount(app, true);
  app.add_option(
         "--burst-buffer", burst_buffer,
         "Bytes of the non-volatile memory of the job's nodes, all together, that keep its files near "
         "([storage.burst_buffer], [storage.nvm]); what is new goes to the servers at the end")
      .option_text("SIZE");
  app.add_option("--stage-in", stage_in,
                 "Folder below the mount point whose files are in the burst buffer before ranks begin")
      .option_text("DIR");
  app.add_option("--stage-out", stage_out,
                 "Folder below the mount point whose files must be with the servers before the job ends; "
                 "without it all of them")
      .option_text("DIR");
}

namespace {

/// "at TIME kill target N", "at TIME kill metadata" or "at TIME cut power", several with ';' between them.
void read_failures(const std::string& script, unsigned targets, Diagnostics& problems,
                   host::StorageOptions& out) {
  for (const Statement& words : split_statements(script)) {
    std::string error, text;
    for (const Word& word : words) text += (text.empty() ? "" : " ") + word.text;
    const bool target = words.size() == 5 && words[3].text == "target";
    const bool metadata = words.size() == 4 && words[3].text == "metadata";
    const bool power = words.size() == 4 && words[2].text == "cut" && words[3].text == "power";
    const bool kill = (target || metadata) && words[2].text == "kill";
    const bool form = (kill || power) && words[0].text == "at";
    const auto at = form ? parse_quantity(quantity_kind<Time>(), words[1].text, error) : std::nullopt;
    unsigned number = 0;
    const char* end = target ? words[4].text.data() + words[4].text.size() : nullptr;
    const bool whole = target && std::from_chars(words[4].text.data(), end, number).ptr == end;
    if (!at || *at < 0) {
      problems.add(
          {"--storage-fault"}, "",
          fmt::format("expected \"at 3ms kill target 1\", \"at 3ms kill metadata\" or \"at 3ms cut power\", "
                      "got \"{}\"",
                      text));
    } else if (target && (!whole || number < 1 || number > targets)) {
      problems.add({"--storage-fault"}, "",
                   fmt::format("there is no target {}; the machine has {}, from 1", words[4].text, targets));
    } else if (power) {
      out.power_cut = std::min(out.power_cut, Time{*at});
    } else {
      out.failures.push_back({number, Time{*at}});
    }
  }
}

/// A folder as it is named below the mount point.
std::string below(const char* option, const std::string& folder, const std::string& mount,
                  Diagnostics& problems) {
  const std::string path = fs::path(folder).lexically_normal().string();
  if (path == mount || path == mount + "/") return "";
  if (path.starts_with(mount + "/")) return path.substr(mount.size() + 1);
  problems.add({option}, "", fmt::format("expected a folder below {}, got {}", mount, folder));
  return "";
}

}  // namespace

void RunStorageOptions::read_mount_options(host::StorageOptions& out, Diagnostics& problems) const {
  std::istringstream words(mount_options);
  for (std::string word; std::getline(words, word, ',');) {
    std::string error;
    const std::string name = word.substr(0, word.find('=')),
                      value = name.size() < word.size() ? word.substr(name.size() + 1) : "";
    const auto bytes =
        name == "cache" ? parse_quantity(quantity_kind<DataSize>(), value, error) : std::nullopt;
    if (name == "cache" && bytes && *bytes >= 0)
      out.cache.bytes = static_cast<std::uint64_t>(*bytes);
    else if (name == "write" && (value == "through" || value == "back"))
      out.cache.back = value == "back";
    else if (name == "visible" && (value == "at-once" || value == "at-close"))
      out.cache.at_close = value == "at-close";
    else
      problems.add({"--mount-options"}, "",
                   fmt::format("expected cache=SIZE, write=through, write=back, visible=at-once or "
                               "visible=at-close, got \"{}\"",
                               word));
  }
  const machine::StorageCacheParameters cache{
      {static_cast<std::int64_t>(out.cache.bytes)},
      out.cache.back ? machine::CacheWrites::Back : machine::CacheWrites::Through,
      out.cache.at_close ? machine::CacheVisible::AtClose : machine::CacheVisible::AtOnce};
  if (const char* wrong = machine::refuse_cache(cache)) problems.add({"--mount-options"}, "", wrong);
  if (out.cache.bytes && !burst_buffer.empty())
    problems.add({"--burst-buffer"}, "",
                 "nodes keep data in a burst buffer or in memory, not both; --mount-options cache=0 turns a "
                 "memory of [storage.cache] off");
}

void RunStorageOptions::apply_buffer(host::StorageOptions& out, Diagnostics& problems) const {
  out.stages_in = !stage_in.empty();
  out.stages_out = !stage_out.empty();
  if (burst_buffer.empty()) {
    for (const auto& [option, value] : {std::pair("--stage-in", &stage_in), {"--stage-out", &stage_out}})
      if (!value->empty()) problems.add({option}, "", "there is no burst buffer without --burst-buffer SIZE");
    return;
  }
  std::string error;
  const auto bytes = parse_quantity(quantity_kind<DataSize>(), burst_buffer, error);
  if (!bytes || *bytes <= 0)
    problems.add({"--burst-buffer"}, "", bytes ? "expected a size above 0, such as 8GiB" : error);
  else if (out.mount.empty())
    problems.add({"--burst-buffer"}, "", "there is nothing to keep near without a mount point");
  else
    out.burst_buffer = static_cast<std::uint64_t>(*bytes);
  if (out.mount.empty()) return;
  if (out.stages_in) out.stage_in = below("--stage-in", stage_in, out.mount, problems);
  if (out.stages_out) out.stage_out = below("--stage-out", stage_out, out.mount, problems);
  std::error_code failed;
  if (out.stages_in && keep.empty())
    problems.add({"--stage-in"}, "",
                 "there are no files before the run; --keep DIR names those of an earlier one");
  else if (out.stages_in && !fs::is_directory(fs::path(keep) / out.stage_in, failed))
    problems.add({"--stage-in"}, "", fmt::format("there is no folder {}", stage_in));
}

std::string RunStorageOptions::apply(host::StorageOptions& out,
                                     const machine::StorageParameters& machine) const {
  Diagnostics problems;
  const std::string note = apply(out, machine, problems);
  problems.throw_if_any();
  return note;
}

std::string RunStorageOptions::apply(host::StorageOptions& out, const machine::StorageParameters& machine,
                                     Diagnostics& problems) const {
  out.cache = {static_cast<std::uint64_t>(machine.cache.size.value),
               machine.cache.write == machine::CacheWrites::Back,
               machine.cache.visible == machine::CacheVisible::AtClose};
  read_failures(fault, machine.targets, problems, out);
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
      problems.add(
          {"--mount"}, "",
          fmt::format("expected an absolute path without \".\" and \"..\", such as /weft, got {}", mount));
    else if (out.mount.size() >= sizeof abi::Mount::path)
      problems.add({"--mount"}, "", fmt::format("has more than {} letters", sizeof abi::Mount::path - 1));
    else if (fs::exists(fs::symlink_status(out.mount, failed)))
      problems.add({"--mount"}, "",
                   fmt::format("{} exists on this computer; programs would not see it any more", out.mount));
  }
  if (!keep.empty() && fs::exists(keep, failed) && !fs::is_directory(keep, failed))
    problems.add({"--keep"}, "", fmt::format("{} is no folder", keep));
  read_mount_options(out, problems);
  apply_buffer(out, problems);
  if (asked || out.mount.empty() || !fs::exists(fs::symlink_status(out.mount, failed))) return "";
  const std::string note = fmt::format(
      "{} exists on this computer, so programs see that and no simulated file system; --mount names another "
      "place",
      out.mount);
  out.mount.clear();
  return note;
}

std::string RunStorageOptions::text() const {
  std::string out;
  if (!mount.empty()) out += " --mount '" + mount + "'";
  if (!mount_options.empty()) out += " --mount-options " + mount_options;
  if (!keep.empty()) out += " --keep '" + keep + "'";
  if (!burst_buffer.empty()) out += " --burst-buffer " + burst_buffer;
  if (!stage_in.empty()) out += " --stage-in '" + stage_in + "'";
  if (!stage_out.empty()) out += " --stage-out '" + stage_out + "'";
  if (!fault.empty()) out += " --storage-fault '" + fault + "'";
  return out;
}

void mount_files(const RunStorageOptions& options, const machine::StorageParameters& machine, bool storm,
                 host::StorageOptions& out, Diagnostics& problems) {
  if (options.mount.empty() || options.mount == "none") {
    for (const auto& [option, value] : {std::pair("--mount-options", &options.mount_options),
                                        {"--keep", &options.keep},
                                        {"--storage-fault", &options.fault}})
      if (!value->empty())
        problems.add({option}, "", "Linux nodes have no file system of the machine without --mount PATH");
    return;
  }
  if (storm) problems.add({"--mount"}, "", "nodes of a --storm boot by a recording and use no files");
  options.apply(out, machine, problems);
}

}  // namespace weft::app
