#include "lib/launcher_libraries.hpp"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include <cstdint>
#include <initializer_list>

namespace weft::lib {

namespace {

struct Range {
  std::uintptr_t begin, end;
};

Range ranges[16];
unsigned count = 0;

int look_at(dl_phdr_info* info, size_t, void*) {
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* name = slash ? slash + 1 : info->dlpi_name;
  bool one = false;
  for (const char* start : {"libpmix.so", "mca_pmix_"}) one |= strncmp(name, start, strlen(start)) == 0;
  for (unsigned i = 0; one && i < info->dlpi_phnum && count < 16; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X))
      ranges[count++] = {info->dlpi_addr + part.p_vaddr, info->dlpi_addr + part.p_vaddr + part.p_memsz};
  }
  return 0;
}

}  // namespace

void find_launcher_libraries() {
  count = 0;
  dl_iterate_phdr(look_at, nullptr);
}

bool of_launcher_library(const void* code) {
  auto at = reinterpret_cast<std::uintptr_t>(code);
  for (unsigned i = 0; i < count; ++i)
    if (at >= ranges[i].begin && at < ranges[i].end) return true;
  return false;
}

bool of_library(const char* name, const void* code) {
  Dl_info info;
  if (!dladdr(code, &info) || !info.dli_fname) return false;
  const char* slash = strrchr(info.dli_fname, '/');
  return strncmp(slash ? slash + 1 : info.dli_fname, name, strlen(name)) == 0;
}

}  // namespace weft::lib
