// Registers, commands and fields of NVM Express, as far as the controller model has them.
#pragma once

#include <cstdint>

namespace weft::node {

enum NvmeRegister : std::uint64_t {
  kNvmeCapabilities = 0x00,
  kNvmeVersion = 0x08,
  kNvmeMaskSet = 0x0c,
  kNvmeMaskClear = 0x10,
  kNvmeConfiguration = 0x14,
  kNvmeStatus = 0x1c,
  kNvmeAdminSizes = 0x24,
  kNvmeAdminSubmission = 0x28,
  kNvmeAdminCompletion = 0x30,
  kNvmeDoorbells = 0x1000,
  kNvmeVectors = 0x2000,  // table of MSI-X
  kNvmePending = 0x3000,
  kNvmeBarSize = 0x4000,
};

enum NvmeAdminCommand : std::uint8_t {
  kNvmeDeleteSubmission = 0x00,
  kNvmeCreateSubmission = 0x01,
  kNvmeGetLog = 0x02,
  kNvmeDeleteCompletion = 0x04,
  kNvmeCreateCompletion = 0x05,
  kNvmeIdentify = 0x06,
  kNvmeAbort = 0x08,
  kNvmeSetFeatures = 0x09,
  kNvmeGetFeatures = 0x0a,
  kNvmeAsynchronousEvent = 0x0c,
};

enum NvmeCommand : std::uint8_t {
  kNvmeFlush = 0x00,
  kNvmeWrite = 0x01,
  kNvmeRead = 0x02,
  kNvmeWriteZeroes = 0x08
};

/// Type of status in the upper byte, code in the lower.
enum NvmeStatusCode : std::uint16_t {
  kNvmeWell = 0x000,
  kNvmeBadOpcode = 0x001,
  kNvmeBadField = 0x002,
  kNvmeTransferError = 0x004,
  kNvmeAborted = 0x007,
  kNvmeBadNamespace = 0x00b,
  kNvmeBadPrp = 0x013,
  kNvmeOutOfRange = 0x080,
  kNvmeBadQueue = 0x101,
  kNvmeBadQueueSize = 0x102,
  kNvmeTooManyEvents = 0x105,
};

struct NvmeEntry {  // of a submission queue
  std::uint8_t opcode = 0, flags = 0;
  std::uint16_t id = 0;
  std::uint32_t space = 0, reserved[2] = {};
  std::uint64_t metadata = 0, prp1 = 0, prp2 = 0;
  std::uint32_t words[6] = {};  // 10 to 15
};
static_assert(sizeof(NvmeEntry) == 64);

struct NvmeCompletion {
  std::uint32_t result = 0, reserved = 0;
  std::uint16_t head = 0, queue = 0, id = 0, status = 0;  // the last: with the phase in its lowest bit
};
static_assert(sizeof(NvmeCompletion) == 16);

}  // namespace weft::node
