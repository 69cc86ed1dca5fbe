#include "lib/segment.hpp"

namespace weft::lib {

constinit Attachment attachment;

abi::Header* segment() {
  abi::Header* header = attachment.header;
  return header && header->owner.load(std::memory_order_relaxed) == attachment.process ? header : nullptr;
}

abi::Header* run() { return attachment.forked ? nullptr : attachment.header; }

}  // namespace weft::lib
