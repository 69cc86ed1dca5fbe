// Functions of Open MPI's layer for remote memory that must be others here. They have its names, so the
// loader finds these first; what they leave to it, it does.
#include "lib/mpi_windows.hpp"

#include <dlfcn.h>

#include <cstdint>

namespace {

std::size_t (*one_sided_count)() = nullptr;

/// The function of that name in a component, behind the one here.
void* of_component(const char* component, const char* name) {
  void* library = dlopen(component, RTLD_LAZY | RTLD_NOLOAD);
  return library ? dlsym(library, name) : nullptr;
}

constexpr int kNotSupported = -8;  // OPAL_ERR_NOT_SUPPORTED
constexpr int kDoneAtOnce = 1;     // what operations of that layer return then
constexpr int kSum = 0x01, kSwap = 0x1a;
constexpr std::uint64_t kExclusively = std::uint64_t{1} << 63;  // what is written to a lock that is taken

/// The lock on a peer's list of attached memory, while this thread looks a piece up: it takes it exclusively,
/// and where its copy of the list is old, asks for it once more, shared, which is never granted. Any network
/// hangs there.
struct ListLock {
  bool wanted = false;
  std::uint64_t address = 0;
  void* peer = nullptr;
};
thread_local ListLock list_lock;

/// Whether an operation is that second request, or gives up what the second request took.
bool already_ours(void* peer, std::uint64_t address, int operation, std::uint64_t operand,
                  std::uint64_t one) {
  return list_lock.address && address == list_lock.address && peer == list_lock.peer && operation == kSum &&
         operand == one;
}

}  // namespace

namespace weft::lib {

void set_one_sided_count(std::size_t (*count)()) { one_sided_count = count; }

}  // namespace weft::lib

extern "C" {

/// Waits until all one-sided operations are done. Open MPI's own never yields, and tries a lock of plain
/// instructions that others hold while they wait: threads would spin there for ever (lib/turns.hpp).
int mca_btl_ofi_flush(void*, void*) {
  static auto progress = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "opal_progress"));
  if (!progress) progress = reinterpret_cast<void (*)()>(of_component("libopen-pal.so.40", "opal_progress"));
  do progress();
  while (one_sided_count && one_sided_count());
  return 0;
}

/// Finds the attached memory of a dynamic window of a peer that holds an address.
int ompi_osc_rdma_find_dynamic_region(void* module, void* peer, std::uint64_t address, std::size_t bytes,
                                      void** found) {
  static auto next = reinterpret_cast<decltype(&ompi_osc_rdma_find_dynamic_region)>(
      of_component("mca_osc_rdma.so", "ompi_osc_rdma_find_dynamic_region"));
  list_lock = {true, 0, nullptr};
  int result = next(module, peer, address, bytes, found);
  list_lock = {};
  return result;
}

int mca_btl_ofi_acswap(void* module, void* peer, void* result, std::uint64_t address, void* result_handle,
                       void* handle, std::uint64_t compare, std::uint64_t value, int flags, int order,
                       void* done, void* context, void* data) {
  static auto next =
      reinterpret_cast<decltype(&mca_btl_ofi_acswap)>(of_component("mca_btl_ofi.so", "mca_btl_ofi_acswap"));
  // The first lock that is taken there is the list's; what comes later may be of other operations that go on.
  if (list_lock.wanted && compare == 0 && value == kExclusively) list_lock = {false, address, peer};
  return next(module, peer, result, address, result_handle, handle, compare, value, flags, order, done,
              context, data);
}

// Atomic operations. For those the layer has no name for in libfabric (all but sum and swap) it ends the
// program; told that they are not supported, what is above it does them by compare and swap.
int mca_btl_ofi_aop(void* module, void* peer, std::uint64_t address, void* handle, int operation,
                    std::uint64_t operand, int flags, int order, void* done, void* context, void* data) {
  static auto next =
      reinterpret_cast<decltype(&mca_btl_ofi_aop)>(of_component("mca_btl_ofi.so", "mca_btl_ofi_aop"));
  if (already_ours(peer, address, operation, operand, std::uint64_t(-1))) return kDoneAtOnce;
  if (!next || (operation != kSum && operation != kSwap)) return kNotSupported;
  return next(module, peer, address, handle, operation, operand, flags, order, done, context, data);
}

int mca_btl_ofi_afop(void* module, void* peer, void* result, std::uint64_t address, void* result_handle,
                     void* handle, int operation, std::uint64_t operand, int flags, int order, void* done,
                     void* context, void* data) {
  static auto next =
      reinterpret_cast<decltype(&mca_btl_ofi_afop)>(of_component("mca_btl_ofi.so", "mca_btl_ofi_afop"));
  if (already_ours(peer, address, operation, operand, 1)) {
    *static_cast<std::uint64_t*>(result) = 0;  // nobody has it exclusively, but this thread
    return kDoneAtOnce;
  }
  if (!next || (operation != kSum && operation != kSwap)) return kNotSupported;
  return next(module, peer, result, address, result_handle, handle, operation, operand, flags, order, done,
              context, data);
}
}
