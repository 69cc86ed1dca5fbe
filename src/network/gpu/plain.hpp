// What the stages of the GPU engine are written in: plain functions that a C++ compiler and nvcc both read.
//
// Nothing in these headers may include more than the standard library and each other: nvcc compiles them
// where none of the project's other dependencies is installed.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define WEFT_DEVICE __host__ __device__ inline
// The draws are the same inline functions everywhere; nvcc must be told that a device may call them.
#pragma push_macro("inline")
#define inline __host__ __device__ __inline__
#include "base/random.hpp"
#pragma pop_macro("inline")
#else
#define WEFT_DEVICE inline
#include "base/random.hpp"
#endif

namespace weft::network::gpu {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

inline constexpr u32 kNobody = 0xffff'ffff;        // end of a chain, no packet, no place
inline constexpr u16 kUndecided = 0xffff;          // a head that chooses its output anew in every cycle
inline constexpr u16 kNoOutput = 0xfffe;           // nothing has gone on from this queue yet
inline constexpr unsigned kFirstChannelNext = 31;  // as a queue's channel: turns begin with channel 0
inline constexpr u64 kMixer = 0x9e3779b97f4a7c15u;

/// Several threads of a router may do this at once.
WEFT_DEVICE u32 exchange(u32& at, u32 value) {
#ifdef __CUDA_ARCH__
  return atomicExch(&at, value);
#else
  u32 before = at;
  at = value;
  return before;
#endif
}
/// Any thread of the device may do this.
WEFT_DEVICE u32 take_place(u32& count) {
#ifdef __CUDA_ARCH__
  return atomicAdd(&count, 1u);
#else
  return count++;
#endif
}

/// The same, without waiting for the count before; what nobody on the device reads.
WEFT_DEVICE void add_one(u64& count) {
#ifdef __CUDA_ARCH__
  atomicAdd(reinterpret_cast<unsigned long long*>(&count), 1ull);
#else
  ++count;
#endif
}

WEFT_DEVICE unsigned lowest_bit(u32 mask) {
#ifdef __CUDA_ARCH__
  return static_cast<unsigned>(__ffs(static_cast<int>(mask))) - 1;
#else
  return static_cast<unsigned>(__builtin_ctz(mask));
#endif
}

/// The first set bit at or after `start`, going round; the mask must not be empty.
WEFT_DEVICE unsigned pick_after(u32 mask, unsigned start) {
  start &= 31;
  u32 after = mask & ~0u << start;
  return lowest_bit(after ? after : mask);
}

template <class T>
WEFT_DEVICE T least(T a, T b) {
  return b < a ? b : a;
}
template <class T>
WEFT_DEVICE T most(T a, T b) {
  return a < b ? b : a;
}

}  // namespace weft::network::gpu
