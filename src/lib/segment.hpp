// This process's place in a run.
#pragma once

#include "abi/port_layout.hpp"

namespace weft::lib {

/// What was found when the process started, and what became of it since (rank_thread.cpp).
struct Attachment {
  abi::Header* header = nullptr;  // the segment, whoever owns it
  abi::Bell* bell = nullptr;
  int process = 0;
  bool forked = false;
};
extern Attachment attachment;

/// This process's place in a run; null outside of one, in forked children, and where another process has it.
abi::Header* segment();

/// The run this process or one that started it belongs to; null outside of one and in forked children.
abi::Header* run();

}  // namespace weft::lib
