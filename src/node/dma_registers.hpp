// The registers of a DMA engine: offsets in bytes, 64 bits each. lib/weft.h has the same for programs, and a
// test keeps them so.
#pragma once

#include <cstdint>

namespace weft::node {

enum DmaRegister : std::uint64_t {
  kDmaSourceSpace = 0,
  kDmaSourceAddress = 8,
  kDmaTargetSpace = 16,
  kDmaTargetAddress = 24,
  kDmaLength = 32,
  kDmaDoorbell = 40,  // written: the five above are a descriptor; it is copied, and they may be changed
  kDmaStatus = 48,
  kDmaDone = 56,  // descriptors that have ended, well or not; each raises an interrupt
};

enum DmaStatus : std::uint64_t {
  kDmaIdle = 0,
  kDmaBusy = 1,
  kDmaDoneWell = 2,
  kDmaBadSpace = 3,   // no such space on this node
  kDmaBadMemory = 4,  // the memory is not there
  kDmaQueueFull = 5,  // the last doorbell was ignored
};

}  // namespace weft::node
