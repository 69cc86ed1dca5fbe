// What one instruction of x86-64 does to memory, as far as loops that wait need it.
#pragma once

#if defined(__x86_64__)

#include <ucontext.h>

#include <cstdint>

namespace weft::lib {

struct Instruction {
  bool known = false;  // one of those that only read memory, compute on registers, jump or store
  bool pause = false;
  std::uint64_t reads_at = 0;  // 0: no memory but the stack's top
  std::uint64_t stores_at = 0;
  unsigned stores = 0;  // bytes; 0: it does not
  /// Does what it does, or where the program goes on, depend on the outcome of an earlier one; and is it one
  /// of those that have an outcome? Then these are the registers it is about, and `tested` the bytes it is
  /// about at reads_at.
  bool uses_outcome = false, has_outcome = false;
  std::uint64_t operands = 0;
  unsigned tested = 0;
};

/// The one at the context's instruction pointer, before it is executed. Floating point, system calls and
/// whatever a loop that waits has no use for are not known.
Instruction look_at_instruction(const gregset_t& registers);

}  // namespace weft::lib

#endif
