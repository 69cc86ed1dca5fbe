// The kernels of a compute accelerator: what each computes, on the bytes of the device's memory, and how much
// work that is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace weft::node {

/// Of a pair of atoms: the difference and its square 8, a division, the sixth power 2, the force 4, its sum
/// 6, and the comparison with the cutoff.
inline constexpr double kPairOperations = 22;

struct KernelWork {
  double operations = 0;  // of floating point
  double bytes = 0;       // read from and written to the device's memory
};

/// Is the command one of a kernel?
bool is_kernel(std::uint64_t command);

/// How much a kernel has to do; nothing where what it names is not in the memory.
std::optional<KernelWork> kernel_work(std::span<const std::uint8_t> memory, std::uint64_t command,
                                      std::span<const std::uint64_t> arguments);

/// Computes it; its work was asked for before. False where what it finds in memory leads out of it.
bool run_kernel(std::span<std::uint8_t> memory, std::uint64_t command,
                std::span<const std::uint64_t> arguments);

}  // namespace weft::node
