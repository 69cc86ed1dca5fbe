#include "app/ranks.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "app/ranks_plugin.h"
#include "base/diagnostics.hpp"
#include "base/output_file.hpp"
#include "base/own_files.hpp"
#include "base/text.hpp"

namespace weft::app {

namespace {

constexpr const char* kLibrary = "libweft-ranks.so";

/// What launchers tell the processes they start: how many there are.
unsigned processes_started() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* value = std::getenv(name)) return static_cast<unsigned>(std::strtoul(value, nullptr, 10));
  return 1;
}

class MpiRanks final : public network::Ranks {
 public:
  explicit MpiRanks(const weft_ranks& mpi) : mpi_(mpi) {
    if (rank() == 0) return;
    // Errors of the command line, progress and results are the same on all ranks. What one has to say alone
    // is kept until that is known.
    real_error_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    kept_ = memfd_create("remarks of a rank", MFD_CLOEXEC);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    dup2(kept_ < 0 ? nowhere : kept_, STDERR_FILENO);
    close(nowhere);
  }

  unsigned rank() const override { return mpi_.rank; }
  unsigned count() const override { return mpi_.count; }
  void exchange(const std::vector<Bytes>& out, std::vector<Bytes>& in) override {
    data_.clear(), sizes_.clear();
    for (const Bytes& to : out) data_.push_back(to.data()), sizes_.push_back(to.size());
    mpi_.exchange(
        data_.data(), sizes_.data(),
        [](void* context, unsigned from, std::uint64_t size) -> void* {
          Bytes& room = (*static_cast<std::vector<Bytes>*>(context))[from];
          room.resize(size);
          return room.data();
        },
        &in);
  }
  void sum(std::span<std::uint64_t> values) override { mpi_.sum(values.data(), values.size()); }
  void most(std::span<std::uint64_t> values) override { mpi_.most(values.data(), values.size()); }

  void leave(int code) {
    std::fflush(stderr);
    if (mpi_.finish(code == 0 ? 0 : kPatienceSeconds)) return;
    std::string said = fmt::format("weft: rank {} of {} fails alone and ends the others\n", rank(), count());
    if (kept_ >= 0) said += kept();
    write_all(real_error_, said);
    mpi_.give_up(code);
  }

 private:
  static constexpr unsigned kPatienceSeconds = 5;  // for others that fail for the same reason

  std::string kept() const {
    std::string text;
    char some[4096];
    for (ssize_t got; (got = pread(kept_, some, sizeof some, static_cast<off_t>(text.size()))) > 0;)
      text.append(some, static_cast<std::size_t>(got));
    return text;
  }

  const weft_ranks& mpi_;
  int real_error_ = STDERR_FILENO, kept_ = -1;
  std::vector<const void*> data_;
  std::vector<std::uint64_t> sizes_;
};

std::unique_ptr<MpiRanks> joined;

}  // namespace

void join_ranks() {
  const unsigned count = processes_started();
  if (count < 2) return;
  const auto library = own_file(kLibrary);
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  auto start =
      handle ? reinterpret_cast<decltype(&weft_ranks_start)>(dlsym(handle, "weft_ranks_start")) : nullptr;
  const weft_ranks* mpi = start ? start() : nullptr;
  if (!mpi || mpi->count != count)
    throw UserError(fmt::format(
        "{} were started together, but MPI does not join them: {}; mpirun must be that of the MPI "
        "this was built with",
        count_of(count, "process", "processes"), handle ? "it does not start" : dlerror()));
  joined = std::make_unique<MpiRanks>(*mpi);
}

network::Ranks* ranks() { return joined.get(); }

bool speaks() { return !joined || joined->rank() == 0; }

void leave_ranks(int code) {
  if (joined) joined->leave(code);
}

}  // namespace weft::app
