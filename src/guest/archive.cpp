#include "guest/archive.hpp"

#include <fmt/format.h>

namespace weft::guest {

namespace {

void pad(std::string& out) { out.append((4 - out.size() % 4) % 4, '\0'); }

}  // namespace

void Archive::add(std::string_view path, unsigned mode, std::string_view bytes, unsigned major,
                  unsigned minor) {
  // Magic, number, mode, owner, group, links, time, size, device, device it is, length of the name, nothing.
  out_ += fmt::format("070701{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}",
                      ++entries_, mode, 0, 0, 1, 0, bytes.size(), 0, 0, major, minor, path.size() + 1, 0);
  out_ += path;
  out_ += '\0';
  pad(out_);
  out_ += bytes;
  pad(out_);
  if ((mode & 0170000) == 0040000) seen_ += std::string(path) + "\n";
}

void Archive::folders_above(std::string_view path) {
  for (std::size_t end = path.find('/'); end != std::string_view::npos; end = path.find('/', end + 1)) {
    const std::string above(path.substr(0, end));
    if (!above.empty() && seen_.find("\n" + above + "\n") == std::string::npos) folder(above);
  }
}

std::string Archive::finish() {
  add("TRAILER!!!", 0, "", 0, 0);
  return std::move(out_);
}

}  // namespace weft::guest
