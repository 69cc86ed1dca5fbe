// Which MPI library a program is linked with, directly or through others: asked of the dynamic loader, as ldd
// does.
#include <elf.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "host/mpi_launch.hpp"

namespace weft::host {

namespace {

/// The loader an ELF program names; empty for anything else and for static programs.
std::string loader_of(std::ifstream& file) {
  Elf64_Ehdr header;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return "";
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part;
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * header.e_phentsize));
    if (!file.read(reinterpret_cast<char*>(&part), sizeof part)) return "";
    if (part.p_type != PT_INTERP || part.p_filesz < 2 || part.p_filesz > 4096) continue;
    std::string path(part.p_filesz - 1, '\0');
    file.seekg(static_cast<std::streamoff>(part.p_offset));
    return file.read(path.data(), static_cast<std::streamsize>(path.size())) ? path : "";
  }
  return "";
}

std::string shell_word(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return out;
  std::array<char, 4096> buffer;
  while (std::size_t got = fread(buffer.data(), 1, buffer.size(), pipe)) out.append(buffer.data(), got);
  pclose(pipe);
  return out;
}

/// Programs that do nothing of their own but start or interpret another.
bool may_start_others(const std::string& program) {
  std::string name = program.substr(program.rfind('/') + 1);
  for (const char* known : {"sh", "bash", "dash", "env", "time", "timeout", "nice", "taskset", "numactl",
                            "stdbuf", "perl", "valgrind", "strace", "ltrace", "gdb"})
    if (name == known) return true;
  return name.starts_with("python");
}

}  // namespace

MpiLibrary mpi_library_of(const std::string& program) {
  std::ifstream file(program, std::ios::binary);
  char start[2] = {};
  if (!file.read(start, 2)) return MpiLibrary::None;
  if (start[0] == '#' && start[1] == '!') return MpiLibrary::Unknown;
  file.seekg(0);
  std::string loader = loader_of(file);
  if (loader.empty()) return MpiLibrary::None;
  if (may_start_others(program)) return MpiLibrary::Unknown;
  std::string libraries =
      output_of(fmt::format("{} --list {} 2>/dev/null", shell_word(loader), shell_word(program)));
  auto has = [&](const char* name) { return libraries.find(name) != std::string::npos; };
  // Debian calls MPICH's library libmpich; everybody else libmpi, as Open MPI's, with the number of its ABI.
  if (has("libmpich.so.") || has("libmpi.so.12"))
    return has("libucp.so.") ? MpiLibrary::MpichUcx : MpiLibrary::Mpich;
  if (has("libmpi.so.")) return MpiLibrary::OpenMpi;
  return MpiLibrary::None;
}

}  // namespace weft::host
