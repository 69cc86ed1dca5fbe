// The registers of a compute accelerator: offsets in bytes, 64 bits each. lib/weft.h has the same for
// programs, and a test keeps them so.
#pragma once

#include <cstdint>

namespace weft::node {

inline constexpr unsigned kComputeArguments = 8;

enum ComputeRegister : std::uint64_t {
  kComputeCommand = 0,    // a ComputeCommand
  kComputeArgument = 8,   // the first of its arguments
  kComputeDoorbell = 72,  // written: the nine above are a command; 1: with an interrupt when it has ended
  kComputeStatus = 80,    // of the command that ended last, or why one was not taken: a ComputeStatus
  kComputeDone = 88,      // commands that have ended, well or not
  kComputeTime = 96,      // picoseconds the last kernel has taken
  kComputeMemory = 104,   // bytes of its memory
  kComputeSpace = 112,    // the number of its memory
  kComputeBlocks = 120,   // how many it has
  kComputeUse = 128,      // how many the kernels that follow are spread over; may be written
};

/// Addresses are offsets in the device's memory, of doubles where nothing else is said.
enum ComputeCommand : std::uint64_t {
  kComputeCopyIn = 1,    // to here, space, address there, bytes
  kComputeCopyOut = 2,   // from here, space (or kBusSpace), address there, bytes
  kComputeFill = 3,      // y, count, value: y[i] = value
  kComputeStream = 4,    // y, x, count: y[i] = x[i]
  kComputeAxpy = 5,      // y, x, count, a: y[i] += a * x[i]
  kComputeDot = 6,       // result, x, y, count
  kComputeMultiply = 7,  // c, a, b, rows, columns, inner: c += a * b, by rows
  kComputeForces =
      8,  // f, x, lengths, lists, atoms, places, cutoff: of Lennard-Jones; x and f have three doubles
          // for each atom, lengths and lists 32-bit words, lists `places` of them for each
  kComputePut = 9,    // port, key, offset, node << 32 | port there, key there, offset there, bytes, what is
                      // handed over in the event there
  kComputeGet = 10,   // the same; no event there
  kComputeWait = 11,  // kind of an event (nic::EventKind), how many of them
  kComputeSend = 12,  // port, from here, bytes, node << 32 | port there, tag: a small message
  kComputeReceive = 13,  // port, to here, bytes there is room for, where two words go that say who has sent
                         // it: node << 32 | port, tag << 32 | bytes
};

enum ComputeStatus : std::uint64_t {
  kComputeIdle = 0,
  kComputeBusy = 1,
  kComputeDoneWell = 2,
  kComputeBadCommand = 3,
  kComputeBadSpace = 4,   // no such space on this node
  kComputeBadMemory = 5,  // the memory is not there
  kComputeQueueFull = 6,  // the last doorbell was ignored
  kComputeNoPort = 7,     // the port is not the device's
  kComputeFailed = 8,     // an operation on the network has failed, or a message has come damaged
};

}  // namespace weft::node
