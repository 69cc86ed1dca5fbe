// What servers of the file system and a job's burst buffer have done, for reports.
#pragma once

#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "base/virtual_time.hpp"

namespace weft::storage {

struct ServerCounters {
  std::uint64_t requests = 0, bytes_read = 0, bytes_written = 0;
  TimeSum busy;  // its processor
};

struct BufferCounters {
  std::uint64_t reads_local = 0, reads_remote = 0, misses = 0;  // of requests for a block
  std::uint64_t bytes_local = 0, bytes_remote = 0, bytes_missed = 0;
  std::uint64_t writes_local = 0, writes_remote = 0, bytes_written_local = 0, bytes_written_remote = 0;
  std::uint64_t blocks_fetched = 0, blocks_prefetched = 0, prefetched_used = 0, blocks_staged = 0;
  std::uint64_t bytes_fetched = 0, blocks_flushed = 0, bytes_flushed = 0, bytes_lost = 0;
  std::uint64_t evicted = 0, waits = 0, questions = 0;
  TimeSum waited;  // for flushes, by requests that had no room
  Time stage_in{0}, last_flush{0};
};

/// Of a run.
struct Figures {
  struct Server {
    std::string name;
    std::uint32_t node;
    ServerCounters counters;
  };
  std::vector<Server> servers;    // none: nobody has used the file system
  std::uint64_t repeated = 0;     // requests
  std::uint64_t cache_bytes = 0;  // of a node's memory; 0: none keeps data of files
  std::uint64_t cache_hits = 0, cache_misses = 0, cache_bytes_hit = 0, cache_bytes_flushed = 0;
  std::uint64_t buffer_bytes = 0;  // 0: there is no buffer
  BufferCounters buffer;
  Time ranks_end{0};  // what comes later is the flush at the end
};

}  // namespace weft::storage
